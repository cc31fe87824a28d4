"""Both of the survey's data sets in a real server: loaded from Parquet, with their keys and indexes, and the printed queries answered."""

from pathlib import Path

import polars as pl
import pytest

from tierwise.datasets import sky, survey
from tierwise.postgres.loading import copy_parquet
from tierwise.postgres.plans import planned
from tierwise.postgres.settings import Connection

FRACTION = 0.0002


@pytest.mark.parametrize("cluster", ["cluster18"], indirect=True)
def test_the_sky_is_loaded_and_answers_the_printed_queries(conn: Connection, tmp_path: Path) -> None:
    data = sky.acquire("synthetic", fraction=FRACTION, seed=1, folder=tmp_path)
    conn.execute(sky.PSC.ddl())
    assert copy_parquet(conn, data.parquet, sky.PSC.name, sky.PSC.columns) == data.rows
    for statement in sky.PSC.indexes().values():
        conn.execute(statement)
    conn.execute("ANALYZE twomass_psc")
    rows = pl.read_parquet(data.parquet)
    compared = rows.with_columns(pl.col(pl.Float32).cast(pl.Float64))  # the server compares a real with 15.6 as two doubles
    for name in sky.NAMES:
        clause = sky.load_queries().queries[name].printed
        found = conn.execute(f"SELECT count(*), sum(pts_key) FROM twomass_psc WHERE {clause.where}").fetchone()
        mine = pl.SQLContext(twomass_psc=compared).execute(clause.statement, eager=True)
        assert found == (mine.height, mine["pts_key"].cast(pl.Int64).sum() or None), name
    stored = conn.execute("SELECT ra, designation, j_m, date, h_snr FROM twomass_psc ORDER BY pts_key LIMIT 1").fetchone()
    first = rows.select("ra", "designation", "j_m", "date", "h_snr").row(0)
    assert stored is not None
    assert (stored[0], stored[1].rstrip(), stored[3]) == (first[0], first[1], first[3])
    assert stored[2] == pytest.approx(first[2], abs=1e-6)
    (width,) = conn.execute("SELECT 8192.0 * relpages / reltuples FROM pg_class WHERE relname = 'twomass_psc'").fetchone() or (0,)
    assert 290 < float(width) < 345, "README_dvd: some 152 GB for the whole catalog in PostgreSQL are 323 bytes a row, indexes included"


@pytest.mark.parametrize("cluster", ["cluster18"], indirect=True)
def test_the_survey_is_loaded_and_a_light_curve_is_found_by_its_keys(conn: Connection, tmp_path: Path) -> None:
    made = survey.acquire(fraction=0.003, seed=1, folder=tmp_path)
    for name, table in survey.load_tables().items():
        conn.execute(table.ddl())
        assert copy_parquet(conn, made[name].parquet, name.lower(), table.columns) == made[name].rows
        for statement in table.indexes().values():
            conn.execute(statement)
        conn.execute(f"ANALYZE {name}")
    (source,) = conn.execute("SELECT sourceID FROM Variability ORDER BY rnGoodObs DESC LIMIT 1").fetchone() or (0,)
    query = f"""
        SELECT m.mjdObs, d.aperMag3, d.aperMag3err FROM BestMatch b
        JOIN Detection d USING (multiframeID, extNum, seqNum) JOIN Multiframe m USING (multiframeID)
        WHERE b.sourceID = {source} AND m.filterID = 3 ORDER BY m.mjdObs"""
    curve = conn.execute(query).fetchall()
    (good,) = conn.execute(f"SELECT rnGoodObs FROM Variability WHERE sourceID = {source}").fetchone() or (0,)
    assert len(curve) == good > 50
    nodes = " ".join(planned(conn, query).labels)
    assert "bestmatch_pkey" in nodes
    assert "detection_pkey" in nodes
    widths = conn.execute("SELECT (SELECT avg(pg_column_size(d)) FROM detection d), (SELECT avg(pg_column_size(b)) FROM bestmatch b)")
    wide, narrow = widths.fetchone() or (0, 0)
    assert 640 < wide < 720, "151 columns of some 650 bytes"
    assert 54 < narrow < 70, "30 bytes in the archive; here also the row's header, and a tinyint is a smallint"
