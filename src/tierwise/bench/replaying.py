"""Recorded queries replayed through the device models of a pair: in place of a time that cannot be measured, or beside one that was."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import polars as pl

from tierwise.bench.recording import REPLAYED, Span, by_relation, with_host_time
from tierwise.bench.study import Cell, Study, Trial
from tierwise.bench.testbed import Testbed
from tierwise.core.pairs import Pair
from tierwise.core.units import PAGE_BYTES
from tierwise.core.vocabulary import Cache, Evidence
from tierwise.recorders import strace
from tierwise.simulate.replay import EXTENT_BYTES, Access, DeviceModel, Operation, Replayed, Trace, lay_out_tiers, replay
from tierwise.tiers.open import device_model
from tierwise.timings.replicates import Facts
from tierwise.timings.schema import TierIo, Timing
from tierwise.timings.trial_files import END, TrialKey, read_trace

OTHER_SEQUENCE: Final = "sequence"  # flag of a row whose scored execution read other pages than the recorded one
ALIKE: Final = 0.01  # share of the reads by which they may differ: which page leaves a full cache can depend on a catalogue's (assumed)
REPLAYS: Final = 2
"""How often each execution is replayed, from other places of the platters; the mean is reported, because their positions are not known."""


@dataclass(frozen=True, slots=True)
class Modelled:
    """What the models of a testbed's tiers are made from, without the testbed: tasks in other processes take it along."""

    pair: Pair
    stretch: float
    seed: int


def models(
    testbed: Testbed | Modelled, *, seed: int, slowdown: float = 1.0, erasing: bool = False, stretch: float | None = None
) -> dict[str, DeviceModel]:
    """Return a new device for each tier that has one (`device_model`); with the testbed's seed, the one that is emulated."""
    factor, specs = testbed.stretch if stretch is None else stretch, testbed.pair.tiers.items()
    built = {name: device_model(spec, stretch=factor, seed=seed, slowdown=slowdown, erasing=erasing) for name, spec in specs}
    return {name: model for name, model in built.items() if model is not None}


def trace_of(query: pl.DataFrame) -> Trace:
    *requests, end = query.rows(named=True)
    accesses = [
        Access(row["relation"], row["page"], row["size_bytes"], Operation[row["operation"].upper()], row["think_s"], row["after"])
        for row in requests
    ]
    return Trace(accesses, end["think_s"], end["after"])


def placed(trace: pl.DataFrame) -> dict[str, str]:
    return dict(trace.filter(pl.col("operation") != END).select("relation", "tier").unique().rows())


def addresses(trace: pl.DataFrame, placement: Mapping[str, str]) -> dict[str, list[int]]:
    """Return where each relation's extents lie under `placement`: as recorded there, else one after the other by the sizes in `trace`."""
    sizes = trace.drop_nulls("relation").group_by("relation").agg(pl.col("relation_pages").max() * PAGE_BYTES)
    laid = lay_out_tiers(dict(sizes.rows()), placement)
    known = trace.drop_nulls("address_bytes").filter(pl.col("operation") != "flush").select("relation", "tier", "page", "address_bytes")
    for relation, tier, page, address in known.rows():
        if placement[relation] == tier:
            extent, rest = divmod(page * PAGE_BYTES, EXTENT_BYTES)
            laid[relation][extent] = address - rest
    return laid


def simulated(
    timings: Sequence[Timing], queries: Sequence[pl.DataFrame], spans: Sequence[Span], testbed: Testbed, *, repetition: int
) -> list[Timing]:
    """Return `timings` of one trial with the times of its recorded `queries` on the simulated tiers, one after the other; a real disk's
    share of the wait stays in the host's time. `repetition` (a replicate) decides where platters stand.
    """
    tiers = [name for name, tier in testbed.tiers.items() if tier.evidence is Evidence.SIMULATED]
    parts = [_part_on(query, tiers, span) for query, span in zip(queries, spans, strict=True)]
    placement = placed(pl.concat(parts))
    laid = addresses(pl.concat(parts), placement)
    seed = random.Random(f"{testbed.seed}/{repetition}").randrange(1 << 32)
    devices = {tier: model for tier, model in models(testbed, seed=seed).items() if tier in tiers}
    clock_s, retimed = 0.0, []
    for timing, query, part, span in zip(timings, queries, parts, spans, strict=True):
        found = replay(trace_of(part), placement, devices, laid, started_s=clock_s)
        clock_s += found.elapsed_s
        retimed.append(_retimed(timing, query, part, span, found))
    return retimed


def _part_on(query: pl.DataFrame, tiers: Sequence[str], span: Span) -> pl.DataFrame:
    part = query.filter(pl.col("tier").is_in(list(tiers)) | (pl.col("operation") == END))
    number = pl.int_range(pl.len(), dtype=pl.Int32) - 1
    share = (len(part) - 1) / max(1, len(query) - 1)
    chained = part.with_columns(after=pl.when(number >= 0).then(number))
    return with_host_time(chained, span._replace(storage_s=span.storage_s * share))


def _retimed(timing: Timing, query: pl.DataFrame, part: pl.DataFrame, span: Span, found: Replayed) -> Timing:
    replicates = query.select(pl.when(operation="read").then(pl.col("size_bytes") // PAGE_BYTES).otherwise(0)).to_series()
    counted = by_relation(query, replicates[:-1])  # a request may be for several
    latencies_s = by_relation(part, found.latencies_s)
    differing = sum(abs(io.reads - counted.get(io.relation, 0)) for io in timing.relation_io)
    same = differing <= ALIKE * sum(io.reads for io in timing.relation_io)
    return replace(
        timing,
        elapsed_s=found.elapsed_s,
        relation_io=tuple(
            replace(io, io_s=latencies_s.get(io.relation, 0.0), io_basis=REPLAYED) if io.tier in found.tiers else io
            for io in timing.relation_io
        ),
        tier_io=tuple(_tier_io(io, found) for io in timing.tier_io),
        proof={**timing.proof, "replayed": {"measured_elapsed_s": span.elapsed_s, "measured_storage_s": span.storage_s}},
        flags=timing.flags if same else (*timing.flags, OTHER_SEQUENCE),
    )


def _tier_io(io: TierIo, found: Replayed) -> TierIo:
    use = found.tiers.get(io.tier)
    if use is None:
        return io
    counts = asdict(use)
    service_s = counts.pop("service_s")
    return replace(io, **counts, intended_s=service_s, actual_s=service_s)


def traced(study: Study[Any, Any], trials: Sequence[Trial[Cell]], testbed: Testbed, run_folder: Path) -> Facts:
    """Return what the manifest says of the traces that a run keeps: how many trials have one, and why others have none."""
    recorded = sum(read_trace(run_folder, TrialKey(study.name, testbed.pair.name, trial.key)) is not None for trial in trials)
    missing = len(trials) - recorded
    return {"traces": {"recorded": recorded, "missing": missing, "why": strace.obstacle() if missing else None}}


def predicted(study: Study[Any, Any], trials: Sequence[Trial[Cell]], testbed: Testbed, rows: pl.DataFrame, traces: Path) -> list[Facts]:
    """Return the times that the traces of a replicate in `traces` predict of its cold queries, where `study` has placements."""
    if study.placement is None or testbed.pair.evidence is not Evidence.EMULATED:
        return []
    return [found for trial in trials for found in _predict(study, trial, testbed, rows, traces)]


def _predict(study: Study[Any, Any], trial: Trial[Cell], testbed: Testbed, rows: pl.DataFrame, traces: Path) -> list[Facts]:
    assert study.placement is not None
    placement = study.placement(trial)
    if placement is None:
        return []
    trace, own = (read_trace(traces, TrialKey(study.name, testbed.pair.name, key)) for key in (placement.reference, trial.key))
    if trace is None or own is None:
        return []
    where = {relation: placement.tiers.get(relation, tier) for relation, tier in placed(trace).items()}
    laid = addresses(own, where)  # of the predicted placement itself only its layout goes in
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
    """Return `query` with the host's time of each execution in `rows`, spread evenly; requests that overlap keep their recorded times."""
    number = pl.int_range(pl.len(), dtype=pl.Int32)
    if not query.select((pl.col("after").fill_null(-1) == number - 1).all()).item():
        return dict.fromkeys(rows["replicate"], query)
    model_s = rows["tier_io"].list.eval(pl.element().struct.field("intended_s")).list.sum()
    hosts_s = (rows["elapsed_s"] - model_s) / len(query)
    return {replicate: query.with_columns(think_s=pl.lit(host_s)) for replicate, host_s in zip(rows["replicate"], hosts_s, strict=True)}
