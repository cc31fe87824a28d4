"""Studies without a server: simulated, each trial once a block, whose number makes the seed; and beside it read live on files."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import polars as pl

from tierwise.bench.order import interleave
from tierwise.bench.study import Trial, no_check
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.progress import Progress
from tierwise.core.words import Substrate
from tierwise.tiers import reclaim as mounts
from tierwise.timings.parts import done_parts, read_parts, write_part
from tierwise.timings.schema import Origin, Timing, frame

if TYPE_CHECKING:
    from tierwise.bench.book import Book
    from tierwise.bench.inputs import Inputs

LIVE: Final = "live"
"""The preparation of trials that read real files."""


Calibrations = dict[str, dict[str, float]]
"""As a run's manifest keeps them: figures by "pair/tier"."""


class LiveLab(Protocol):
    """Where a study reads real files; the run keeps its calibrations."""

    @property
    def calibrations(self) -> Calibrations: ...


class OpenLive(Protocol):
    """Opens the lab of a pair, with what the run knows of its disks already; what was laid down is gone at the end."""

    def __call__(self, pair: Pair, calibrations: Calibrations, *, work: Path, stretch: float, seed: int) -> AbstractContextManager[Any]: ...


@dataclass(frozen=True, slots=True)
class SimulatedStudy:
    """One question from one source, answered by models on that source's pairs.

    `simulate` gives the rows of one trial for a seed; equal seeds give equal rows. `describe` gives facts found out once. `check`
    raises `EvidenceError` where the complete rows contradict themselves. `live` gives the rows of a trial that is prepared as `LIVE`,
    on files or by models of the same reading, in the lab that `open_live` opens; `stretch` is the factor on seek distances there.
    """

    name: str
    source: str
    question: str
    trials: Callable[[Profile, Pair], tuple[Trial, ...]]
    simulate: Callable[[Trial, Pair, int], Iterator[Timing]]
    describe: Callable[[Profile, Pair], dict[str, Any]]
    live: Callable[[Trial, Any, int], Iterator[Timing]]
    open_live: OpenLive
    stretch: Callable[[Profile], float]
    check: Callable[[pl.DataFrame], None] = field(default=no_check)


def simulate_on_pair(study: SimulatedStudy, pair: Pair, inputs: "Inputs", book: "Book", work: Path) -> None:
    """Get what the run of `book` still lacks of `study`; the first block has the run's own seed. `work`: for what is read live."""
    if pair.source != study.source:
        return
    folder, blocks = book.folder, inputs.profile.blocks + book.blocks_added(study.name, pair.name)
    turns = interleave(study.trials(inputs.profile, pair), blocks=blocks, seed=inputs.seed)
    done = done_parts(folder)
    left = [turn for turn in turns if (study.name, pair.name, turn.trial.key, turn.block) not in done]
    if not left and book.has(study.name, pair.name):
        return
    how = LIVE if any(turn.trial.preparation == LIVE for turn in turns) else "simulated"
    progress = Progress(f"{study.name} on {pair.name} ({how})", len(turns), already=len(turns) - len(left))
    with ExitStack() as stack:
        lab = stack.enter_context(_live_lab(study, pair, inputs, book, work)) if left and how == LIVE else None
        for turn in left:
            seed = inputs.seed + turn.block
            timings = list(study.live(turn.trial, lab, seed) if lab else study.simulate(turn.trial, pair, seed))
            origin = Origin(
                run_id=folder.name,
                study=study.name,
                pair=pair.name,
                substrate=Substrate.of({io.substrate for timing in timings for io in timing.tier_io}),
                arm=turn.trial.arm,
                trial=turn.trial.key,
                block=turn.block,
                sequence=turn.sequence,
            )
            write_part(folder, frame(origin, timings))
            progress.step(note=f"block {turn.block + 1}, {turn.trial.key}")
    study.check(read_parts(folder, study.name))
    book.record(study.name, pair.name, turns, facts=study.describe(inputs.profile, pair))


@contextmanager
def _live_lab(study: SimulatedStudy, pair: Pair, inputs: "Inputs", book: "Book", work: Path) -> Iterator[LiveLab]:
    """The lab of a run, whose calibrations the run keeps; what it laid down is gone at the end."""
    with study.open_live(pair, book.calibrations, work=work, stretch=study.stretch(inputs.profile), seed=inputs.seed) as lab:
        book.keep_calibrations(lab.calibrations)
        yield lab
    mounts.discard(work)
