"""A valid run folder of the study `read_latency` with chosen histograms, fabricated for tests of the reading side only."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

import polars as pl

from rows import STARTED, save_run
from tierwise.core.vocabulary import Cache, Evidence, IoMode
from tierwise.timings.manifest import load_manifest
from tierwise.timings.reads import READS, write_reads
from tierwise.timings.schema import Origin, RelationIo, TierIo, Timing, frame
from tierwise.timings.trial_files import TrialKey

Histograms = Mapping[str, Mapping[int, int]]  # tablespace -> bucket (power of two of nanoseconds) -> reads

AS_PUBLISHED: Final[Histograms] = {  # about a tenth of what the latency study printed
    "cached": {14: 40, 15: 20},
    "ssd": {17: 1, 18: 300, 19: 20, 20: 60, 21: 3},
    "hdd": {18: 12, 20: 10, 21: 75, 22: 280, 23: 270, 24: 147},
    "aux": {20: 5, 21: 29, 22: 57, 23: 25, 24: 9},
}
RUN: Final = "20260102-030405-l4tency"
TRIAL: Final = "io_mode=buffered/load=mixed"


def latency_run(
    raw: Path,
    histograms: Histograms = AS_PUBLISHED,
    *,
    replicates: int = 5,
    flags: tuple[str, ...] = (),
    recorder: str = "bpftrace",
    variants: Mapping[str, Histograms] | None = None,
) -> Path:
    """Return a complete run whose windows have `histograms`, together as they stand; a read takes the middle of its bucket."""
    parts = []
    for replicate in range(replicates):
        held = of_replicate(histograms, replicate)
        timing = _timing(held, _singles(held, recorder), flags, recorder, replicate)
        if variants:
            replayed = {
                name: _reported(shifted := of_replicate(each, replicate), _singles(shifted, recorder)) for name, each in variants.items()
            }
            timing = replace(timing, proof={**timing.proof, "variants": replayed})
        origin = Origin(RUN, "read_latency", "source-l", Evidence.EMULATED, IoMode.BUFFERED, TRIAL, replicate, replicate)
        parts.append(frame(origin, [timing]))
    folder = save_run(raw, pl.concat(parts))
    manifest = load_manifest(folder)
    studies = tuple(study.model_copy(update={"name": "read_latency"}) for study in manifest.studies)
    manifest.model_copy(update={"studies": studies}).save(folder)
    for replicate in range(replicates):
        write_reads(folder, TrialKey("read_latency", "source-l", TRIAL), replicate, _singles(of_replicate(histograms, replicate), recorder))
    return folder


def of_replicate(histograms: Histograms, replicate: int) -> Histograms:
    """`histograms` with up to two reads of the fullest bucket in the next fullest, or back: five replicates differ, their sum does not."""
    return {space: _shifted(held, replicate % 5 - 2) for space, held in histograms.items()}


def _shifted(held: Mapping[int, int], reads: int) -> Mapping[int, int]:
    first, *others = sorted(held, key=lambda bucket: (-held[bucket], bucket))
    return {**held, first: held[first] - reads, others[0]: held[others[0]] + reads} if others else held


def _timing(histograms: Histograms, singles: pl.DataFrame, flags: tuple[str, ...], recorder: str, replicate: int) -> Timing:
    spaces = _reported(histograms, singles)
    reads = singles.height
    return Timing(
        cell={"io_mode": "buffered", "load": "mixed"},
        cache=Cache.NONE,
        operation="mixed load",
        started_at=STARTED + timedelta(seconds=10 * replicate),
        elapsed_s=5.0,
        result_rows=reads,
        relation_io=tuple(
            RelationIo(f"rows_{space}", "table", space, 0, sum(held.values()), 1.0, recorder) for space, held in histograms.items()
        ),
        tier_io=(
            TierIo(
                "hdd", Evidence.EMULATED, "sas-10k-raid10", reads=1, read_bytes=8192, writes=0, write_bytes=0, intended_s=1.0, actual_s=1.0
            ),
        ),
        proof={"recorder": recorder, "recorded": reads, "server": {"reads": reads, "latency_sum_s": 20.0}, "tablespaces": spaces},
        flags=flags,
    )


def _reported(histograms: Histograms, singles: pl.DataFrame) -> dict[str, dict[str, object]]:
    return {
        space: {
            "reads": sum(held.values()),
            "latency_sum_s": float(singles.filter(tablespace=space)["latency_s"].sum()),
            "buckets": {str(bucket): n for bucket, n in held.items()},
        }
        for space, held in histograms.items()
    }


def _singles(histograms: Histograms, recorder: str) -> pl.DataFrame:
    rows = [
        {
            "time_s": STARTED.timestamp() + number / 1000,
            "pid": 100,
            "tablespace": space,
            "relation": f"rows_{space}",
            "page": number,
            "size_bytes": 8192,
            "latency_s": 2.0 ** (bucket + 0.5) / 1e9,
            "recorder": recorder,
        }
        for space, held in histograms.items()
        for bucket, n in held.items()
        for number in range(n)
    ]
    return pl.DataFrame(rows, schema=READS)
