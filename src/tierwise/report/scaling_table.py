"""What a chapter shows of ratios at several sizes of the data: each size, what a line through the logs makes of the published one, and how
far it misses at the largest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final

from tierwise.analysis.scaling import BySize, Extrapolated, extrapolate
from tierwise.analysis.statistics import Estimate, enough, geometric_estimate
from tierwise.report.display import Table
from tierwise.report.formats import DASH, interval, listed, number
from tierwise.report.run import Run
from tierwise.timings.replicates import REPLICATES, replicates_of

BY_SCALE: Final = "by_scale"
"""The fact of a study that has an entry for each size."""
FORM: Final = (
    "The form of the line is fixed: straight through the logs of ratio and size, one a {repeat}. Miss: what the line through the smaller "
    "sizes gives at the largest, over what was found there (95 % intervals)."
)
"""What the caption of a table of sizes says of the line; `repeat` is what each line is of."""


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


def table(sizes: Sizes, first: str, caption: str) -> Table:
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
        cells = [told(geometric_estimate(line[size])) for size in columns]
        cells += [told(carried.predicted if sizes.reached else carried.value), told(carried.miss)]
        cells += [told(sizes.emulated[case]) if case in sizes.emulated else DASH] if sizes.emulated else []
        rows.append([case, *cells])
    return Table(header, rows, caption, align="l" + "r" * (len(header) - 1))


def sentence(sizes: Sizes) -> str:
    """Return each case's ratio at the published size, and the miss, as a clause each; then of which cases the line is not seen to hold."""
    loose = [case for case in sizes.lines if not holds(sizes.carried(case).miss)]
    told_loose = f" The line is not seen to hold within a tenth ({listed(loose)}){_no_estimate(sizes)}." if loose else ""
    return f"{'; '.join(_clause(sizes, case) for case in sizes.lines)}.{told_loose}"


def holds(miss: Estimate) -> bool:
    """Return whether the smaller sizes are seen to predict the largest within a tenth: the whole interval of the miss lies there."""
    low, high = TENTH
    return miss.low is not None and miss.high is not None and low <= miss.low and miss.high <= high


def _no_estimate(sizes: Sizes) -> str:
    return "" if sizes.reached else ", so that what it gives for the published size is no estimate"


def _clause(sizes: Sizes, case: str) -> str:
    carried = sizes.carried(case)
    emulated = f", and emulated it is {told(sizes.emulated[case])}" if case in sizes.emulated else ""
    if sizes.reached:
        found = geometric_estimate(sizes.lines[case][sizes.largest])
        return f"{case} {told(found)}, where the smaller sizes predict {told(carried.predicted)}: {told(carried.miss)} times that{emulated}"
    miss = f"where the line through the two smaller sizes gives {told(carried.miss)} times what was found at the largest{emulated}"
    return f"{case} {told(carried.value)}, {miss}"


def told(found: Estimate) -> str:
    """Return an estimate with its interval; a dash where there are too few repeats."""
    if found.value is None or found.low is None or found.high is None:
        return DASH
    return f"{number(found.value)} ({interval(found.low, found.high)})"


def observations(entries: list[dict[str, Any]]) -> int:
    return sum(len(one[REPLICATES]) for one in entries)
