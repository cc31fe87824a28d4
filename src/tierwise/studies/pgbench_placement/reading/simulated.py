"""What was simulated on the pair of the source: gains at each point of a map."""

from typing import Any, Final

import polars as pl

from tierwise.analysis.statistics import enough, geometric_estimate
from tierwise.report.run import Run
from tierwise.studies.pgbench_placement.reading.names import STUDY
from tierwise.timings.replicates import replicates_of

COORDINATES: Final = ("writes", "skew", "layout", "memory", "slowdown")
"""The coordinates by which a point of the map is found among measured windows."""
GAINS: Final = ("index_ssd", "table_ssd", "all_ssd", "hot_ssd", "heat", "dm_cache", "l2arc")
"""Placements by type and by use, and caches, whose gains a point may have."""


def points(run: Run, pair: str) -> pl.DataFrame:
    """Return a row for each point of the map with enough seeds: where it is, and the gain of each placement over everything on HDD."""
    record = run.record(STUDY, pair)
    known: list[dict[str, Any]] = (record.facts.get("flip_map") or []) if record else []
    schema = dict.fromkeys(("index_to_memory", *COORDINATES, *GAINS), pl.Float64) | {"layout": pl.String}
    rows = [_row(point, [*schema]) for point in known if all(enough(len(seeds)) for seeds in point["tps"].values())]
    return pl.DataFrame(rows, schema=schema)


def _row(point: dict[str, Any], columns: list[str]) -> dict[str, Any]:
    bases = point["tps"]["all_hdd"]
    seeds = replicates_of(point, len(bases))
    gains = {
        name: geometric_estimate({seed: one / base for seed, one, base in zip(seeds, rates, bases, strict=True)}).value
        for name, rates in point["tps"].items()
    }
    return {name: {**point, **gains}.get(name) for name in columns}
