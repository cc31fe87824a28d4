"""The advice for a terminal."""

from tierwise.advisor.advice import Advice, Alternative
from tierwise.advisor.placing import EXHAUSTIVE_RELATIONS
from tierwise.core.text_table import table
from tierwise.core.units import human_bytes
from tierwise.core.vocabulary import Goal


def as_text(advice: Advice) -> str:
    """Return where each relation belongs, what that gives, and how it stands against the fixed placements and all others."""
    limits = f"at most {advice.ssd_gib:g} GiB on ssd" + (f" and {advice.budget:g} {advice.currency} a year" if advice.budget else "")
    rate = f", {advice.jobs_per_hour:g} jobs an hour" if advice.jobs_per_hour else ""
    parts = [
        f"The {advice.goal} placement with {limits}{rate}; hdd is {advice.devices['hdd']}, ssd is {advice.devices['ssd']}",
        f"run {advice.run_id}, {advice.study} on {advice.pair}, {advice.workload}, {advice.io_mode} I/O; a job: "
        f"{', '.join(advice.queries)}",
        f"chosen by {advice.chosen_by} times",
        table(
            ["relation", "class", "size", "goes to", "requests a job", "on hdd", "on ssd", "known from"],
            [
                [
                    placed.relation,
                    placed.relation_class,
                    human_bytes(placed.size_bytes),
                    placed.tier,
                    f"{placed.requests:,.4g}",
                    duration(placed.service_s["hdd"]),
                    duration(placed.service_s["ssd"]),
                    placed.basis,
                ]
                for placed in advice.relations
            ],
        ),
        "",
        f"{human_bytes(advice.ssd_bytes)} on ssd; a job takes {duration(advice.job_s)} ({advice.evidence}), of which the host "
        f"{duration(advice.host_s)} ({advice.heat})" + (f"; {money(advice.cost_a_year, advice)} a year" if advice.currency else ""),
        "",
        f"Regret: {'time' if advice.goal is Goal.QUICKEST else 'money'} with this placement over that with another, less one",
        table(
            ["against", "on ssd", "allowed", "a job", "a year", "regret"],
            [_row(one, advice) for one in (*advice.alternatives, *([advice.exhaustive] if advice.exhaustive else []))],
        ),
        f"exhaustive search: {advice.placements:,} placements"
        if advice.exhaustive
        else f"no exhaustive search over more than {EXHAUSTIVE_RELATIONS} relations",
        *(f"assumed: {assumption}" for assumption in advice.assumptions),
        *(f"warning: {warning}" for warning in advice.warnings),
    ]
    return "\n".join(parts)


def duration(time_s: float) -> str:
    """Write a duration with three significant digits, in seconds or thousandths or millionths of one."""
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
