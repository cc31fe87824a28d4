"""The advice, and the plan of a move, for a terminal; the text is in ``advisor/text``."""

from tierwise.advisor.advice import Advice
from tierwise.advisor.moving import MovePlan
from tierwise.advisor.ranking import DISKS
from tierwise.analysis.runs import run_label
from tierwise.core.text_template import render
from tierwise.core.units import human_bytes
from tierwise.core.vocabulary import Goal


def as_text(advice: Advice) -> str:
    """Return what goes to the SSD and what that gains, then the tables of relations and of other placements, assumptions and warnings."""
    return render(
        "advisor/text/advice.txt",
        advice=advice,
        run=run_label(advice.run_id),
        moved=[name for name, tier in advice.placement.items() if tier == "ssd"],
        disks_s=next((one.job_s for one in advice.alternatives if one.name == DISKS), advice.job_s),
        least="time" if advice.goal is Goal.QUICKEST else "cost",
        size=human_bytes,
        duration=duration,
    )


def move_text(plan: MovePlan) -> str:
    """Return when the move pays, how long copying takes, what a job saves, the verdict, and what is moved."""
    run = run_label(plan.run_id) if plan.run_id else ""
    return render("advisor/text/move.txt", plan=plan, run=run, duration=duration, size=human_bytes)


def duration(time_s: float) -> str:
    """Write a duration with three significant digits, in seconds or thousandths or millionths of one."""
    if abs(time_s) >= 1000:
        return f"{time_s:,.0f} s"
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        if abs(time_s) >= scale:
            return f"{time_s / scale:.3g} {unit}"
    return f"{time_s / 1e-6:.3g} us"
