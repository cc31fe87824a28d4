"""Counts that are exact, plans that are asserted, and a cold start that is proved or refused."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import empty
from tierwise.core.errors import EvidenceError, InputError
from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.core.vocabulary import IoMode, RelationClass
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.cold_proof import (
    ColdEvidence,
    distinct_heap_pages,
    expected_pages,
    index_pages,
    relation_files,
    visibility_pages,
    warm_catalogues,
    warm_heap,
)
from tierwise.postgres.page_counts import PageCount, PageCounter
from tierwise.postgres.plans import assert_plan, planned
from tierwise.postgres.residency import direct_io_probe, evict, residency
from tierwise.postgres.settings import Connection, applied, loading_settings, measuring_settings, one_value

RELATIONS = ["census", "pob"]
STATES = {"FL": 12, "PR": 72, "NV": 32}
SHARED_BUFFERS_BYTES = 128 * MIB  # more than four tables, so that a sequential scan fills them and not its ring alone
PLAN = ["Index Scan using pob on census"]
AS_PUBLISHED = "SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SET enable_seqscan = off"


def query(state: str) -> str:
    return f"SELECT * FROM census WHERE pob = {STATES[state]}"


@pytest.fixture(scope="module", params=["cluster18", "cluster15"])
def census(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    cluster: Cluster = request.getfixturevalue(request.param)
    cluster.start(loading_settings())
    with cluster.connect() as conn:
        conn.execute(
            """
            CREATE TABLE census AS
            SELECT i AS caseid, CASE WHEN i % 12 = 0 THEN i / 1000 ELSE (i * 7919::bigint % 90)::int END AS pob, repeat('x', 200) AS rest
            FROM generate_series(1, 100000) AS i
            """
        )
        conn.execute("CREATE INDEX pob ON census (pob) WITH (deduplicate_items = off)")
        conn.execute("CREATE INDEX other ON census (caseid)")
        conn.execute("CREATE EXTENSION pg_buffercache")
        conn.execute("CREATE EXTENSION pageinspect")
        conn.execute("ANALYZE census")
        conn.execute("SELECT count(*) FROM census")
        conn.execute("CHECKPOINT")
    cluster.stop()
    yield cluster
    cluster.stop()
    empty(cluster)


@pytest.fixture
def session(census: Cluster) -> Iterator[Connection]:
    census.start(measuring_settings(census.binaries, io_mode=IoMode.BUFFERED, shared_buffers_bytes=SHARED_BUFFERS_BYTES))
    with census.connect() as conn:
        conn.execute(AS_PUBLISHED)
        yield conn
    census.stop()


def test_one_statements_blocks_are_counted_exactly(session: Connection) -> None:
    pages = one_value(session, f"SELECT pg_relation_size('census') / {PAGE_BYTES}")
    session.execute("SET enable_seqscan = on")
    for hits, reads in ((0, pages), (pages, 0)):
        with PageCounter(session, ["census", "other"]) as counter:
            session.execute("SELECT count(rest) FROM census")
        assert counter.pages["census"] == PageCount("census", RelationClass.TABLE, "pg_default", hits=hits, reads=reads)
        assert counter.pages["census"].accesses == pages


def test_the_counter_wants_autocommit_and_a_relation(census: Cluster, session: Connection) -> None:
    with pytest.raises(InputError, match="relation is 'nowhere'"):
        PageCounter(session, ["nowhere"])
    with census.connect(autocommit=False) as transaction, pytest.raises(ValueError, match="autocommit"):
        PageCounter(transaction, RELATIONS)


def test_the_plan_is_reported_and_asserted(session: Connection) -> None:
    plan = planned(session, query("FL"))
    assert_plan(plan, PLAN)
    assert 200 < plan[0].rows < 5000  # as ANALYZE samples
    with applied(session, {"enable_bitmapscan": "on", "enable_indexscan": "off"}):
        other = planned(session, query("FL"))
    with pytest.raises(EvidenceError, match="found Bitmap Heap Scan on census > Bitmap Index Scan on pob"):
        assert_plan(other, PLAN)


@pytest.mark.parametrize("state", STATES)
def test_a_cold_query_misses_the_pages_that_its_plan_touches(census: Cluster, state: str) -> None:
    evidence = _measured_cold(census, state)
    assert evidence.expected["pob"] >= 4  # metapage, root and leaves
    evidence.require()


def test_the_expected_pages_are_those_that_lie_in_shared_buffers_afterwards(session: Connection) -> None:
    """An oracle of its own: the buffers that a cold query filled, and the leaves that hold the key."""
    warm_catalogues(session, query("FL"))
    session.execute(query("FL"))
    cached = {name: _buffered(session, name) for name in RELATIONS}
    expected = expected_pages(session, "census", "pob", f"pob = {STATES['FL']}")
    assert {name: len(blocks) for name, blocks in cached.items()} == expected

    key = STATES["FL"].to_bytes(8, "little").hex(" ")
    leaves = session.execute(
        """
        SELECT DISTINCT block FROM generate_series(1, pg_relation_size('pob') / 8192 - 1) AS block,
            bt_page_stats('pob', block::int) AS page, bt_page_items('pob', block::int) AS item
        WHERE page.type = 'l' AND item.data = %s AND item.itemoffset >= CASE page.btpo_next WHEN 0 THEN 1 ELSE 2 END
        """,
        [key],
    )
    path = {0, one_value(session, "SELECT root FROM bt_metap('pob')")}
    assert path | {block for (block,) in leaves} <= cached["pob"]


def test_warming_reads_every_catalogue_page_and_no_page_of_a_relation(session: Connection) -> None:
    with PageCounter(session, [*RELATIONS, "other"]) as warming:
        warm_catalogues(session, query("PR"))
    assert {name: count.accesses for name, count in warming.pages.items()} == {"census": 0, "pob": 0, "other": 0}
    before = [_catalogue_misses(session) for _ in range(3)][-1]
    session.execute(query("PR"))
    assert _catalogue_misses(session) == before


def test_heap_pages_are_counted_by_address(session: Connection) -> None:
    assert distinct_heap_pages(session, "census", "ctid >= '(3,0)' AND ctid < '(10,0)'") == 7
    assert distinct_heap_pages(session, "census", "caseid IN (1, 2, 100000)") == 2
    assert distinct_heap_pages(session, "census", "false") == 0


def test_pages_of_the_visibility_map_are_counted_by_address(session: Connection) -> None:
    assert visibility_pages(session, "census", "caseid IN (1, 2, 100000)") == 1, "32,672 heap pages to a page of the map"
    assert visibility_pages(session, "census", "false") == 0


def test_a_warmed_heap_is_whole_and_its_indexes_are_as_cold_as_before(session: Connection) -> None:
    pages = one_value(session, f"SELECT pg_relation_size('census') / {PAGE_BYTES}")
    assert warm_heap(session, "census") == pages
    assert {name: len(_buffered(session, name)) for name in (*RELATIONS, "other")} == {"census": pages, "pob": 0, "other": 0}
    warm_catalogues(session, query("PR"))
    with PageCounter(session, [*RELATIONS, "other"]) as counter:
        session.execute(query("PR"))
    assert_plan(planned(session, query("PR")), PLAN)
    misses = {name: count.reads for name, count in counter.pages.items()}
    assert misses == {"census": 0, "pob": index_pages(session, "census", "pob", f"pob = {STATES['PR']}"), "other": 1}


def test_a_heap_that_shared_buffers_cannot_hold_is_not_called_cached(census: Cluster) -> None:
    census.start(measuring_settings(census.binaries, io_mode=IoMode.BUFFERED, shared_buffers_bytes=4 * MIB))
    with census.connect() as conn, pytest.raises(EvidenceError, match=r"census is not cached: .* read \d+ of \d+ blocks again"):
        warm_heap(conn, "census")
    census.stop()


def test_a_query_after_another_is_not_cold(census: Cluster) -> None:
    evidence = _measured_cold(census, "NV", before=query("NV"))
    with pytest.raises(EvidenceError, match=r"not cold: census: 0 pages missed, \d+ expected; pob: 0 pages missed"):
        evidence.require()


def test_every_missing_piece_of_evidence_is_named() -> None:
    whole: dict[str, Any] = {
        "server_was_down": True,
        "resident_pages": {"hdd": 0, "ssd": 0},
        "direct_io": True,
        "misses": {"census": 7, "pob": 3},
        "expected": {"census": 7, "pob": 3},
    }
    assert not ColdEvidence(**whole).faults
    assert not ColdEvidence(**whole | {"direct_io": None}).faults
    spoilt: dict[str, dict[str, Any]] = {
        "the server was not down": {"server_was_down": False},
        "4 pages of tier ssd were still in the page cache": {"resident_pages": {"hdd": 0, "ssd": 4}},
        "direct I/O leaves pages in the page cache": {"direct_io": False},
        "pob: 2 pages missed, 3 expected": {"misses": {"census": 7, "pob": 2}},
        "pob: None pages missed, 3 expected": {"misses": {"census": 7}},
    }
    for fault, piece in spoilt.items():
        assert ColdEvidence(**whole | piece).faults == [fault]


def test_residency_follows_reading_and_evicting(workspace: Path) -> None:
    files = [workspace / "three-pages", workspace / "empty"]
    files[0].write_bytes(os.urandom(2 * 4096 + 1))
    files[1].touch()
    assert residency(files) == -(-files[0].stat().st_size // os.sysconf("SC_PAGESIZE"))
    evict(files)
    assert residency(files) == 0
    files[0].read_bytes()
    assert residency(files) > 0


def test_direct_io_is_probed_where_the_files_will_be(workspace: Path) -> None:
    assert direct_io_probe(workspace)
    assert not list(workspace.glob(".direct-io-probe-*"))


def test_memory_is_no_place_for_direct_io() -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir():
        pytest.skip("no file system in memory: no /dev/shm")
    assert not direct_io_probe(memory)


def test_all_forks_and_segments_are_named(session: Connection) -> None:
    toast = "SELECT reltoastrelid FROM pg_class WHERE relname = 'census'"
    index_of_toast = f"SELECT indexrelid FROM pg_index WHERE indrelid = ({toast})"
    whole = [_file(session, oid) for oid in ("SELECT 'census'::regclass", "SELECT 'pob'::regclass", toast, index_of_toast)]
    main = whole[0]
    segments = [main.with_name(main.name + suffix) for suffix in (".1", "_vm", "_vm.1")]
    strangers = [main.with_name(main.name + suffix) for suffix in ("_backup", "7")]
    for path in segments + strangers:
        path.touch()
    try:
        named = relation_files(session, RELATIONS)
    finally:
        for path in segments + strangers:
            path.unlink()
    assert named == sorted(whole + segments)


@pytest.mark.parametrize("io_mode", IoMode)
def test_the_page_cache_is_left_out_by_all_io_modes_but_the_buffered_one(census: Cluster, io_mode: IoMode) -> None:
    if not io_mode.cached and not census.binaries.supports_io_method:
        pytest.skip("PostgreSQL 15 has no direct I/O")
    files = _emptied(census)
    census.start(measuring_settings(census.binaries, io_mode=io_mode, shared_buffers_bytes=SHARED_BUFFERS_BYTES))
    with census.connect() as conn:
        conn.execute(AS_PUBLISHED)
        conn.execute(query("FL"))
    census.stop()
    assert (residency(files) > 0) == io_mode.cached


def _emptied(census: Cluster) -> list[Path]:
    census.start(loading_settings())
    with census.connect() as conn:
        files = relation_files(conn, RELATIONS)
    census.stop()
    evict(files)
    return files


def _measured_cold(census: Cluster, state: str, before: str | None = None) -> ColdEvidence:
    census.start(loading_settings())
    with census.connect() as conn:
        expected = expected_pages(conn, "census", "pob", f"pob = {STATES[state]}")
    census.stop()
    files = _emptied(census)
    down, resident = census.down, residency(files)
    census.start(measuring_settings(census.binaries, io_mode=IoMode.BUFFERED, shared_buffers_bytes=SHARED_BUFFERS_BYTES))
    with census.connect() as conn:
        conn.execute(AS_PUBLISHED)
        warm_catalogues(conn, query(state))
        if before is not None:
            conn.execute(before)
        with PageCounter(conn, RELATIONS) as counter:
            conn.execute(query(state))
        assert_plan(planned(conn, query(state)), PLAN)
    census.stop()
    misses = {name: count.reads for name, count in counter.pages.items()}
    return ColdEvidence(server_was_down=down, resident_pages={"pg_default": resident}, direct_io=None, misses=misses, expected=expected)


def _buffered(conn: Connection, relation: str) -> set[int]:
    rows = conn.execute(
        "SELECT relblocknumber FROM pg_buffercache WHERE relfilenode = pg_relation_filenode(%s) AND relforknumber = 0", [relation]
    )
    return {block for (block,) in rows}


def _catalogue_misses(conn: Connection) -> int:
    conn.execute("SELECT pg_stat_force_next_flush()")
    missed = "SELECT sum(pg_stat_get_blocks_fetched(oid) - pg_stat_get_blocks_hit(oid))::bigint FROM pg_class"
    return int(one_value(conn, f"{missed} WHERE oid < 16384 AND relkind IN ('r', 'i', 't')"))


def _file(conn: Connection, oid: str) -> Path:
    ((folder, file),) = conn.execute(f"SELECT current_setting('data_directory'), pg_relation_filepath(({oid}))").fetchall()
    return Path(folder, file)
