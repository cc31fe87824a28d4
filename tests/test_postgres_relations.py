"""What lies in the server: tables from Parquet, whole or not at all, relations that move, and the planner's cost of a scan."""

from pathlib import Path

import polars as pl
import psycopg
import pytest

from tierwise.core.errors import InputError
from tierwise.core.progress import Progress
from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.postgres.loading import BATCH_ROWS, copy_parquet
from tierwise.postgres.plans import IndexScanCost, correlation_of, estimates
from tierwise.postgres.relations import create_tablespace, find_relation, move
from tierwise.postgres.settings import Connection

NASTY = [
    "",
    None,
    "\\N",
    "\\.",
    "NULL",
    "tab\there",
    'quo"te',
    "line\nfeed",
    "carriage\rreturn",
    "back\\slash",
    " spaces ",
    "Ünïcödé €",
    ",",
]


def test_text_arrives_as_it_was(conn: Connection, tmp_path: Path) -> None:
    conn.execute("CREATE TABLE nasty (word text)")
    assert copy_parquet(conn, _parquet(tmp_path, word=NASTY), "nasty", ["word"]) == len(NASTY)
    assert [word for (word,) in conn.execute("SELECT word FROM nasty ORDER BY ctid")] == NASTY


def test_booleans_may_be_truths_or_numbers(conn: Connection, tmp_path: Path) -> None:
    conn.execute("CREATE TABLE census (truth boolean, number boolean, age integer)")
    parquet = _parquet(tmp_path, truth=[True, False, None], number=[1, 0, None], age=[17, None, -1])
    copy_parquet(conn, parquet, "census", ["truth", "number", "age"])
    assert conn.execute("SELECT * FROM census ORDER BY ctid").fetchall() == [(True, True, 17), (False, False, None), (None, None, -1)]


def test_rows_keep_their_order_over_many_batches(conn: Connection, tmp_path: Path) -> None:
    rows = 3 * BATCH_ROWS + 1
    conn.execute("CREATE TABLE census (caseid integer, mod integer)")
    parquet = _parquet(tmp_path, caseid=range(rows), mod=[row % 7 for row in range(rows)])
    progress = Progress("loading", rows)
    assert copy_parquet(conn, parquet, "census", ["mod", "caseid"], progress) == rows
    assert progress.done == rows
    disorder = "SELECT count(*) FROM (SELECT caseid - lag(caseid) OVER (ORDER BY ctid) AS step FROM census) AS steps WHERE step <> 1"
    assert conn.execute(disorder).fetchone() == (0,)
    assert conn.execute("SELECT count(*), count(*) FILTER (WHERE mod = caseid % 7) FROM census").fetchone() == (rows, rows)


def test_a_bad_row_leaves_what_was_there(conn: Connection, tmp_path: Path) -> None:
    conn.execute("CREATE TABLE census (age integer)")
    conn.execute("INSERT INTO census VALUES (99)")
    ages = [str(age) for age in range(2 * BATCH_ROWS)] + ["very old"]
    with pytest.raises(psycopg.errors.InvalidTextRepresentation, match=rf'"very old"(.|\n)*line {len(ages)}, column age'):
        copy_parquet(conn, _parquet(tmp_path, age=ages), "census", ["age"])
    assert conn.execute("SELECT age FROM census").fetchall() == [(99,)]


def test_table_and_index_move_between_tiers(conn: Connection, workspace: Path) -> None:
    tiers = workspace / f"tiers-{conn.info.server_version}"
    for tier in ("hdd", "ssd"):
        create_tablespace(conn, tier, tiers / tier / "relations")
    conn.execute("CREATE TABLE census AS SELECT i AS pob FROM generate_series(1, 1000) AS i")
    conn.execute("CREATE INDEX pob ON census (pob)")
    assert (_tier(conn, "census"), _tier(conn, "pob")) == ("pg_default", "pg_default")

    move(conn, "census", "hdd")
    move(conn, "pob", "ssd")
    assert (_tier(conn, "census"), _tier(conn, "pob")) == ("hdd", "ssd")
    assert _file(conn, "census").is_relative_to(tiers / "hdd")
    assert _file(conn, "pob").is_relative_to(tiers / "ssd")
    assert conn.execute("SELECT count(*) FROM census WHERE pob > 0").fetchone() == (1000,)

    before = _file(conn, "census")
    move(conn, "census", "hdd")
    assert _file(conn, "census") == before
    move(conn, "census", "pg_default")
    assert _tier(conn, "census") == "pg_default"


def test_a_wrong_name_is_reported(conn: Connection) -> None:
    conn.execute("CREATE TABLE census (pob integer)")
    conn.execute("CREATE VIEW seen AS SELECT 1 AS one")
    for name in ("nowhere", "seen", "Census"):
        with pytest.raises(InputError, match=f"relation is '{name}': must be a table or an index of this database"):
            find_relation(conn, name)
    with pytest.raises(psycopg.errors.UndefinedObject, match='tablespace "tape" does not exist'):
        move(conn, "census", "tape")


def _tier(conn: Connection, relation: str) -> str:
    return find_relation(conn, relation).tablespace


def _parquet(folder: Path, **columns: object) -> Path:
    path = folder / "rows.parquet"
    pl.DataFrame(columns).write_parquet(path)
    return path


def _file(conn: Connection, relation: str) -> Path:
    ((folder, file),) = conn.execute("SELECT current_setting('data_directory'), pg_relation_filepath(%s)", [relation]).fetchall()
    return Path(folder, file).resolve()


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


def test_the_formula_gives_the_planners_own_cost_and_its_inverse_the_correlation(strewn: Connection) -> None:
    strewn.execute("SET effective_cache_size = '4GB'")
    pages: dict[str, int] = dict(strewn.execute("SELECT relname, relpages FROM pg_class WHERE relname IN ('strewn', 'by_key')").fetchall())
    cost = IndexScanCost(pages["strewn"], pages["by_key"], 100_000)
    correlation = correlation_of(strewn, "strewn", "key")
    assert 0.1 < abs(correlation) < 0.9
    for reported in estimates(strewn, STATEMENTS).values():
        assert reported["scan"] == "Index Scan using by_key on strewn"
        uncorrelated, correlated = cost.bounds(reported["rows"])
        total = uncorrelated + correlation**2 * (correlated - uncorrelated)
        assert total == pytest.approx(reported["total_cost"], abs=1.0)  # the descent costs 0.4
        assert cost.correlation(reported["rows"], total) == pytest.approx(abs(correlation))


def test_the_published_costs_imply_rows_in_the_order_of_states() -> None:
    florida, other = SOURCE_M.explained(12_800, 36_708.78), SOURCE_M.explained(11_686, 33_965.20)
    assert florida["correlation"] == pytest.approx(0.5086, abs=1e-3)
    assert other["correlation"] == pytest.approx(0.5015, abs=1e-3)
    assert SOURCE_M.correlation(12_800, 50_000) is None
    assert SOURCE_M.correlation(12_800, 1_000) is None
