"""The pair of a run that is sold today, and how much faster its placements are. It is reported; no verdict rests on it."""

from collections.abc import Mapping
from typing import Any

from tierwise.advisor.ranking import gains_of
from tierwise.advisor.workload import FAST, SLOW
from tierwise.analysis.statistics import Estimate, geometric_estimate
from tierwise.report.run import Run
from tierwise.report.values.workloads import gather


def devices(run: Run) -> dict[str, str]:
    """Return tier -> device of today's slow and fast tier; empty where the run has no pair of today."""
    pair = run.manifest.todays_pair
    tiers: Mapping[str, Mapping[str, Any]] = run.manifest.pairs[pair]["tiers"] if pair else {}
    return {tier: str(tiers[tier]["device"]) for tier in (SLOW, FAST) if "device" in tiers.get(tier, {})}


def speedups(run: Run) -> dict[tuple[str | None, str, str], Estimate]:
    """Return study, workload and placement -> time with everything on today's slow tier over the time with the placement."""
    pair = run.manifest.todays_pair
    return {
        (workload.study, workload.name, gain.placement): geometric_estimate({of: 1 / ratio for of, ratio in gain.ratios.items()})
        for workload in (gather(run, only=pair).workloads if pair else ())
        for gain in gains_of(workload)
    }
