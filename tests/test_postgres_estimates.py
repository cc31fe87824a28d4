"""The planner's cost of an index scan, from rows and correlation, and the correlation from the published costs."""

import pytest

from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.postgres.plans import EFFECTIVE_CACHE_PAGES, IndexScanCost, column_statistics, estimates
from tierwise.postgres.settings import Connection

SOURCE_M = IndexScanCost(table_pages=1010 * MIB / PAGE_BYTES, index_pages=52 * MIB / PAGE_BYTES, tuples=2_458_285)
KEYS = ("1", "7", "93")
STATEMENTS = {key: f"SELECT count(*) FROM strewn WHERE key = {key}" for key in KEYS}


@pytest.fixture
def strewn(conn: Connection) -> Connection:
    conn.execute(
        """
        CREATE TABLE strewn AS SELECT CASE WHEN i % 3 = 0 THEN i / 1000 WHEN i % 3 = 1 THEN 7 ELSE (i * 7919::bigint % 90)::int END AS key,
            repeat('x', 300) AS rest FROM generate_series(1, 100000) AS i
        """
    )
    conn.execute("CREATE INDEX by_key ON strewn (key) WITH (deduplicate_items = off)")
    conn.execute("ANALYZE strewn")
    conn.execute("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off")
    return conn


@pytest.mark.parametrize("cache", ["4GB", "4MB"])  # all of the table, a seventh of it
def test_the_formula_gives_the_planners_own_cost_and_its_inverse_the_correlation(strewn: Connection, cache: str) -> None:
    strewn.execute(f"SET effective_cache_size = '{cache}'")
    pages: dict[str, int] = dict(strewn.execute("SELECT relname, relpages FROM pg_class WHERE relname IN ('strewn', 'by_key')").fetchall())
    cache_pages = EFFECTIVE_CACHE_PAGES if cache == "4GB" else 4 * MIB // PAGE_BYTES
    cost = IndexScanCost(pages["strewn"], pages["by_key"], 100_000, cache_pages)
    correlation = column_statistics(strewn, "strewn", "key")["correlation"]
    assert 0.1 < abs(correlation) < 0.9
    for reported in estimates(strewn, STATEMENTS).values():
        assert reported["scan"] == "Index Scan using by_key on strewn"
        assert cost.total(reported["rows"], correlation) == pytest.approx(reported["total_cost"], abs=1.0)  # the descent costs 0.4
        assert cost.correlation(reported["rows"], cost.total(reported["rows"], correlation)) == pytest.approx(abs(correlation))


def test_the_published_costs_imply_rows_in_the_order_of_states() -> None:
    florida, other = SOURCE_M.explained(12_800, 36_708.78), SOURCE_M.explained(11_686, 33_965.20)
    assert florida["correlation"] == pytest.approx(0.5086, abs=1e-3)
    assert other["correlation"] == pytest.approx(0.5015, abs=1e-3)
    small_cache = IndexScanCost(SOURCE_M.table_pages, SOURCE_M.index_pages, SOURCE_M.tuples, 128 * MIB / PAGE_BYTES)  # 8.3's default
    assert small_cache.explained(12_800, 36_708.78) == florida, "no page would be fetched twice"
    assert SOURCE_M.correlation(12_800, 50_000) is None
    assert SOURCE_M.correlation(12_800, 1_000) is None
