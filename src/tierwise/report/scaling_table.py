"""What a chapter shows of ratios at several sizes of the data: each size, what a line through the logs makes of the published one, and how
far it misses at the largest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final

from tierwise.analysis.scaling import BySize, Extrapolated, extrapolate
from tierwise.analysis.statistics import Estimate, enough, geometric_estimate
from tierwise.report.estimates import cell
from tierwise.report.exhibit_registry import Cells
from tierwise.report.run import Run
from tierwise.timings.replicates import replicates_of

BY_SCALE: Final = "by_scale"
"""The fact of a study that has an entry for each size."""
TENTH: Final = (0.9, 1.1)
"""Bounds within which the interval of a miss lies where a line holds (assumed)."""


@dataclass(frozen=True)
class Sizes:
    """Ratios at several sizes. `lines`: words of a case -> its ratios; `published`: the size to carry them on to, in the same unit; `named`
    makes the words of a size.
    """

    lines: Mapping[str, BySize]
    published: float
    named: Callable[[float], str]
    emulated: Mapping[str, Estimate] = field(default_factory=dict)
    """Case -> what the emulator gives for it at the largest size; empty where that was not measured."""

    @property
    def largest(self) -> float:
        return max(max(line) for line in self.lines.values())

    @property
    def reached(self) -> bool:
        """Return whether the largest size is the published one, so that nothing is carried on."""
        return self.largest >= self.published

    def carried(self, case: str) -> Extrapolated:
        return extrapolate(self.lines[case], self.published)


def entries_of(run: Run, study: str, pair: str, values: str) -> list[dict[str, Any]]:
    """Return what the manifest keeps of `study` on `pair` at each size; empty where there is nothing, or a size has too few repeats.

    `values` is the key of an entry that holds, by name, a value a repeat.
    """
    record = run.record(study, pair)
    known: list[dict[str, Any]] = (record.facts.get(BY_SCALE) or []) if record else []
    return known if all(enough(len(repeats)) for one in known for repeats in one[values].values()) else []


def ratios(entries: list[dict[str, Any]], values: str, size: str, *, of: str, over: str) -> BySize:
    """Return the values of the case `of` over those of `over` at each size, by repeat.

    An entry has its size at the key `size`; where it differs from repeat to repeat, the mean counts.
    """
    return {
        fmean(one[size]) if isinstance(one[size], list) else float(one[size]): {
            repeat: value / base
            for repeat, value, base in zip(replicates_of(one, len(one[values][of])), one[values][of], one[values][over], strict=True)
        }
        for one in entries
    }


def table(sizes: Sizes, first: str) -> Cells:
    """Tabulate the ratios of each case by size; at the published size, or where that is the largest what the smaller ones predict for it;
    the miss; and what was emulated.
    """
    columns = sorted({size for line in sizes.lines.values() for size in line})
    header = [first, *map(sizes.named, columns)]
    header += ["Predicted from the smaller", "Miss"] if sizes.reached else [sizes.named(sizes.published), "Miss"]
    header += ["Emulated"] if sizes.emulated else []
    rows = []
    for case, line in sizes.lines.items():
        carried = sizes.carried(case)
        cells = [cell(geometric_estimate(line[size])) for size in columns]
        cells += [cell(carried.predicted if sizes.reached else carried.value), cell(carried.miss)]
        cells += [cell(sizes.emulated.get(case))] if sizes.emulated else []
        rows.append([case, *cells])
    return Cells(header, rows, "l" + "r" * (len(header) - 1))


def holds(miss: Estimate) -> bool:
    """Return whether the smaller sizes are seen to predict the largest within a tenth: the whole interval of the miss lies there."""
    low, high = TENTH
    return miss.low is not None and miss.high is not None and low <= miss.low and miss.high <= high
