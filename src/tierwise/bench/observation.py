"""Trials of a replicate observed on a server: measured, their page sequences recorded, and what lies on simulated tiers replayed."""

import random
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from tierwise.bench.accounting import with_traced_times
from tierwise.bench.order import Turn
from tierwise.bench.recording import EmulatorLog, Recorder, Straced, with_host_time
from tierwise.bench.replaying import predicted, simulated, traced
from tierwise.bench.study import Study
from tierwise.bench.testbed import DatasetLike, Testbed
from tierwise.core.vocabulary import Evidence
from tierwise.recorders import strace
from tierwise.tiers.emulated import Emulated
from tierwise.timings.reads import write_reads
from tierwise.timings.replicates import PREDICTIONS, joined
from tierwise.timings.schema import Timing
from tierwise.timings.traces import TrialKey, read_trace, write_trace
from tierwise.timings.transactions import write_transactions


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

        On emulated tiers the trace is the emulator's log of this very execution. Else strace records a separate execution, which
        is not scored, and the host's time comes from the scored one: what is left of a query's time when the server's wait for
        the storage is taken off. What strace saw of a relation on a real disk stands beside every repetition of the trial. Where a tier is
        simulated, the replayed trace gives the time. A study that keeps something else than traces is measured without them.
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
                write_transactions(self._run_folder, key, turn.replicate, observed.transactions)
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
