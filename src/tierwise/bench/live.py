"""The runner of studies on a live server: one study on one pair, each replicate in its own testbed, resumable after any kill."""

import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from tierwise.bench.recording import EmulatorLog, Recorder, Straced, with_host_time, with_traced_times
from tierwise.bench.replaying import predicted, simulated, traced
from tierwise.bench.study import Study, Turn, in_real_time, in_testbed, interleave, replicate_seed
from tierwise.bench.testbed import DatasetLike, Testbed
from tierwise.bench.trial_loop import run_trials
from tierwise.core.pairs import DirectoryTier, Pair
from tierwise.core.session_group import session_group
from tierwise.core.vocabulary import Evidence
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.workspace import server_account
from tierwise.recorders import strace
from tierwise.tiers import reclaim as mounts
from tierwise.tiers.daemon import Daemon
from tierwise.tiers.directory import calibrate
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.open import open_tier
from tierwise.timings.reads import write_reads
from tierwise.timings.replicates import PREDICTIONS, joined
from tierwise.timings.schema import Timing
from tierwise.timings.trial_files import TRANSACTIONS, TrialKey, read_trace, write_trace


class OnServer:
    """Observes the trials of one replicate (`turns`) of `study` in `testbed`; the run keeps the traces of the first replicate alone."""

    def __init__(self, study: Study[Any, Any], testbed: Testbed, study_state: Any, turns: Sequence[Turn], run_folder: Path):
        self._study, self._testbed, self._study_state, self._turns, self._run_folder = study, testbed, study_state, turns, run_folder
        self._traces = run_folder if turns[0].testbed == 0 else testbed.work
        self._prepared: str | None = None

    @property
    def settings(self) -> dict[str, str]:
        return self._testbed.settings

    @property
    def server_version(self) -> str:
        return self._testbed.cluster.server_version

    @property
    def datasets(self) -> list[DatasetLike]:
        return list(self._testbed.datasets.values())

    def observe(self, turn: Turn) -> Sequence[Timing]:
        """Measure the trial of `turn`; a trace that is there already is not recorded again.

        On emulated tiers the trace is the emulator's log of this very execution. Else strace records a separate execution, which is not
        scored; the host's time is what the scored one did not wait for the storage. Where a tier is simulated, the replayed trace gives
        the time.
        """
        if turn.trial.preparation != self._prepared:
            self._study.prepare(turn.trial, self._testbed, self._study_state)
            self._prepared = turn.trial.preparation
        self._testbed.waiting = turn.trial.real_time
        self._testbed.origin_s = random.Random(f"{self._testbed.seed}/{turn.replicate}/{turn.trial.key}").random()
        measure = partial(self._study.measure, turn.trial, self._testbed, self._study_state)
        key = TrialKey(self._study.name, self._testbed.pair.name, turn.trial.key)
        if self._study.keeps != "trace":
            observed = measure(Recorder())
            if observed.transactions is not None:
                TRANSACTIONS.write(self._run_folder, key, observed.transactions, turn.replicate)
            if observed.reads is not None:
                write_reads(self._run_folder, key, turn.replicate, observed.reads)
            return observed.timings
        known = read_trace(self._traces, key)
        tiers = {name: self._testbed.tiers[name] for name in sorted(turn.trial.tiers)}
        emulated = {name: tier for name, tier in tiers.items() if isinstance(tier, Emulated)}
        simulating = any(tier.evidence is Evidence.SIMULATED for tier in tiers.values())
        if known is None and emulated == tiers:
            observed = measure(EmulatorLog(emulated))
            write_trace(self._traces, key, observed.trace)
            return observed.timings
        sequence = known
        obstacle = strace.obstacle() if known is None else None
        if known is None and (simulating or obstacle is None):
            sequence = measure(Straced(tiers)).trace
        observed = measure(Recorder())
        if sequence is None:
            return with_traced_times(observed.timings, None, obstacle)
        queries = sequence.partition_by("step", maintain_order=True)
        timings = with_traced_times(observed.timings, queries, None)
        if known is None:
            write_trace(self._traces, key, pl.concat(map(with_host_time, queries, observed.spans)))
        return simulated(timings, queries, observed.spans, self._testbed, repetition=turn.replicate) if simulating else timings

    def evidence(self, turn: Turn, timings: Sequence[Timing]) -> Evidence:  # noqa: ARG002 - what was not touched was counted as well
        return turn.trial.evidence(self._testbed.pair)

    def facts(self, rows: pl.DataFrame, before: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the study's own, of the data of the first replicate, and what the complete rows and the traces of all replicates tell."""
        trials = list({turn.trial.key: turn.trial for turn in self._turns if not turn.trial.real_time}.values())
        own = rows.filter(pair=self._testbed.pair.name)
        said = (
            {**self._study.describe(self._testbed, self._study_state), "seek_stretch": self._testbed.stretch} if before is None else before
        )
        predictions = predicted(self._study, trials, self._testbed, own.filter(replicate=self._turns[0].testbed), self._traces)
        recorded = {} if self._study.keeps != "trace" else traced(self._study, trials, self._testbed, self._run_folder)
        together = joined(said.get(PREDICTIONS, ()), predictions)
        return {**said, **self._study.summarise(own), **recorded, **({PREDICTIONS: together} if together else {})}


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
            testbed.group = None if inputs.needs_real_time else stack.enter_context(session_group())
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
        opened = open_testbed(study, pair, inputs, work / str(replicate), seed=replicate_seed(inputs.seed, replicate))
        with opened as (testbed, study_state):
            _calibrate(pair, testbed, record)
            yield OnServer(study, testbed, study_state, [turn for turn in turns if turn.testbed == replicate], record.folder)
        mounts.discard(work / str(replicate))  # before the next one's data are loaded

    run_trials(study, pair, turns, record, on_server, how=str(pair.evidence))
    if work.exists():
        mounts.discard(work)


def turns_of(study: "Study[Any, Any]", pair: Pair, inputs: "Inputs", replicates: int) -> list[Turn]:
    """Return every execution of `study` on `pair`: the first replicate also has one trial in real time, but not on a pair of today."""
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
    return pair.evidence is Evidence.EMULATED and not (inputs.needs_real_time and any(trial.real_time for trial in trials))


def _calibrate(pair: Pair, testbed: Testbed, record: "RunRecord") -> None:
    figures = {
        f"{pair.name}/{name}": calibrate(testbed.tiers[name].directory).model_dump(mode="json")
        for name, spec in pair.tiers.items()
        if isinstance(spec, DirectoryTier) and f"{pair.name}/{name}" not in record.calibrations
    }
    record.keep_calibrations(figures)
