"""The plan of a move for a terminal."""

from tierwise.advisor.advice_text import duration
from tierwise.advisor.moving import MovePlan
from tierwise.analysis.runs import run_label
from tierwise.core.text_table import table
from tierwise.core.text_template import render
from tierwise.core.units import human_bytes


def as_text(plan: MovePlan) -> str:
    """Return when the move pays, how long copying takes, what a job saves, the verdict, and what is moved."""
    rows = [
        ["copy to the SSD", duration(plan.there_s), plan.move_evidence],
        ["copy back", duration(plan.back_s), plan.move_evidence],
        ["job before the move", duration(plan.slow_job_s), plan.job_evidence],
        ["job after the move", duration(plan.fast_job_s), plan.job_evidence],
        ["saved per job", f"{'-' if plan.saved_s < 0 else ''}{duration(abs(plan.saved_s))}", plan.job_evidence],
    ]
    return render(
        "advisor/text/move.txt",
        plan=plan,
        run=run_label(plan.run_id) if plan.run_id else "",
        steps=table(["step", "takes", "evidence"], rows, numbers=[1]),
        size=human_bytes,
        jobs=_jobs,
    )


def _jobs(number: float) -> str:
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"
