"""The runner of studies on a live server: one study on one pair, each replicate in a testbed of its own, resumable after any kill."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tierwise.bench.observation import OnServer
from tierwise.bench.order import Turn, in_real_time, in_testbed, interleave, replicate_seed
from tierwise.bench.testbed import Testbed
from tierwise.bench.trial_loop import run_trials
from tierwise.core.pairs import DirectoryTier, Pair
from tierwise.core.session_group import session_group
from tierwise.core.vocabulary import Evidence
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.workspace import server_account
from tierwise.tiers import reclaim as mounts
from tierwise.tiers.daemon import Daemon
from tierwise.tiers.directory import calibrate
from tierwise.tiers.open import open_tier

if TYPE_CHECKING:
    from tierwise.bench.inputs import Inputs
    from tierwise.bench.run_record import RunRecord
    from tierwise.bench.study import C, Study, StudyState, Trial


@contextmanager
def open_testbed(
    study: "Study[C, StudyState]", pair: Pair, inputs: "Inputs", work: Path, *, seed: int
) -> "Iterator[tuple[Testbed, StudyState]]":
    """Open a testbed on `pair` with what `study` keeps in mind there. At the end only the data stay, for a resumed run."""
    account = server_account()
    work.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(work / "cluster", find_binaries(), account)
    testbed = Testbed(inputs.profile, pair, seed, work, cluster, sources=inputs.sources)
    with ExitStack() as stack:
        makers = stack.enter_context(ThreadPoolExecutor(max_workers=1))  # to copy a thousand files is to wait for the disk
        made = None if cluster.exists else makers.submit(testbed.make_cluster, cluster)
        study_state = study.begin(testbed)
        testbed.stretch = 1.0 / study.published_share(testbed, study_state)
        if pair.evidence is Evidence.EMULATED:
            testbed.daemon = Daemon(work / "daemon")
            testbed.group = stack.enter_context(session_group()) if inputs.counting.several else None
        owner = (account.uid, account.gid)
        for name, spec in pair.tiers.items():
            tier = open_tier(name, spec, work=work / name, stretch=testbed.stretch, seed=seed, owner=owner, daemon=testbed.daemon)
            stack.callback(tier.stop)
            tier.start()
            testbed.tiers[name] = tier
        stack.callback(cluster.stop)
        if made is not None:
            made.result()
        yield testbed, study_state


def measure_on_pair(
    study: "Study[Any, Any]", pair: Pair, inputs: "Inputs", record: "RunRecord", work: Path, *, replicate: int | None = None
) -> None:
    """Measure what the run of `record` lacks of `study` on `pair`, or of one `replicate`, with its cluster and tiers in `work`."""
    turns = turns_of(study, pair, inputs, inputs.profile.replicates_of(study.name) + record.replicates_added(study.name, pair.name))
    turns = in_testbed(turns, replicate)

    @contextmanager
    def on_server(replicate: int, left: Sequence[Turn]) -> Iterator[OnServer]:  # noqa: ARG001 - opened for its facts as well
        with open_testbed(study, pair, inputs, work / str(replicate), seed=replicate_seed(inputs.seed, replicate)) as (
            testbed,
            study_state,
        ):
            _calibrate(pair, testbed, record)
            yield OnServer(study, testbed, study_state, [turn for turn in turns if turn.testbed == replicate], record.folder)
        mounts.discard(work / str(replicate))  # before the next one's data are loaded

    run_trials(study, pair, turns, record, on_server, how=str(pair.evidence))
    if work.exists():
        mounts.discard(work)


def turns_of(study: "Study[Any, Any]", pair: Pair, inputs: "Inputs", replicates: int) -> list[Turn]:
    """Return every execution that a run of `inputs` has of `study` on `pair`. Its first replicate also has one trial in real time, except
    on a pair of today, whose few trials have one draw of data.
    """
    trials = study.trials(inputs.profile, pair)
    virtual = is_virtual(trials, pair, inputs)
    trials = tuple(trial for trial in trials if virtual or not trial.real_time)
    is_today = pair.name in inputs.profile.today
    trials = tuple(replace(trial, replicated=False) for trial in trials) if is_today else trials
    turns = interleave(trials, replicates=replicates, seed=inputs.seed)
    if virtual and not is_today and not any(trial.real_time for trial in trials):
        sample = in_real_time(trials, seed=inputs.seed)  # by name, so that the last is on SSD: on slowed disks it would take longest
        turns += interleave(sample[-1:], replicates=1, seed=inputs.seed)
    ordered = sorted(turns, key=lambda turn: turn.testbed)
    return [replace(turn, sequence=number) for number, turn in enumerate(ordered)]


def is_virtual(trials: "Sequence[Trial[Any]]", pair: Pair, inputs: "Inputs") -> bool:
    return pair.evidence is Evidence.EMULATED and (inputs.counting.several or not any(trial.real_time for trial in trials))


def _calibrate(pair: Pair, testbed: Testbed, record: "RunRecord") -> None:
    figures = {
        f"{pair.name}/{name}": calibrate(testbed.tiers[name].directory).model_dump(mode="json")
        for name, spec in pair.tiers.items()
        if isinstance(spec, DirectoryTier) and f"{pair.name}/{name}" not in record.calibrations
    }
    record.keep_calibrations(figures)
