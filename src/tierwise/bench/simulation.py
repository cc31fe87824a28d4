"""Studies without a server: simulated, each trial once a block, whose number makes the seed; and beside it read live on files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import polars as pl

from tierwise.bench.order import Turn, block_seed, interleave
from tierwise.bench.study import C, Trial, no_check
from tierwise.bench.trials import run_trials
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.words import Substrate
from tierwise.tiers import reclaim as mounts
from tierwise.timings.schema import Timing

if TYPE_CHECKING:
    from tierwise.bench.book import Book
    from tierwise.bench.inputs import Inputs
    from tierwise.bench.lab import DatasetLike

LIVE: Final = "live"
"""The preparation of trials that read real files."""


Calibrations = dict[str, dict[str, float]]
"""Calibrations as a run's manifest keeps them: figures by "pair/tier"."""


class LiveLab(Protocol):
    """Where a study reads real files; the run keeps its calibrations."""

    @property
    def calibrations(self) -> Calibrations: ...


Lab = TypeVar("Lab", bound=LiveLab)
Lab_co = TypeVar("Lab_co", bound=LiveLab, covariant=True)


class OpenLive(Protocol[Lab_co]):
    """A function that opens the lab of a pair, with what the run knows of its disks already; what was laid down is gone at the end."""

    def __call__(
        self, pair: Pair, calibrations: Calibrations, *, work: Path, stretch: float, seed: int
    ) -> AbstractContextManager[Lab_co]: ...


@dataclass(frozen=True, slots=True)
class SimulatedStudy(Generic[C, Lab]):
    """One question from one source, answered by models on that source's pairs.

    `simulate` gives the rows of one trial for a seed; equal seeds give equal rows. `describe` gives facts found out once. `check`
    raises `EvidenceError` where the complete rows contradict themselves. `live` gives the rows of a trial that is prepared as `LIVE`,
    on files or by models of the same reading, in the lab that `open_live` opens; `stretch` is the factor on seek distances there.
    """

    name: str
    source: str
    question: str
    trials: Callable[[Profile, Pair], tuple[Trial[C], ...]]
    simulate: Callable[[Trial[C], Pair, int], Iterator[Timing]]
    describe: Callable[[Profile, Pair], dict[str, Any]]
    live: Callable[[Trial[C], Lab, int], Iterator[Timing]]
    open_live: OpenLive[Lab]
    stretch: Callable[[Profile], float]
    check: Callable[[pl.DataFrame], None] = field(default=no_check)


class ByModels:
    """Observes the trials of a simulated study on `pair`, by models or, where there is a `lab`, live; `seed` is the run's."""

    settings: Final[dict[str, str]] = {}
    server_version: Final = ""
    datasets: "Final[tuple[DatasetLike, ...]]" = ()

    def __init__(self, study: SimulatedStudy[Any, Any], pair: Pair, profile: Profile, seed: int, lab: LiveLab | None):
        self._study, self._pair, self._profile, self._seed, self._lab = study, pair, profile, seed, lab

    def observe(self, turn: Turn) -> list[Timing]:
        """Return the rows of the trial for its block's seed."""
        seed = block_seed(self._seed, turn.block)
        return list(self._study.live(turn.trial, self._lab, seed) if self._lab else self._study.simulate(turn.trial, self._pair, seed))

    def substrate(self, turn: Turn, timings: Sequence[Timing]) -> Substrate:  # noqa: ARG002 - tiers say how they are had, not if
        """Return the substrate of the rows themselves, which say what their tiers were."""
        return Substrate.of({io.substrate for timing in timings for io in timing.tier_io})

    def facts(self, rows: pl.DataFrame, before: Mapping[str, Any] | None) -> dict[str, Any]:  # noqa: ARG002 - of an observer on a server
        """Return what the study says of itself, for the manifest."""
        return self._study.describe(self._profile, self._pair) if before is None else dict(before)


def simulate_on_pair(study: SimulatedStudy[Any, Any], pair: Pair, inputs: "Inputs", book: "Book", work: Path) -> None:
    """Get what the run of `book` still lacks of `study`; the first block has the run's own seed. `work`: for what is read live."""
    if pair.source != study.source:
        return
    blocks = inputs.profile.blocks_of(study.name) + book.blocks_added(study.name, pair.name)
    turns = interleave(study.trials(inputs.profile, pair), blocks=blocks, seed=inputs.seed)
    live = any(turn.trial.preparation == LIVE for turn in turns)

    @contextmanager
    def by_models(block: int, left: Sequence[Turn]) -> Iterator[ByModels]:  # noqa: ARG001 - what is read live has one lab
        with _live_lab(study, pair, inputs, book, work) if live and left else nullcontext() as lab:
            yield ByModels(study, pair, inputs.profile, inputs.seed, lab)

    run_trials(study, pair, turns, book, by_models, how=LIVE if live else str(Substrate.SIMULATED))


@contextmanager
def _live_lab(study: SimulatedStudy[Any, Any], pair: Pair, inputs: "Inputs", book: "Book", work: Path) -> Iterator[LiveLab]:
    """The lab of a run, whose calibrations the run keeps; what it laid down is gone at the end."""
    with study.open_live(pair, book.calibrations, work=work, stretch=study.stretch(inputs.profile), seed=inputs.seed) as lab:
        book.keep_calibrations(lab.calibrations)
        yield lab
    mounts.discard(work)
