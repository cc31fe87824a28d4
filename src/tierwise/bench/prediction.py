"""Times of every placement predicted from the recorded trace of one, replicate by replicate, to be held against the emulated ones."""

import random
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import polars as pl

from tierwise.bench.replaying import addresses, models, placed, trace_of
from tierwise.bench.study import Cell, Study, Trial
from tierwise.bench.testbed import Testbed
from tierwise.core.vocabulary import Cache, Evidence
from tierwise.recorders import strace
from tierwise.simulate.replay import replay
from tierwise.timings.replicates import Facts
from tierwise.timings.traces import TrialKey, read_trace

REPLAYS: Final = 2
"""How often each execution is replayed, from other places of the platters; the mean is reported, because their positions are not known."""


def traced(study: Study[Any, Any], trials: Sequence[Trial[Cell]], testbed: Testbed, run_folder: Path) -> Facts:
    """Return what the manifest says of the traces that a run keeps: how many trials have one, and why others have none."""
    recorded = sum(read_trace(run_folder, TrialKey(study.name, testbed.pair.name, trial.key)) is not None for trial in trials)
    missing = len(trials) - recorded
    return {"traces": {"recorded": recorded, "missing": missing, "why": strace.obstacle() if missing else None}}


def predicted(study: Study[Any, Any], trials: Sequence[Trial[Cell]], testbed: Testbed, rows: pl.DataFrame, traces: Path) -> list[Facts]:
    """Return the times that the traces of a replicate, which lie in `traces`, predict of its cold queries, where `study` has placements.

    `rows`: the raw rows of the study on the testbed's pair in that replicate.
    """
    if study.placement is None or testbed.pair.evidence is not Evidence.EMULATED:
        return []
    return [found for trial in trials for found in _predict(study, trial, testbed, rows, traces)]


def _predict(study: Study[Any, Any], trial: Trial[Cell], testbed: Testbed, rows: pl.DataFrame, traces: Path) -> list[Facts]:
    """Return the times of each cold query of `trial` that its reference, if it has one, predicts: its pages, and the host's times.

    Of the predicted placement itself only its layout goes in: which address each extent of a relation was given. Empty for a run
    that was begun before there were traces.
    """
    assert study.placement is not None
    placement = study.placement(trial)
    if placement is None:
        return []
    trace, own = (read_trace(traces, TrialKey(study.name, testbed.pair.name, key)) for key in (placement.reference, trial.key))
    if trace is None or own is None:
        return []
    where = {relation: placement.tiers.get(relation, tier) for relation, tier in placed(trace).items()}
    laid = addresses(own, where)
    found = []
    for query in trace.filter(cache=str(Cache.COLD)).partition_by("step", maintain_order=True):
        scored = rows.filter(pl.col("flags").list.len() == 0, trial=placement.reference, step=query["step"][0])
        replays = {}
        for replicate, execution in _executions(query, scored).items():
            platters = random.Random(replicate)  # where they stand when the query begins
            replays[replicate] = [
                replay(trace_of(execution), where, models(testbed, seed=testbed.seed), laid, started_s=platters.random())
                for _ in range(REPLAYS)
            ]
        found.append(
            {
                "trial": trial.key,
                "reference": placement.reference,
                "step": query["step"][0],
                "evidence": str(Evidence.SIMULATED),
                "requests": len(query) - 1,
                "replicates": list(replays),
                "predicted_s": [fmean(one.elapsed_s for one in again) for again in replays.values()],
                "devices_s": [fmean(sum(one.latencies_s) for one in again) for again in replays.values()],  # of the requests alone
            }
        )
    return found


def _executions(query: pl.DataFrame, rows: pl.DataFrame) -> dict[int, pl.DataFrame]:
    """Return the recorded `query` with the host's time of each replicate's execution in `rows`, by replicate.

    That is what is left of the elapsed time when the model's times are taken off: the path of the requests
    belongs to it. It is spread evenly. Requests that overlap (the kernel's read-ahead) hide the host's time, so such a query has
    that of its one recorded execution.
    """
    number = pl.int_range(pl.len(), dtype=pl.Int32)
    if not query.select((pl.col("after").fill_null(-1) == number - 1).all()).item():
        return dict.fromkeys(rows["replicate"], query)
    model_s = rows["tier_io"].list.eval(pl.element().struct.field("intended_s")).list.sum()
    hosts_s = (rows["elapsed_s"] - model_s) / len(query)
    return {replicate: query.with_columns(think_s=pl.lit(host_s)) for replicate, host_s in zip(rows["replicate"], hosts_s, strict=True)}
