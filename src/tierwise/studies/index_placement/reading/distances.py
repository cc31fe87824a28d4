"""How far apart the blocks lie that a query reads, from its recorded requests."""

from pathlib import Path

import polars as pl

from tierwise.timings.traces import TraceKey, read_trace


def mean_distances(run_folder: Path, key: TraceKey, step: int) -> dict[str, float]:
    """Relation -> mean distance, in its blocks, from one read to the next in query `step` of a trial; 1: each reads the next block.

    A relation with a single read has no distance. Empty where nothing was recorded.
    """
    trace = read_trace(run_folder, key)
    if trace is None:
        return {}
    reads = trace.filter(step=step, operation="read")
    distances = reads.select("relation", distance=pl.col("page").diff().over("relation").abs()).drop_nulls()
    return dict(distances.group_by("relation", maintain_order=True).mean().iter_rows())
