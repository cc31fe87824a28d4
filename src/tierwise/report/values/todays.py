"""The pairs of a run that are sold today: what a reader calls them, and how much faster their placements are. No verdict rests on them."""

from typing import Final

from tierwise.advisor.ranking import gains_of
from tierwise.analysis.statistics import Estimate, geometric_estimate
from tierwise.report.run import Run
from tierwise.report.values.workloads import gather

TITLES: Final = {"today-server": "Server today", "today-aws": "AWS today", "today-azure": "Azure today", "today-gcp": "Google Cloud today"}


def title(pair: str) -> str:
    return TITLES.get(pair, f"`{pair}`")


def speedups(run: Run, pair: str) -> dict[tuple[str, str, str], Estimate]:
    """Return study, workload and placement -> time with everything on the slow tier of `pair` over the time with the placement."""
    return {
        (workload.study, workload.name, gain.placement): geometric_estimate({of: 1 / ratio for of, ratio in gain.ratios.items()})
        for workload in gather(run, only=pair)
        for gain in gains_of(workload)
    }
