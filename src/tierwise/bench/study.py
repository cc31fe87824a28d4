"""What a study is to the bench: a question, its grid, and how one cell is prepared and measured."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from tierwise.core.errors import EvidenceError
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.words import ClockKind, IoArm, Substrate
from tierwise.timings.schema import Timing

if TYPE_CHECKING:
    from tierwise.bench.lab import Lab  # a study without a server has none


@dataclass(frozen=True, slots=True)
class Trial:
    """One cell of a study's grid.

    Trials of one `preparation` (which relation lies where) are measured together within a block, so that nothing is
    moved more often than the interleaving needs. `placed` names where relations lie, where `preparation` says more than that.
    A trial that is `waited` for goes by real time where others are counted; its cell says ``clock=waited``.
    """

    cell: Mapping[str, str | int | float]
    arm: IoArm
    tiers: frozenset[str]
    preparation: str
    placed: str = ""
    waited: bool = False

    @property
    def key(self) -> str:
        """Unique within study and pair, and the same in every run: ``arm=direct/index=ssd/start=FL/table=hdd``."""
        return "/".join(f"{name}={value}" for name, value in sorted(self.cell.items()))

    def also_waited(self) -> "Trial":
        """The same trial by a waited clock: what holds the counted one to account."""
        cell = {**self.cell, "clock": str(ClockKind.WAITED)}
        return replace(self, cell=cell, preparation=f"{self.preparation}/waited", waited=True)  # begun anew, as the other was

    def substrate(self, pair: Pair) -> Substrate:
        """The substrate of the tiers that this trial touches."""
        return Substrate.of({pair.tiers[name].substrate for name in self.tiers})


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the relations of a trial lie, and the trial of the same queries from whose trace its times are foretold."""

    tiers: Mapping[str, str]  # relation -> tier
    reference: str  # key of a trial


def no_check(rows: pl.DataFrame) -> None:
    """A study without a rule of its own."""


def same_answers(rows: pl.DataFrame) -> None:
    """A statement gives the same number of rows wherever its relations lie, and in every cache state.

    Raises:
        EvidenceError: it does not; then it did different work, and its times say nothing.
    """
    answers = rows.group_by("operation").agg(pl.col("result_rows").unique())
    for operation, found in answers.iter_rows():
        if len(found) != 1:
            raise EvidenceError(f"{operation[:80]!r} gave different numbers of rows on different placements: {sorted(found)}")


def no_facts(rows: pl.DataFrame) -> dict[str, Any]:  # noqa: ARG001 - a study whose rows speak for themselves
    return {}


@dataclass(frozen=True, slots=True)
class Study:
    """One question from one source. It knows nothing of repeats, order, files or provenance: the bench owns these.

    `published_share` gives the data's size over the published one: seek distances are stretched by its inverse, so that
    a smaller file spans as much of the emulated disk as the published one did. `prepare` is idempotent: a killed run
    calls it again. `describe` gives facts found out once (sizes, plans, estimates). `check` raises `EvidenceError` where
    the complete rows contradict themselves. `placement`, of trials that differ by nothing else, lets the bench predict them all from
    the trace of one; None for any other trial. `summarise` gives facts found in the complete rows. `keeps`: what its trials leave with
    the lab's recorder, to be kept with the run: traces of blocks, the transactions of a load, or single reads.
    """

    name: str
    source: str
    question: str
    published_share: "Callable[[Lab], float]"
    trials: Callable[[Profile, Pair], tuple[Trial, ...]]
    prepare: "Callable[[Trial, Lab], None]"
    measure: "Callable[[Trial, Lab], Iterator[Timing]]"
    describe: "Callable[[Lab], dict[str, Any]]"
    check: Callable[[pl.DataFrame], None] = field(default=no_check)
    placement: Callable[[Trial], Placement | None] | None = None
    summarise: Callable[[pl.DataFrame], dict[str, Any]] = field(default=no_facts)
    keeps: Literal["trace", "transactions", "reads"] = "trace"
