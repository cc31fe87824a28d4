"""Names and colours of what the pgbench study compares, the rows that decide, and the gains that were simulated."""

from typing import Any, Final

import polars as pl

from tierwise.analysis.claim_rows import mode_of
from tierwise.analysis.statistics import enough, geometric_estimate
from tierwise.core.sql_files import named_statements
from tierwise.report import colours
from tierwise.report.run import Run
from tierwise.timings.replicates import replicates_of

STUDY: Final = "pgbench_placement"
SQL: Final = named_statements(__package__, "queries.sql")
PAIR: Final = "source-v"
PLACEMENTS: Final = {"all_hdd": "all on HDD", "index_ssd": "indexes on SSD", "table_ssd": "tables on SSD", "all_ssd": "all on SSD"}
COLOURS: Final = dict(zip(PLACEMENTS, colours.PLACEMENTS.values(), strict=True))


def decided(_: Run, __: str, rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(io_mode=str(mode_of(STUDY, rows["io_mode"].unique())))


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
