"""The one rule by which a measured placement is advised, on every page and in every command.

A placement is faster than another where the whole interval of the ratio of their times lies on one side of 1. The ratio must also differ
from 1 by a twentieth or more, because virtual and real times of flash can differ by that much. Advice is given only for a placement that is
faster than everything on disks. Of the placements that are not slower than the fastest by this rule, the smallest move is chosen. It is
advised unless its model interval contains 1.
"""

import math
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tierwise.advisor.workload import FAST, SLOW, Workload, fixed
from tierwise.analysis.heat import PACE
from tierwise.analysis.model_interval import Key, Shifts, shifts_of
from tierwise.analysis.rules import CLEARLY_ABOVE_ONE
from tierwise.analysis.statistics import MINIMUM_REPEATS, Estimate, geometric_estimate, paired_ratios
from tierwise.core import studies

DISKS: Final = f"all {SLOW}"  # the placement that the others are compared with
SPEEDUP: Final = "speedup"  # the kind of headline of which the model interval is known
INDEXES, NOTHING = "indexes ssd", "nothing"
SHORT: Final = {DISKS: NOTHING, INDEXES: "indexes", "tables ssd": "tables", "all ssd": "everything"}  # placement -> what it has on the SSD
WORDS: Final = "reading/words.toml"


@dataclass(frozen=True)
class Gain:
    """What a job takes on one placement, as a share of its time with everything on disks, by replicate."""

    placement: str
    ratios: Mapping[int, float]
    moved_bytes: int = 0
    shifts: Shifts | None = None  # what the drives' unknown values do to the speed-up

    @cached_property
    def estimate(self) -> Estimate:
        return geometric_estimate(self.ratios)

    @property
    def unclear(self) -> bool:
        """Return whether the drives' unknown values can turn what the replicates say: that this placement is faster."""
        high, shifts = self.estimate.high, self.shifts
        return shifts is not None and high is not None and faster(self.estimate) and high * math.exp(shifts.down) >= 1

    def apart(self, slower: "Gain") -> bool:
        """Return whether this placement is surely faster than the `slower` one, by the ratio of times of the same replicate."""
        return faster(geometric_estimate(paired_ratios(self.ratios, slower.ratios)))


def faster(ratio: Estimate) -> bool:
    """Return whether the estimated `ratio` of two times says that the first is shorter; an interval without a width says nothing."""
    if ratio.value is None or ratio.high is None or ratio.flat:
        return False
    return ratio.high < 1 and ratio.value * CLEARLY_ABOVE_ONE.apart <= 1


def gains_of(workload: Workload) -> tuple[Gain, ...]:
    """Return the gains of the placements with enough clean replicates that everything on disks has too."""
    disks, sizes = workload.measured.get(DISKS), {relation.name: relation.size_bytes for relation in workload.relations}
    moved = {name: sum(sizes[one] for one, tier in placement.items() if tier == FAST) for name, placement in fixed(workload).items()}
    return tuple(
        Gain(name, ratios, moved[name], shifts_of(headline(workload, name)))
        for name, measured in workload.measured.items()
        if disks and name != DISKS and len(ratios := paired_ratios(measured.job_s, disks.job_s)) >= MINIMUM_REPEATS
    )


def with_processors(workload: Workload, placement: str) -> Mapping[int, float]:
    """Return the speed-ups if the processors take their own time too, and never work while a drive does; none at the drives' own speed.

    Drives that were slowed leave out the processors' time, as if processors were faster by the same factor.
    """
    if workload.slowdown == 1:
        return {}
    moved, disks = (workload.measured[name].with_processors_s for name in (placement, DISKS))
    return paired_ratios(disks, moved)


def headline(workload: Workload, placement: str) -> Key:
    """Return the key of the speed-up that `placement` gives `workload`."""
    return Key(workload.pair, SPEEDUP, names_of(workload, "workloads"), placed(placement), "", workload.io_mode)


def chosen(gains: Collection[Gain]) -> Gain | None:
    """Return the placement to choose by the replicates of `gains`; `None` where none of them surely saves time."""
    saving = [gain for gain in gains if faster(gain.estimate)]
    fastest = min(saving, key=lambda gain: gain.estimate.value or 1.0, default=None)
    alike = [gain for gain in saving if fastest is not None and not fastest.apart(gain)]
    return min(alike, key=lambda gain: gain.moved_bytes, default=None)


def advised(gains: Collection[Gain]) -> Gain | None:
    """Return the chosen placement where it is faster whatever the drives' unknown values are."""
    best = chosen(gains)
    return None if best is None or best.unclear else best


def names_of(workload: Workload, kind: str) -> str:
    """Return what the study's ``words.toml`` calls the workload (`kind` ``workloads``), or what is done in it (``operations``)."""
    there = workload.study in studies.having(WORDS)
    names: Mapping[str, str] = tomllib.loads(studies.text(workload.study, WORDS)).get(kind, {}) if there else {}
    return names.get(PACE.sub("", workload.name), workload.name)


def placed(placement: str) -> str:
    """Return what `placement` has on the SSD: ``tables``, or the name of a table."""
    return SHORT.get(placement, placement.removesuffix(f" {FAST}"))
