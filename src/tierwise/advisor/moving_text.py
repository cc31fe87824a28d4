"""The plan of a move for a terminal."""

from tierwise.advisor.advice_text import duration
from tierwise.advisor.moving import MovePlan
from tierwise.core.units import human_bytes


def as_text(plan: MovePlan) -> str:
    """Return what is copied, how long that takes, what a job saves, and when it has paid."""
    moved = ", ".join(f"{name} ({human_bytes(size)})" for name, size in plan.relations.items())
    lines = [
        f"move {moved} from {plan.source} to {plan.target} and back, {plan.way}'s pace",
        f"there {duration(plan.there_s)}, back {duration(plan.back_s)} ({plan.move_evidence})",
        f"a job takes {duration(plan.slow_job_s)} before and {duration(plan.fast_job_s)} after: "
        f"{'saves' if plan.saved_s > 0 else 'costs'} {duration(abs(plan.saved_s))} ({plan.job_evidence})",
    ]
    if plan.break_even_jobs is None:
        lines.append("it never pays" if plan.saved_s <= 0 else "no break-even: a job saves nothing in some repeat")
    else:
        known = plan.low is not None and plan.high is not None
        interval = f"{_jobs(plan.low or 0)} to {_jobs(plan.high or 0)}, {plan.pairs} repeats" if known else "no interval"
        lines.append(f"pays after {_jobs(plan.break_even_jobs)} jobs ({interval}), so from job {plan.whole_jobs:,} on")
    within = f"{plan.jobs:,} {'job' if plan.jobs == 1 else 'jobs'}"
    lines.append(f"does it pay within {within}? {plan.pays}" + (f" ({plan.reason})" if plan.reason else ""))
    return "\n".join([*lines, *(f"note: {remark}" for remark in plan.remarks)])


def _jobs(number: float) -> str:
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"
