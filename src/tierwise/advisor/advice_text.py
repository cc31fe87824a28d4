"""The advice for a terminal."""

from functools import partial

from tierwise.advisor.advice import Advice, Alternative
from tierwise.advisor.placing import EXHAUSTIVE_RELATIONS
from tierwise.advisor.ranking import DISKS
from tierwise.analysis.runs import run_label
from tierwise.core.text_table import table
from tierwise.core.text_template import render
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
    headings = ["relation", "class", "size", "goes to", "requests/job", "on hdd", "on ssd", "requests known from"]
    return render(
        "advisor/text/advice.txt",
        advice=advice,
        run=run_label(advice.run_id),
        moved=[name for name, tier in advice.placement.items() if tier == "ssd"],
        disks_s=next((one.job_s for one in advice.alternatives if one.name == DISKS), advice.job_s),
        least="time" if advice.goal is Goal.QUICKEST else "cost",
        relations=table(headings, relations, numbers=(2, 4, 5, 6)),
        others=table(["placement", "on the SSD", "allowed", "a job", "a month", "regret"], others, numbers=(1, 3, 4, 5)),
        most=EXHAUSTIVE_RELATIONS,
        size=human_bytes,
        duration=duration,
        money=partial(money, advice=advice),
    )


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
    cells = [one.name, human_bytes(one.ssd_bytes), allowed, duration(one.job_s), money(one.cost_a_month, advice)]
    return [*cells, f"{100 * one.regret:+.2f} %"]
