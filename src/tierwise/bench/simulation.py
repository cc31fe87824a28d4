"""Studies without a server: simulated, each trial once a replicate, whose number makes the seed; and beside it read live on files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol

import polars as pl

from tierwise.bench.study import C, Trial, Turn, in_testbed, interleave, no_check, replicate_seed
from tierwise.bench.trial_loop import run_trials
from tierwise.core.pairs import Calibrations, Pair
from tierwise.core.profiles import Profile
from tierwise.core.tasks import in_tasks, processors
from tierwise.core.vocabulary import Evidence
from tierwise.tiers import reclaim as mounts
from tierwise.timings.schema import Timing

if TYPE_CHECKING:
    from tierwise.bench.inputs import Inputs
    from tierwise.bench.run_record import RunRecord
    from tierwise.bench.testbed import DatasetLike

LIVE: Final = "live"  # the preparation of trials that read real files


class LiveTestbed(Protocol):
    @property
    def calibrations(self) -> Calibrations: ...


@dataclass(frozen=True, slots=True)
class SimulatedStudy(Generic[C]):
    """One question from one source, answered by models on that source's pairs.

    `simulate` gives the rows of one trial for a seed; equal seeds give equal rows. `describe` gives facts found out once. `live` gives the
    rows of a trial that is prepared as `LIVE`, in the testbed that `open_live` opens with the calibrations that a run already has of the
    pair; `stretch` is the factor on seek distances there.
    """

    name: str
    source: str
    question: str
    trials: Callable[[Profile, Pair], tuple[Trial[C], ...]]
    simulate: Callable[[Trial[C], Pair, int], Iterator[Timing]]
    describe: Callable[[Profile, Pair], dict[str, Any]]
    live: Callable[[Trial[C], Any, int], Iterator[Timing]]
    open_live: Callable[..., AbstractContextManager[LiveTestbed]]
    stretch: Callable[[Profile], float]
    check: Callable[[pl.DataFrame], None] = field(default=no_check)


class ByModels:
    """Observes the trials of a simulated study on `pair`, by models or, where there is a `testbed`, live; `seed` is the run's."""

    settings: Final[dict[str, str]] = {}
    server_version: Final = ""
    datasets: "Final[tuple[DatasetLike, ...]]" = ()

    def __init__(
        self, study: SimulatedStudy[Any], pair: Pair, profile: Profile, seed: int, *, testbed: LiveTestbed | None, left: Sequence[Turn]
    ):
        self._study, self._pair, self._profile, self._seed, self._testbed = study, pair, profile, seed, testbed
        self._ahead = in_tasks(_simulated, [(study.simulate, turn.trial, pair, replicate_seed(seed, turn.replicate)) for turn in left])

    def observe(self, turn: Turn) -> list[Timing]:
        if self._testbed is None:
            return next(self._ahead)
        return list(self._study.live(turn.trial, self._testbed, replicate_seed(self._seed, turn.replicate)))

    def evidence(self, turn: Turn, timings: Sequence[Timing]) -> Evidence:  # noqa: ARG002 - tiers say how they are had, not if
        return Evidence.of({io.evidence for timing in timings for io in timing.tier_io})

    def facts(self, rows: pl.DataFrame, before: Mapping[str, Any] | None) -> dict[str, Any]:  # noqa: ARG002 - of an observer on a server
        return self._study.describe(self._profile, self._pair) if before is None else dict(before)


def simulate_on_pair(
    study: SimulatedStudy[Any], pair: Pair, inputs: "Inputs", record: "RunRecord", work: Path, *, replicate: int | None = None
) -> None:
    """Get what the run of `record` lacks of `study`, or of one `replicate`; `work`: for what is read live."""
    if pair.source != study.source:
        return
    replicates = inputs.profile.replicates_of(study.name) + record.replicates_added(study.name, pair.name)
    turns = in_testbed(interleave(study.trials(inputs.profile, pair), replicates=replicates, seed=inputs.seed), replicate)
    live = any(turn.trial.preparation == LIVE for turn in turns)

    @contextmanager
    def by_models(replicate: int, left: Sequence[Turn]) -> Iterator[ByModels]:  # noqa: ARG001 - what is read live has one testbed
        with _live_testbed(study, pair, inputs, record, work) if live and left else nullcontext() as testbed:
            yield ByModels(study, pair, inputs.profile, inputs.seed, testbed=testbed, left=left)

    with nullcontext() if live else processors():
        run_trials(study, pair, turns, record, by_models, how=LIVE if live else str(Evidence.SIMULATED))


def _simulated(simulate: Callable[[Trial[Any], Pair, int], Iterator[Timing]], trial: Trial[Any], pair: Pair, seed: int) -> list[Timing]:
    return list(simulate(trial, pair, seed))


@contextmanager
def _live_testbed(study: SimulatedStudy[Any], pair: Pair, inputs: "Inputs", record: "RunRecord", work: Path) -> Iterator[LiveTestbed]:
    with study.open_live(pair, record.calibrations, work=work, stretch=study.stretch(inputs.profile), seed=inputs.seed) as testbed:
        record.keep_calibrations(testbed.calibrations)
        yield testbed
    mounts.discard(work)
