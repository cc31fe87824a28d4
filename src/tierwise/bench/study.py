"""What a study is to the bench: a question, its grid, how one cell is prepared and measured, and the order of its trials."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, Literal, TypeVar

import polars as pl
from pydantic import Field

from tierwise.core.errors import EvidenceError
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.vocabulary import ClockKind, Evidence, IoMode

if TYPE_CHECKING:
    from tierwise.bench.recording import Observed, Recorder
    from tierwise.bench.testbed import Testbed  # a study without a server has none


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a grid. Each study names its own coordinates, as fields; one that is None is no coordinate of that trial."""

    @property
    def coordinates(self) -> dict[str, str | int | float]:
        named = ((one.name, getattr(self, one.name)) for one in fields(self))
        return {name: str(value) if isinstance(value, StrEnum) else value for name, value in named if value is not None}

    @property
    def key(self) -> str:
        """Return the coordinates in a line: ``index=ssd/io_mode=direct/start=FL/table=hdd``."""
        return key_of(self.coordinates)


def key_of(coordinates: Mapping[str, str | int | float]) -> str:
    return "/".join(f"{name}={value}" for name, value in sorted(coordinates.items()))


IoModes = Annotated[tuple[IoMode, ...], Field(description="of those that the machine has; else the first of these")]
C = TypeVar("C", bound=Cell)
C_co = TypeVar("C_co", bound=Cell, covariant=True)
StudyState = TypeVar("StudyState")


@dataclass(frozen=True, slots=True)
class Trial(Generic[C_co]):
    """One cell of a study's grid. Trials of one `preparation` are measured together, so that relations are moved less often."""

    cell: C_co
    io_mode: IoMode
    tiers: frozenset[str]
    preparation: str  # which relation lies where
    placed: str = ""  # the same alone, where `preparation` says more than that
    real_time: bool = False  # it goes by real time where others are counted: its coordinates say ``clock=real_time``
    replicated: bool = True  # else it is always measured in the testbed of the first replicate, since what it needs takes long to make
    most_replicates: int | None = None  # in how many replicates, from the first on, it is measured; None: in all

    @property
    def coordinates(self) -> dict[str, str | int | float]:
        return {**self.cell.coordinates, **({"clock": str(ClockKind.REAL)} if self.real_time else {})}

    @property
    def key(self) -> str:
        """Return the key of the trial, unique within study and pair, and the same in every run."""
        return key_of(self.coordinates)

    def in_real_time(self, most_replicates: int | None = None) -> "Trial[C_co]":
        begun_anew = f"{self.preparation}/real"  # as the other was
        return replace(self, preparation=begun_anew, real_time=True, most_replicates=most_replicates)

    def evidence(self, pair: Pair) -> Evidence:
        return Evidence.of({pair.tiers[name].evidence for name in self.tiers})


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the relations of a trial lie, and the trial of the same queries from whose trace its times are predicted."""

    tiers: Mapping[str, str]  # relation -> tier
    reference: str  # key of a trial


def no_check(rows: pl.DataFrame) -> None:
    """Ask nothing of the rows of a study without its own rule."""


def same_answers(rows: pl.DataFrame) -> None:
    """Raise `EvidenceError` where a statement did different work on the same data, because it gave other numbers of rows."""
    answers = rows.group_by("replicate", "operation").agg(pl.col("result_rows").unique())
    for _, operation, found in answers.iter_rows():
        if len(found) != 1:
            raise EvidenceError(f"{operation[:80]!r} gave different numbers of rows on different placements: {sorted(found)}")


def no_study_state(testbed: "Testbed") -> None:
    """Keep nothing in mind from one trial to the next."""


@dataclass(frozen=True, slots=True)
class Study(Generic[C, StudyState]):
    """One question from one source. It knows nothing of repeats, order, files or provenance: the bench owns these.

    `source` is the letter of the source, by which its pair is found; of a question without a source, the study's own name, which its
    pair has too. `published_share` gives the data's size over the published one: seek distances are stretched by its inverse, so that
    a smaller file spans as much of the emulated disk as the published one did. `begin` gives what the study keeps in mind of one run on
    one pair, before any tier is there; `prepare` and `measure` may find out more and note it there. `prepare` is idempotent: a killed run
    begins and prepares again. `measure` gives what it observed; a recorder, which it hands to the server's session, watches the timed
    queries. `describe` gives facts found out once (sizes, plans, estimates). `check` raises `EvidenceError` where
    the complete rows contradict themselves. `placement`, of trials that differ by nothing else, lets the bench predict them all from
    the trace of one; None for any other trial. `summarise` gives facts found in the complete rows. `keeps`: what of an `Observed` is
    kept with the run beside the rows: traces of pages, the transactions of a load, or single reads. `today`: a placement is in question, so
    that a few of its trials run on the profile's pair of today as well.
    """

    name: str
    source: str
    question: str
    begin: "Callable[[Testbed], StudyState]"
    published_share: "Callable[[Testbed, StudyState], float]"
    trials: Callable[[Profile, Pair], tuple[Trial[C], ...]]
    prepare: "Callable[[Trial[C], Testbed, StudyState], None]"
    measure: "Callable[[Trial[C], Testbed, StudyState, Recorder], Observed]"
    describe: "Callable[[Testbed, StudyState], dict[str, Any]]"
    check: Callable[[pl.DataFrame], None] = field(default=no_check)
    placement: Callable[[Trial[C]], Placement | None] | None = None
    summarise: Callable[[pl.DataFrame], dict[str, Any]] = field(default=lambda _: {})
    keeps: Literal["trace", "transactions", "reads"] = "trace"
    today: bool = False


SEED_BITS: Final = 31  # the bits of a drawn seed that pgbench takes


def replicate_seed(seed: int, replicate: int) -> int:
    """Return the seed of all that is drawn for `replicate`: the first has the run's own, the others share none with runs of other seeds."""
    return random.Random(f"{seed}/{replicate}").getrandbits(SEED_BITS) if replicate else seed


@dataclass(frozen=True, slots=True)
class Turn:
    sequence: int
    replicate: int
    trial: Trial[Cell]

    @property
    def testbed(self) -> int:
        """Return the replicate in whose testbed the turn is executed: its own, but for a trial that is not replicated."""
        return self.replicate if self.trial.replicated else 0


def interleave(trials: Sequence[Trial[Cell]], *, replicates: int, seed: int) -> list[Turn]:
    """Return every trial once in each of its replicates, in an order that depends on `seed` alone.

    Preparations, and the trials of one preparation, come in random order, so that drift over time falls on every cell alike.
    """
    turns: list[Turn] = []
    for replicate in range(replicates):
        shuffle = random.Random(f"{seed}/{replicate}").shuffle
        measured = [trial for trial in trials if trial.most_replicates is None or replicate < trial.most_replicates]
        preparations = sorted({trial.preparation for trial in measured})
        shuffle(preparations)
        for preparation in preparations:
            group = sorted((trial for trial in measured if trial.preparation == preparation), key=lambda trial: trial.key)
            shuffle(group)
            for trial in group:
                turns.append(Turn(len(turns), replicate, trial))
    return turns


def in_testbed(turns: Sequence[Turn], replicate: int | None) -> list[Turn]:
    """Return those of `turns` that are executed in the testbed of `replicate`; all, if it is None."""
    return [turn for turn in turns if replicate in {None, turn.testbed}]


def in_real_time(trials: Sequence[Trial[Cell]], *, seed: int) -> tuple[Trial[Cell], ...]:
    by_placement: dict[str, list[Trial[Cell]]] = {}
    for trial in sorted(trials, key=lambda trial: trial.key):
        if not trial.real_time:
            by_placement.setdefault(trial.placed or trial.preparation, []).append(trial)
    draw = random.Random(f"{seed}/real")
    return tuple(draw.choice(group).in_real_time() for _, group in sorted(by_placement.items()))
