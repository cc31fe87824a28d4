"""How much of a run's times is in seeks that were stretched: its recorded requests, replayed with seeks as the files lie.

A file of smaller data lies closer together than the published one, so that its seeks are stretched by the inverse of its share. This is
right for requests that are as many whatever the size, and so lie farther apart in a larger file. A dense skip (a page in fifty, in
the order of the file) is as long at any size: the seek as the file lies is right, and the stretched one overstates. What a query takes of
the disks lies between the two.
"""

from pathlib import Path
from typing import Final

import duckdb
import polars as pl

from tierwise.advisor.other_devices import device_s
from tierwise.analysis import heat
from tierwise.analysis.evidence import PUBLISHED, VARIANT

QUERIES: Final = f"""
select trial, step, any_value(cell) as cell from timings
where study = ? and pair = ? and cache = 'cold' and coalesce(cell ->> '{VARIANT}', '{PUBLISHED}') = '{PUBLISHED}'
group by trial, step order by trial, step
"""
SCHEMA: Final = {"study": pl.String, "cell": pl.String, "stretch": pl.Float64, "stretched_s": pl.Float64, "as_they_lie_s": pl.Float64}


def seek_bounds(connection: duckdb.DuckDBPyConnection, run_folder: Path) -> pl.DataFrame:
    """Return what the devices take of each recorded cold query of the published protocols, its seeks stretched and as the files lie.

    Columns: study, cell, stretch (a factor), stretched_s, as_they_lie_s. Queries that touched a real directory are left out.
    """
    found = []
    for study, pair in connection.execute("select distinct study, pair from timings where cache = 'cold' order by all").fetchall():
        record = heat.record_of(connection, study, pair)
        if record is None or "traces" not in record.facts:
            continue
        tiers = record.pair.get("tiers") or {}
        for trial, step, cell in connection.execute(QUERIES, [study, pair]).fetchall():
            query = next((one for one in heat.recorded(run_folder, study, pair, trial) or () if one.step == step), None)
            if query is None or any("device" not in tiers.get(tier, {}) for tier in query.requests["tier"].unique()):
                continue
            times_s = (device_s(query, tiers, stretch, {}) for stretch in (record.stretch, 1.0))
            found.append((study, cell, record.stretch, *times_s))
    return pl.DataFrame(found, schema=SCHEMA, orient="row")
