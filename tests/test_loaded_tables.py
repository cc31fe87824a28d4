"""Data sets in a real server: loaded from Parquet, with their keys and indexes, sizes and order, and the printed queries answered."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from psycopg import sql

from tierwise.bench.loaded_tables import create_copy, mark_visible, take_statistics
from tierwise.core.data_sets import SYNTHETIC
from tierwise.core.units import MIB
from tierwise.datasets import census, sky, survey
from tierwise.datasets.dataset import Dataset
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.loading import copy_parquet
from tierwise.postgres.plans import labels, planned
from tierwise.postgres.settings import Connection, loading_settings
from tierwise.studies.index_placement.measuring.trials import use_copy


@dataclass(frozen=True)
class Drawn:
    """A table that is too large for ANALYZE to see all of it."""

    name: str = "Drawn"
    rows: int = 50_000

    @property
    def columns(self) -> list[str]:
        return ["number", "value"]

    def ddl(self) -> str:
        return "CREATE TABLE drawn (number int, value double precision)"

    def indexes(self) -> dict[str, str]:
        return {"drawn_number": "CREATE INDEX drawn_number ON drawn (number)"}


def known(connection: Connection, schema: str) -> list[tuple[object, ...]]:
    columns = "attname, n_distinct, correlation, most_common_vals::text, histogram_bounds::text"
    return connection.execute(
        sql.SQL(f"SELECT {columns} FROM pg_stats WHERE schemaname = %s AND tablename = 'drawn' ORDER BY attname"), [schema]
    ).fetchall()


def test_a_copy_takes_the_statistics_of_another(cluster18: Cluster) -> None:
    table = Drawn()
    cluster18.start(loading_settings())
    try:
        with cluster18.connect() as connection:
            for schema in ("one", "other"):
                connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
                connection.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(schema)))
                for command in (table.ddl(), *table.indexes().values()):
                    connection.execute(sql.SQL(command))
                connection.execute("SELECT setseed(0.5)")
                connection.execute(
                    "INSERT INTO drawn SELECT (1000 * random())::int, random() FROM generate_series(1, %s)".replace("%s", str(table.rows))
                )
                connection.execute("ANALYZE drawn")
            assert known(connection, "one") != known(connection, "other"), "ANALYZE draws a sample"
            take_statistics(connection, [table], "other", of="one")
            assert len(known(connection, "other")) == 2
            assert known(connection, "one") == known(connection, "other")
            connection.execute("DROP SCHEMA one, other CASCADE")
    finally:
        cluster18.stop()


CENSUS, SKY = 0.05, 0.0002  # fractions of the published sizes


@pytest.mark.parametrize("cluster", ["cluster18"], indirect=True)
def test_table_and_index_have_the_published_sizes_and_correlation(conn: Connection, tmp_path: Path) -> None:
    data = census.acquire("synthetic", fraction=CENSUS, seed=1, folder=tmp_path)
    conn.execute(census.ddl("census"))
    assert copy_parquet(conn, data.parquet, "census", list(census.TYPES)) == data.rows
    conn.execute("CREATE INDEX pob ON census (pob) WITH (deduplicate_items = off)")
    conn.execute("ANALYZE census")
    sizes: dict[str, float] = dict(conn.execute("SELECT relname, relpages * 8192.0 / %s FROM pg_class", [MIB]).fetchall())
    assert float(sizes["census"]) / CENSUS == pytest.approx(1010, rel=0.10)
    assert float(sizes["census_pkey"]) / CENSUS == pytest.approx(52, rel=0.10)
    assert float(sizes["pob"]) / CENSUS == pytest.approx(52, rel=0.10)
    (correlation,) = conn.execute("SELECT correlation FROM pg_stats WHERE tablename = 'census' AND attname = 'pob'").fetchone() or (0,)
    assert correlation == pytest.approx(0.5, abs=0.1)
    for state, code in census.STATES.items():
        (found,) = conn.execute("SELECT count(*) FROM census WHERE pob = %s", [code]).fetchone() or (0,)
        assert found == round(census.COUNTS[state] * CENSUS)


@pytest.mark.parametrize("cluster", ["cluster18"], indirect=True)
def test_the_sky_is_loaded_and_answers_the_printed_queries(conn: Connection, tmp_path: Path) -> None:
    data = sky.acquire("synthetic", fraction=SKY, seed=1, folder=tmp_path)
    conn.execute(sky.PSC.ddl())
    assert copy_parquet(conn, data.parquet, sky.PSC.name, sky.PSC.columns) == data.rows
    for statement in sky.PSC.indexes().values():
        conn.execute(statement)
    conn.execute("ANALYZE twomass_psc")
    rows = pl.read_parquet(data.parquet)
    compared = rows.with_columns(pl.col(pl.Float32).cast(pl.Float64))  # the server compares a real with 15.6 as two doubles
    for name in sky.QUERY_NAMES:
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
    nodes = " ".join(labels(planned(conn, query)))
    assert "bestmatch_pkey" in nodes
    assert "detection_pkey" in nodes
    widths = conn.execute("SELECT (SELECT avg(pg_column_size(d)) FROM detection d), (SELECT avg(pg_column_size(b)) FROM bestmatch b)")
    wide, narrow = widths.fetchone() or (0, 0)
    assert 640 < wide < 720, "151 columns of some 650 bytes"
    assert 54 < narrow < 70, "30 bytes in the archive; here also the row's header, and a tinyint is a smallint"


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return census.acquire(SYNTHETIC, fraction=0.004, seed=1, folder=tmp_path_factory.mktemp("census"))


@pytest.fixture
def clean(conn: Connection) -> Iterator[Connection]:
    yield conn
    for schema in ("on_pg_default", "on_pg_default_vacuumed"):
        conn.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))


def test_a_vacuumed_copy_differs_in_the_pages_that_all_see_and_in_nothing_else(clean: Connection, people: Dataset) -> None:
    heap, index = _pages(clean, people, "published")
    assert _pages(clean, people, "vacuumed") == (heap, index)
    assert _keys(clean, people, "vacuumed") == _keys(clean, people, "published")
    visible = clean.execute("SELECT relnamespace::regnamespace::text, relallvisible FROM pg_class WHERE relname = 'census'").fetchall()
    assert [(schema, count) for schema, count in visible if count] == [("on_pg_default_vacuumed", heap)]


def test_a_page_that_another_process_holds_is_marked_too(clean: Connection, cluster: Cluster, people: Dataset) -> None:
    use_copy(clean, "pg_default", "published", people)
    with cluster.connect() as other, ThreadPoolExecutor() as pool:
        with other.transaction():
            other.execute("DECLARE holding CURSOR FOR SELECT * FROM on_pg_default.census")
            other.execute("FETCH 1 FROM holding")
            marking = pool.submit(mark_visible, clean, sql.Identifier("census"))
            wait([marking], timeout=1.0)
        marking.result()
    assert clean.execute("SELECT relpages - relallvisible FROM pg_class WHERE oid = 'census'::regclass").fetchone() == (0,)


def test_a_copy_is_made_once(clean: Connection, people: Dataset) -> None:
    use_copy(clean, "pg_default", "vacuumed", people)
    made = clean.execute("SELECT pg_relation_filenode('census')").fetchone()
    use_copy(clean, "pg_default", "vacuumed", people)
    assert clean.execute("SELECT pg_relation_filenode('census')").fetchone() == made


def test_what_a_kill_left_half_made_is_made_anew(clean: Connection, people: Dataset) -> None:
    def killed(connection: Connection) -> None:
        connection.execute("CREATE TABLE census ()")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        create_copy(clean, "on_pg_default", "pg_default", ["census"], killed)
    assert clean.execute("SELECT to_regnamespace('on_pg_default')").fetchone() == (None,)
    use_copy(clean, "pg_default", "published", people)
    clean.execute("COMMENT ON SCHEMA on_pg_default IS NULL; DELETE FROM census")  # as if killed between the rows and the mark
    assert len(_keys(clean, people, "published")) == people.rows


def _pages(conn: Connection, people: Dataset, build: str) -> tuple[int, int]:
    use_copy(conn, "pg_default", build, people)
    filled = "count(DISTINCT (ctid::text::point)[0])"  # COPY leaves empty pages at the end, which VACUUM takes away
    return tuple(conn.execute(f"SELECT {filled}, pg_relation_size('pob') / 8192 FROM census").fetchall()[0])


def _keys(conn: Connection, people: Dataset, build: str) -> list[int]:
    use_copy(conn, "pg_default", build, people)
    return [key for (key,) in conn.execute("SELECT pob FROM census ORDER BY ctid")]
