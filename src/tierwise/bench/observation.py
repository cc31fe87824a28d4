"""One trial observed: measured, its block sequence recorded once a run, and what lies on simulated tiers replayed."""

import random
from pathlib import Path

import polars as pl

from tierwise.bench.accounting import with_traced_times
from tierwise.bench.lab import Lab
from tierwise.bench.order import Turn
from tierwise.bench.recording import EmulatorLog, Recorder, Straced, with_host_time
from tierwise.bench.replaying import simulated
from tierwise.bench.study import Study
from tierwise.core.words import Substrate
from tierwise.recorders import strace
from tierwise.tiers.emulated import Emulated
from tierwise.timings.reads import write_reads
from tierwise.timings.schema import Timing
from tierwise.timings.traces import TraceKey, read_trace, write_trace
from tierwise.timings.transactions import write_transactions


def observe(study: Study, turn: Turn, lab: Lab, run_folder: Path) -> list[Timing]:
    """Measure the trial of `turn`; a trace that the run has already is not recorded again.

    On emulated tiers the trace is the emulator's log of this very execution. Else strace records an execution of its own, which
    is not scored, and the host's time comes from the scored one: what is left of a query's time when the server's wait for
    the storage is taken off. What strace saw of a relation on a real disk stands beside every repetition of the trial. Where a tier is
    simulated, the replayed trace gives the time. A study that keeps something else than traces is measured without them.

    Raises:
        MissingError: a tier is simulated, and strace is not there or not permitted.
    """
    lab.waiting = turn.trial.waited
    lab.origin_s = random.Random(f"{lab.seed}/{turn.block}/{turn.trial.key}").random()
    key = TraceKey(study.name, lab.pair.name, turn.trial.key)
    if study.keeps != "trace":
        recorder = Recorder()
        timings = _measured(study, turn, lab, recorder)
        if study.keeps == "transactions":
            write_transactions(run_folder, key, turn.block, recorder.transactions)
        else:
            write_reads(run_folder, key, turn.block, recorder.reads)
        return timings
    known = read_trace(run_folder, key)
    tiers = {name: lab.tiers[name] for name in sorted(turn.trial.tiers)}
    emulated = {name: tier for name, tier in tiers.items() if isinstance(tier, Emulated)}
    simulating = any(tier.substrate is Substrate.SIMULATED for tier in tiers.values())
    if known is None and emulated == tiers:
        log = EmulatorLog(emulated)
        timings = _measured(study, turn, lab, log)
        write_trace(run_folder, key, log.trace)
        return timings
    sequence = known
    obstacle = strace.obstacle() if known is None else None
    if known is None and (simulating or obstacle is None):
        aside = Straced(tiers)
        _measured(study, turn, lab, aside)
        sequence = aside.trace
    clock = Recorder()
    timings = _measured(study, turn, lab, clock)
    if sequence is None:
        return with_traced_times(timings, None, obstacle)
    queries = sequence.partition_by("step", maintain_order=True)
    timings = with_traced_times(timings, queries, None)
    if known is None:
        write_trace(run_folder, key, pl.concat(map(with_host_time, queries, clock.spans)))
    return simulated(timings, queries, clock.spans, lab, repetition=turn.block) if simulating else timings


def _measured(study: Study, turn: Turn, lab: Lab, recorder: Recorder) -> list[Timing]:
    lab.recorder = recorder
    return list(study.measure(turn.trial, lab))
