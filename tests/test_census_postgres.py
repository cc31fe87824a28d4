"""The synthetic census in a real server has the source's sizes and the order that its planner figures imply."""

from pathlib import Path

import pytest

from tierwise.core.units import MIB
from tierwise.datasets import census
from tierwise.postgres.loading import copy_parquet
from tierwise.postgres.settings import Connection

FRACTION = 0.05


@pytest.mark.parametrize("cluster", ["cluster18"], indirect=True)
def test_table_and_index_have_the_published_sizes_and_correlation(conn: Connection, tmp_path: Path) -> None:
    data = census.acquire("synthetic", fraction=FRACTION, seed=1, folder=tmp_path)
    conn.execute(census.ddl("census"))
    assert copy_parquet(conn, data.parquet, "census", [column.name for column in census.COLUMNS]) == data.rows
    conn.execute("CREATE INDEX pob ON census (pob) WITH (deduplicate_items = off)")
    conn.execute("ANALYZE census")
    sizes: dict[str, float] = dict(conn.execute("SELECT relname, relpages * 8192.0 / %s FROM pg_class", [MIB]).fetchall())
    assert float(sizes["census"]) / FRACTION == pytest.approx(1010, rel=0.10)
    assert float(sizes["census_pkey"]) / FRACTION == pytest.approx(52, rel=0.10)
    assert float(sizes["pob"]) / FRACTION == pytest.approx(52, rel=0.10)
    (correlation,) = conn.execute("SELECT correlation FROM pg_stats WHERE tablename = 'census' AND attname = 'pob'").fetchone() or (0,)
    assert correlation == pytest.approx(0.5, abs=0.1)
    for state, code in census.STATES.items():
        (found,) = conn.execute("SELECT count(*) FROM census WHERE pob = %s", [code]).fetchone() or (0,)
        assert found == round(census.COUNTS[state] * FRACTION)
