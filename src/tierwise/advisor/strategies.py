"""The placements that a run measured as strategies: what a job takes, and what an IOPS and a job cost on the devices that each needs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tierwise.advisor.workload import Workload
from tierwise.analysis.statistics import Estimate
from tierwise.core.errors import MissingError
from tierwise.core.vocabulary import Evidence
from tierwise.costs.book import Book
from tierwise.costs.hardware import device_bill
from tierwise.costs.iops import simulated_iops
from tierwise.costs.units import SECONDS_A_YEAR


@dataclass(frozen=True)
class Strategy:
    """One measured placement, on `iops` random reads a second that its devices could serve (simulated).

    Costs count the whole devices that it uses, each as one; `None` where one of them has no price.
    """

    name: str
    job_s: Estimate
    evidence: Evidence
    iops: float
    devices: tuple[str, ...]
    cost_a_year: float | None
    missing: str = ""

    @property
    def cost_per_million(self) -> float | None:
        """Return the money for a million jobs, one after the other."""
        return None if self.cost_a_year is None or self.job_s.value is None else self.cost_a_year * self.job_s.value / SECONDS_A_YEAR * 1e6


def strategies_of(workload: Workload, book: Book) -> list[Strategy]:
    """Return each placement of the workload that was measured often enough without a flag, the quickest first."""
    found = []
    for name, measured in workload.measured.items():
        if measured.estimate.value is None:
            continue
        tiers = sorted(set(measured.placement.values()))
        devices = [workload.device_name(tier) for tier in tiers]
        modelled = tuple(device for device in devices if device is not None)
        cost, missing = _cost(modelled, book) if len(modelled) == len(devices) else (None, "a real directory has no price")
        iops = sum(simulated_iops(device) for device in modelled)
        found.append(Strategy(name, measured.estimate, measured.evidence, iops, modelled, cost, missing))
    return sorted(found, key=lambda strategy: strategy.job_s.value or 0.0)


def rank(strategies: Sequence[Strategy], value: Callable[[Strategy], float | None]) -> dict[str, int]:
    """Rank the strategies by `value`, the least first; equal values share a place, and one without a value has none."""
    values = {strategy.name: known for strategy in strategies if (known := value(strategy)) is not None}
    return {name: 1 + sum(other < known for other in values.values()) for name, known in values.items()}


def _cost(devices: Sequence[str], book: Book) -> tuple[float | None, str]:
    try:
        return sum(device_bill(device, book).cost(book) for device in devices), ""
    except MissingError as missing:
        return None, str(missing)
