"""The advice for a terminal."""

from tierwise.advisor.advice import Advice, Alternative
from tierwise.advisor.placing import EXHAUSTIVE_RELATIONS
from tierwise.advisor.ranking import DISKS
from tierwise.analysis.runs import run_label
from tierwise.core.text_table import table
from tierwise.core.units import human_bytes
from tierwise.core.vocabulary import Goal


def as_text(advice: Advice) -> str:
    """Return what goes to the SSD and what that gains, then the tables of relations and of other placements, assumptions and warnings."""
    relations = [
        [
            placed.relation,
            placed.relation_class,
            human_bytes(placed.size_bytes),
            placed.tier,
            f"{placed.requests:,.0f}" if placed.requests >= 100 else f"{placed.requests:.3g}",
            duration(placed.service_s["hdd"]),
            duration(placed.service_s["ssd"]),
            placed.basis,
        ]
        for placed in advice.relations
    ]
    others = [_row(one, advice) for one in (*advice.alternatives, *([advice.exhaustive] if advice.exhaustive else []))]
    least = "time" if advice.goal is Goal.QUICKEST else "cost"
    parts = [
        f"{run_label(advice.run_id)}: {_answer(advice)}.",
        _gain(advice),
        f"Limits: {_limits(advice)}. The disk is {advice.devices['hdd']}, the SSD is {advice.devices['ssd']}.",
        f"Workload: {advice.study} on {advice.pair}, {advice.workload}, {advice.io_mode} I/O. A job is: {', '.join(advice.queries)}.",
        f"The placement was chosen by {advice.chosen_by} times.",
        "",
        table(
            ["relation", "class", "size", "goes to", "requests/job", "on hdd", "on ssd", "requests known from"],
            relations,
            numbers=(2, 4, 5, 6),
        ),
        "",
        f"Other placements. Regret is how much more {least} the advice takes than that placement; below zero it takes less.",
        table(["placement", "on the SSD", "allowed", "a job", "a year", "regret"], others, numbers=(1, 3, 4, 5)),
        f"The exhaustive search compared {advice.placements:,} placements."
        if advice.exhaustive
        else f"There is no exhaustive search for more than {EXHAUSTIVE_RELATIONS} relations.",
        *(f"Assumed: {assumption}" for assumption in advice.assumptions),
        *(f"Warning: {warning}" for warning in advice.warnings),
    ]
    return "\n".join(parts)


def _answer(advice: Advice) -> str:
    moved = [name for name, tier in advice.placement.items() if tier == "ssd"]
    if not moved:
        return "leave everything on the disks"
    return f"move {', '.join(moved)} to the SSD ({human_bytes(advice.ssd_bytes)})"


def _gain(advice: Advice) -> str:
    parts = f"of which the host takes {duration(advice.host_s)} ({advice.heat})"
    cost = f" It costs {money(advice.cost_a_year, advice)} a year." if advice.currency else ""
    disks = next((one.job_s for one in advice.alternatives if one.name == DISKS), advice.job_s)
    if disks <= advice.job_s:
        return f"A job takes {duration(advice.job_s)} ({advice.evidence}), {parts}.{cost}"
    faster = f"{disks / advice.job_s:.3g} times faster than on the disks alone ({duration(disks)})"
    return f"A job takes {duration(advice.job_s)} ({advice.evidence}), {faster}, {parts}.{cost}"


def _limits(advice: Advice) -> str:
    budget = f", {advice.budget:g} {advice.currency} a year" if advice.budget else ""
    rate = f", {advice.jobs_per_hour:g} jobs per hour" if advice.jobs_per_hour else ""
    return f"{advice.ssd_gib:g} GiB on the SSD{budget}{rate}; goal: the least {'time' if advice.goal is Goal.QUICKEST else 'cost'}"


def duration(time_s: float) -> str:
    """Write a duration with three significant digits, in seconds or thousandths or millionths of one."""
    if abs(time_s) >= 1000:
        return f"{time_s:,.0f} s"
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        if abs(time_s) >= scale:
            return f"{time_s / scale:.3g} {unit}"
    return f"{time_s / 1e-6:.3g} us"


def money(value: float | None, advice: Advice) -> str:
    """Return the sum with its currency; a dash where none is counted."""
    return "-" if value is None else f"{value:.3g} {advice.currency}"


def _row(one: Alternative, advice: Advice) -> list[str]:
    allowed = "yes" if one.fits and one.affordable else "no: " + ("space" if not one.fits else "budget")
    cells = [one.name, human_bytes(one.ssd_bytes), allowed, duration(one.job_s), money(one.cost_a_year, advice)]
    return [*cells, f"{100 * one.regret:+.2f} %"]
