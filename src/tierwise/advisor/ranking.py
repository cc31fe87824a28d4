"""The one rule by which a measured placement is advised, on every page and in every command.

A placement is faster than another where the whole interval of the ratio of their times lies on one side of 1. The ratio must also differ
from 1 by a twentieth or more, because virtual and real times of flash can differ by that much. Advice is given only for a placement that is
faster than everything on disks. Of the placements that are not slower than the fastest by this rule, the smallest move is chosen.

The choice must hold in every reading of the same measurements: by the storage alone and with the processors' own time where drives were
slowed, and with each parameter that nobody states at either end of its band. Where the readings choose differently, the smaller move that
every choice contains is advised. The choice is unclear if there is no such move, if the move's model interval contains 1, or if the model
of the drives misses a rate that the source states.
"""

import math
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    moved: frozenset[str] = frozenset()  # relations on the SSD
    paced: Mapping[int, float] = field(default_factory=dict)
    """`ratios` of slowed drives if the processors take their own time too, and never work while a drive does; else empty.

    Drives that were slowed leave out the processors' time, as if processors were faster by the same factor.
    """
    worth: float = 1.0  # the speed-up above which its whole interval must lie

    @cached_property
    def estimate(self) -> Estimate:
        return geometric_estimate(self.ratios)

    @property
    def saves(self) -> bool:
        return faster(self.estimate, self.worth)

    @property
    def unclear(self) -> bool:
        """Return whether the drives' unknown values, all together, can turn what the replicates say: that this placement is faster."""
        high, shifts = self.estimate.high, self.shifts
        return shifts is not None and high is not None and self.saves and high * math.exp(shifts.down) >= 1

    def at(self, parameter: tuple[str, str]) -> "Gain":
        """Return the gain with one of the drives' unknown values at one end of its band."""
        shift = self.shifts.by_end.get(parameter, 0.0) if self.shifts else 0.0
        return replace(self, ratios={replicate: ratio * math.exp(-shift) for replicate, ratio in self.ratios.items()})

    def apart(self, slower: "Gain") -> bool:
        """Return whether this placement is surely faster than the `slower` one, by the ratio of times of the same replicate."""
        return faster(geometric_estimate(paired_ratios(self.ratios, slower.ratios)))


@dataclass(frozen=True)
class Choice:
    """The placement to choose, `None` where none surely saves time, and whether something that is not known can turn the choice."""

    gain: Gain | None = None
    unclear: bool = False

    @property
    def advised(self) -> Gain | None:
        return None if self.unclear else self.gain


def faster(ratio: Estimate, worth: float = 1.0) -> bool:
    """Return whether the estimated `ratio` of two times says that the first is shorter, by its whole interval by more than `worth` times.

    An interval without a width says nothing.
    """
    if ratio.value is None or ratio.high is None or ratio.flat:
        return False
    return ratio.high * worth < 1 and ratio.value * CLEARLY_ABOVE_ONE.apart <= 1


def gains_of(workload: Workload) -> tuple[Gain, ...]:
    """Return the gains of the placements with enough clean replicates that everything on disks has too."""
    disks, sizes = workload.measured.get(DISKS), {relation.name: relation.size_bytes for relation in workload.relations}
    moved = {name: frozenset(one for one, tier in placement.items() if tier == FAST) for name, placement in fixed(workload).items()}
    slowed = disks is not None and workload.slowdown != 1
    return tuple(
        Gain(
            name,
            ratios,
            sum(sizes[one] for one in moved[name]),
            shifts_of(headline(workload, name)),
            moved[name],
            paired_ratios(measured.with_processors_s, disks.with_processors_s) if slowed else {},
        )
        for name, measured in workload.measured.items()
        if disks and name != DISKS and len(ratios := paired_ratios(measured.job_s, disks.job_s)) >= MINIMUM_REPEATS
    )


def headline(workload: Workload, placement: str) -> Key:
    """Return the key of the speed-up that `placement` gives `workload`."""
    return Key(workload.pair, SPEEDUP, names_of(workload, "workloads"), placed(placement), "", workload.io_mode)


def choose(workload: Workload) -> Choice:
    """Return what to move for `workload`."""
    return choice_of(gains_of(workload), misses=workload.misses)


def choice_of(gains: Sequence[Gain], *, misses: bool = False) -> Choice:
    """Return the smallest move that every reading of `gains` supports; `misses`: their model misses a rate that the source states."""
    readings = list(_readings(gains))
    found = [chosen(reading) for reading in readings]
    names = {gain.placement for gain in found if gain}
    smallest = min((gain for gain in gains if gain.placement in names), key=lambda gain: gain.moved_bytes, default=None)
    if smallest is None:
        return Choice(unclear=misses)
    saves = all(gain.saves for reading in readings for gain in reading if gain.placement == smallest.placement)
    if not saves or not all(gain and smallest.moved <= gain.moved for gain in found):
        return Choice(found[0] or smallest, unclear=True)
    return Choice(smallest, misses or smallest.unclear)


def _readings(gains: Sequence[Gain]) -> Iterator[Sequence[Gain]]:
    """Yield `gains` as measured, with the processors' own time, and with each unknown value at each end where all gains have its shift."""
    yield gains
    if gains and all(gain.paced for gain in gains):
        yield [replace(gain, ratios=gain.paced) for gain in gains]
    if all(gain.shifts for gain in gains):
        for parameter in {end: None for gain in gains if gain.shifts for end in gain.shifts.by_end}:
            yield [gain.at(parameter) for gain in gains]


def chosen(gains: Collection[Gain]) -> Gain | None:
    """Return the placement to choose by the replicates of `gains` alone; `None` where none of them surely saves time."""
    saving = [gain for gain in gains if gain.saves]
    fastest = min(saving, key=lambda gain: gain.estimate.value or 1.0, default=None)
    alike = [gain for gain in saving if fastest is not None and not fastest.apart(gain)]
    return min(alike, key=lambda gain: gain.moved_bytes, default=None)


def names_of(workload: Workload, kind: str) -> str:
    """Return what the study's ``words.toml`` calls the workload (`kind` ``workloads``), or what is done in it (``operations``)."""
    there = workload.study in studies.having(WORDS)
    names: Mapping[str, str] = tomllib.loads(studies.text(workload.study, WORDS)).get(kind, {}) if there else {}
    return names.get(PACE.sub("", workload.name), workload.name)


def placed(placement: str) -> str:
    """Return what `placement` has on the SSD: ``tables``, or the name of a table."""
    return SHORT.get(placement, placement.removesuffix(f" {FAST}"))
