"""The plan of a move for a terminal."""

from tierwise.advisor.advice_text import duration
from tierwise.advisor.moving import MovePlan
from tierwise.analysis.runs import run_label
from tierwise.core.text_table import table
from tierwise.core.units import human_bytes


def as_text(plan: MovePlan) -> str:
    """Return when the move pays, how long copying takes, what a job saves, the verdict, and what is moved."""
    within = f"{plan.jobs:,} {'job' if plan.jobs == 1 else 'jobs'}"
    rows = [
        ["copy to the SSD", duration(plan.there_s), plan.move_evidence],
        ["copy back", duration(plan.back_s), plan.move_evidence],
        ["job before the move", duration(plan.slow_job_s), plan.job_evidence],
        ["job after the move", duration(plan.fast_job_s), plan.job_evidence],
        ["saved per job", f"{'-' if plan.saved_s < 0 else ''}{duration(abs(plan.saved_s))}", plan.job_evidence],
    ]
    lines = [
        f"{run_label(plan.run_id)}: the move {_answer(plan)}." if plan.run_id else f"The move {_answer(plan)}.",
        f"Does it pay within {within}? {plan.pays}" + (f" ({plan.reason})" if plan.reason else ""),
        f"Moved from {plan.source} to {plan.target} and back: "
        + ", ".join(f"{name} ({human_bytes(size)})" for name, size in plan.relations.items())
        + f". Way of copying: {plan.way}.",
        "",
        table(["step", "takes", "evidence"], rows, numbers=[1]),
        *(f"Note: {remark}" for remark in plan.remarks),
    ]
    return "\n".join(lines)


def _answer(plan: MovePlan) -> str:
    if plan.break_even_jobs is None:
        return "never pays" if plan.saved_s <= 0 else "has no break-even, because a job saves nothing in some repeat"
    known = plan.low is not None and plan.high is not None
    interval = f"{_jobs(plan.low or 0)} to {_jobs(plan.high or 0)}, {plan.pairs} repeats" if known else "no interval"
    return f"pays from job {plan.whole_jobs:,} on, after {_jobs(plan.break_even_jobs)} jobs ({interval})"


def _jobs(number: float) -> str:
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"
