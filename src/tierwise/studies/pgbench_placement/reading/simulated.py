"""What was simulated on the pair of the source: gains at each point of a map, and at several scales of the data."""

from typing import Any, Final

import polars as pl

from tierwise.analysis.statistics import enough, geometric_estimate
from tierwise.report.run import Run
from tierwise.report.scaling_table import entries_of, ratios
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


def scales(run: Run, pair: str) -> pl.DataFrame:
    """Return the gains of indexes and of tables on SSD by scale and seed."""
    entries = entries_of(run, STUDY, pair, "tps")
    rows = [
        (placement, scale, float(entries[0]["published_scale"]), replicate, ratio)
        for placement in ("index_ssd", "table_ssd")
        for scale, by_replicate in ratios(entries, "tps", "scale", of=placement, over="all_hdd").items()
        for replicate, ratio in by_replicate.items()
    ]
    return pl.DataFrame(rows, schema=["placement", "scale", "published_scale", "replicate", "ratio"], orient="row")


def _row(point: dict[str, Any], columns: list[str]) -> dict[str, Any]:
    bases = point["tps"]["all_hdd"]
    seeds = replicates_of(point, len(bases))
    gains = {
        name: geometric_estimate({seed: one / base for seed, one, base in zip(seeds, rates, bases, strict=True)}).value
        for name, rates in point["tps"].items()
    }
    return {name: {**point, **gains}.get(name) for name in columns}
