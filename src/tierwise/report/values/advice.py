"""What the page of advice shows: the advice for one workload, what was predicted and seen, and the numbers of its text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

import polars as pl

from tierwise.advisor.advice import Advice, Question, ServiceTimes, advise, times
from tierwise.advisor.service import Recorded
from tierwise.advisor.workload import FAST, Workload
from tierwise.core.units import GIB
from tierwise.core.vocabulary import RelationClass
from tierwise.costs.book import Book
from tierwise.report.run import Run, book_of
from tierwise.report.values.front import speedups
from tierwise.report.values.workloads import gather, name_of

AGREEMENT: Final = 0.10  # how near a predicted time should come to the measured one
_KNOWN: Final[dict[tuple[Any, ...], "Advised"]] = {}


@dataclass(frozen=True)
class Advised:
    """A workload of the run, if it has one, with what its relations take on each tier, and the advice for each space on the SSD."""

    workload: Workload | None = None
    service_s: ServiceTimes = field(default_factory=dict)
    advice: Sequence[Advice] = ()

    def predicted_s(self, placement: Mapping[str, str]) -> float | None:
        """Return seconds of a job (simulated) on tiers as slow as the measured ones; `None` where one of them has no model."""
        if self.workload is None or any(tier not in self.service_s[name] for name, tier in placement.items()):
            return None
        storage_s = sum(self.service_s[name][tier] for name, tier in placement.items())
        return self.workload.host_s + self.workload.slowdown * storage_s


def example(run: Run) -> Advised:
    """Return the advice for the first workload of `run` with a whole record, else for the first one; kept, as replays take seconds."""
    key = (run.folder, run.manifest.started_at, tuple(sorted(run.prices.items())))
    if key not in _KNOWN:
        workloads = gather(run)
        recorded = (one for one in workloads if all(isinstance(of, Recorded) for relation in one.relations for of in relation.requests))
        workload = next(recorded, workloads[0] if workloads else None)
        _KNOWN[key] = _advised(workload, book_of(run)) if workload else Advised()
    return _KNOWN[key]


def _advised(workload: Workload, book: Book) -> Advised:
    service_s = times(workload)
    parts = ((), (RelationClass.INDEX,), (RelationClass.TABLE,), tuple(RelationClass))
    sizes = {sum(one.size_bytes for one in workload.relations if one.relation_class in part) / GIB for part in parts}
    return Advised(workload, service_s, [advise(workload, Question(size_gib), book, service_s) for size_gib in sorted(sizes)])


def regrets(run: Run) -> pl.DataFrame:
    """Return the advised placement for each space on the SSD, and how much longer a job takes with it than with the best of all."""
    rows = [
        {
            "ssd_bytes": one.ssd_gib * GIB,
            "on_ssd": [name for name, tier in one.placement.items() if tier == FAST],
            "chosen_by": str(one.chosen_by),
            "job_s": one.job_s,
            "regret": one.exhaustive.regret,
        }
        for one in example(run).advice
    ]
    return pl.DataFrame(rows)


def errors(found: Advised) -> dict[str, float]:
    """Return the predicted time over the measured one, less one, by placement, but for the one that the requests are from."""
    known = {}
    for name, measured in found.workload.replayed.items() if found.workload else ():
        predicted_s, seen_s = found.predicted_s(measured.placement), measured.estimate.value
        if found.workload and name != found.workload.reference and predicted_s is not None and seen_s is not None:
            known[name] = predicted_s / seen_s - 1
    return known


def values(run: Run, pair: str = "") -> dict[str, Any]:  # noqa: ARG001  of all pairs
    found = example(run)
    off = [abs(error) for error in errors(found).values()]
    return {
        "answered": not speedups(run).is_empty(),
        "workload": name_of(found.workload) if found.workload else None,
        "requests_io_mode": found.workload.requests_io_mode if found.workload else None,
        "predicted": len(off),
        "near": sum(error <= AGREEMENT for error in off),
        "agreement": AGREEMENT,
        "error": median(off) if off else None,
        "todays_pairs": [f"`{pair}`" for pair in run.manifest.todays_pairs],
    }
