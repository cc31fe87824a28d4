"""What each query of the published protocols requested from the emulated tiers: as it was recorded, or as the same query was elsewhere.

Not every query of a run is recorded, or its record did not ship. Past the page cache a session asks for one page after another, in an order
that no device alters: then the requests of the same query, recorded where other tiers held its relations, are its own on those tiers.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import duckdb
import polars as pl

from tierwise.analysis import heat
from tierwise.analysis.claim_rows import PUBLISHED, VARIANT
from tierwise.core.vocabulary import IoMode

QUERIES: Final = f"""
select
    trial, step, any_value(io_mode) as io_mode, any_value(cell) as cell, any_value(cache) as cache, min(replicate) as replicate,
    arg_min(relation_io, replicate) as relation_io
from timings
where study = ? and pair = ? and device_s is distinct from 0 and coalesce(cell ->> '{VARIANT}', '{PUBLISHED}') = '{PUBLISHED}'
group by trial, step
order by trial, step
"""
"""The queries of a study that waited for a device, with their pages by relation in the first replicate."""
ALIKE: Final = 0.01
"""Share of the pages by which two executions of a query may differ, relation by relation: which page leaves a full cache may (assumed)."""


class RecordedQuery(NamedTuple):
    """A query that sent requests to emulated `tiers` (name -> as in the pair's file), and how far its seeks were stretched there.

    `lent`: the requests were recorded on other tiers.
    """

    study: str
    pair: str
    trial: str
    step: int
    io_mode: str
    cell: str
    cache: str
    query: heat.Recorded
    tiers: Mapping[str, Any]
    stretch: float
    lent: bool


def recorded_queries(connection: duckdb.DuckDBPyConnection, run_folder: Path) -> Iterator[RecordedQuery]:
    """Yield the queries of the published protocols whose requests to emulated tiers are known, study by study."""
    for study, pair in connection.execute("select distinct study, pair from timings order by all").fetchall():
        record = heat.record_of(connection, study, pair)
        if record is None or "traces" not in record.facts:
            continue
        tiers = record.pair.get("tiers") or {}
        rows = pl.DataFrame(connection.sql(QUERIES, params=[study, pair]).to_arrow_table()).rows(named=True)
        recorded = {
            (trial, query.step): query
            for trial in dict.fromkeys(row["trial"] for row in rows)
            for query in heat.recorded(run_folder, study, pair, trial) or ()
        }
        for row in rows:
            own = recorded.get((row["trial"], row["step"]))
            query = own or _lent(row, rows, recorded, tiers)
            if query is not None and all("device" in tiers.get(tier, {}) for tier in query.requests["tier"].unique()):
                named = (row["trial"], row["step"], row["io_mode"], row["cell"], row["cache"])
                yield RecordedQuery(study, pair, *named, query, tiers, record.stretch, lent=own is None)


def _lent(
    row: Mapping[str, Any],
    rows: list[dict[str, Any]],
    recorded: Mapping[tuple[str, int], heat.Recorded],
    tiers: Mapping[str, Any],
) -> heat.Recorded | None:
    if row["io_mode"] != IoMode.DIRECT:
        return None
    held = {io["relation"]: io["tier"] for io in row["relation_io"]}
    for other in rows:
        query = recorded.get((other["trial"], other["step"]))
        if query is None or not _same(row, other, tiers):
            continue
        relation = pl.col("relation").str.replace(heat.FORK.pattern, "")
        placed = query.requests.with_columns(tier=relation.replace_strict(held, default=None, return_dtype=pl.String))
        if placed["tier"].null_count() == 0:
            return heat.Recorded(row["step"], placed, query.tail_after)
    return None


def _same(row: Mapping[str, Any], other: Mapping[str, Any], tiers: Mapping[str, Any]) -> bool:
    """Whether two rows are of one query on other tiers: by their cells, and by the pages that each relation was requested."""
    if any(row[name] != other[name] for name in ("io_mode", "step", "cache", "replicate")) or _elsewhere(row, tiers) != _elsewhere(
        other, tiers
    ):
        return False
    ours, theirs = (_pages(one) for one in (row, other))
    differing = sum(abs(ours.get(name, 0) - theirs.get(name, 0)) for name in ours.keys() | theirs.keys())
    return differing <= ALIKE * sum(ours.values())


def _pages(row: Mapping[str, Any]) -> dict[str, int]:
    return {io["relation"]: io["reads"] for io in row["relation_io"]}


def _elsewhere(row: Mapping[str, Any], tiers: Mapping[str, Any]) -> dict[str, str]:
    return {name: word for name, word in json.loads(row["cell"]).items() if word not in tiers}
