"""Recorded page requests against the server's own counters, by relation, and what `map` answers from them."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from conftest import empty
from support import said, said_as_json
from tierwise.core.errors import InputError, MissingError
from tierwise.core.units import PAGE_BYTES
from tierwise.core.vocabulary import IoMode
from tierwise.postgres import pgbench
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.page_counts import PageCounter
from tierwise.postgres.settings import loading_settings, measuring_settings, one_value
from tierwise.recorders import page_requests
from tierwise.recorders.reads import find_server
from tierwise.recorders.trace_command import trace

RELATIONS = ("census", "pob", "pgbench_accounts", "pgbench_accounts_pkey")
INDEX_SCANS = "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off"
BITMAP_SCANS = "SET enable_indexscan = off; SET enable_bitmapscan = on"
COUNT = "SELECT count(*) FROM census WHERE pob = 12"
TABLE = "CREATE TABLE census AS SELECT i AS id, i * 7919 % 97 AS pob, repeat('x', 150) AS rest FROM generate_series(1, 60000) AS i"


@pytest.fixture(scope="module")
def server(cluster18: Cluster) -> Iterator[Cluster]:
    cluster18.start(loading_settings())
    try:
        page_requests.require(find_server(cluster=cluster18.data))
    except MissingError as why:
        pytest.skip(str(why))
    pgbench.initialise(cluster18, 1, tables="pg_default", indexes="pg_default")
    with cluster18.connect() as connection:
        connection.execute(f"{TABLE}; CREATE INDEX pob ON census (pob) WITH (deduplicate_items = off)")
        connection.execute("VACUUM (FREEZE, ANALYZE) census")
    cluster18.stop()
    yield cluster18
    empty(cluster18)
    cluster18.stop()


@pytest.mark.parametrize("buffers", [120, 400])
def test_requests_and_replayed_misses_are_those_that_the_server_counts(server: Cluster, tmp_path: Path, buffers: int) -> None:
    """Index scans, a bitmap scan, a sequential scan with its ring, and lookups by pgbench."""
    server.start(measuring_settings(server.binaries, io_mode=IoMode.BUFFERED, shared_buffers_bytes=buffers * PAGE_BYTES))
    with page_requests.recorded(find_server(cluster=server.data), seconds=60) as recording, server.connect() as connection:
        nodes = {one_value(connection, "SELECT pg_relation_filenode(%s)", [name]): name for name in RELATIONS}
        with PageCounter(connection, RELATIONS) as counter:
            connection.execute(
                f"{INDEX_SCANS}; {COUNT}; {COUNT}; {BITMAP_SCANS}; {COUNT}; RESET ALL; SELECT count(id) FROM census; {COUNT}"
            )
            with pgbench.Load(server, pgbench.Mix(0.0, 0.0), clients=1, seed=1, transactions=2000):
                pass
    server.stop()
    recording.reads.write_parquet(tmp_path / "requests", metadata=page_requests.KIND)
    names = {relation: relation.split("/")[1].split("_")[0] for relation in recording.reads["relation"].unique()}
    named = [f"--relation={nodes[int(node)]}={relation}" for relation, node in names.items() if int(node) in nodes]
    found = said_as_json("map", str(tmp_path / "requests"), f"--pages={buffers}", "--policy=postgresql", *named)
    pages = recording.reads.group_by(pl.col("relation").replace(names)).agg(pl.col("size_bytes").sum() // PAGE_BYTES)
    requested = dict(pages.iter_rows())
    for node, name in nodes.items():
        assert requested[str(node)] == pytest.approx(counter.pages[name].accesses, rel=0.01), name
        replayed = found["sizes"][0]["relations"][name]["replayed_misses"]
        assert replayed == pytest.approx(counter.pages[name].reads, rel=0.02, abs=4), name


def test_the_command_records_a_file_that_is_behind_no_cache(server: Cluster, tmp_path: Path) -> None:
    server.start(measuring_settings(server.binaries, io_mode=IoMode.BUFFERED, shared_buffers_bytes=400 * PAGE_BYTES))
    out = tmp_path / "requests.parquet"
    with pgbench.Load(server, pgbench.Mix(0.0, 0.0), clients=1, seed=1):
        said("trace", "--cluster", str(server.data), "--seconds", "1", "--requests", "--out", str(out))
    server.stop()
    assert pl.read_parquet(out).schema == page_requests.REQUESTS
    assert said_as_json("map", str(out), "--pages=1000000")["behind_pages"] is None


def test_page_requests_need_a_file(cluster18: Cluster) -> None:
    cluster18.start(loading_settings())
    with pytest.raises(InputError, match=r"--requests.*give --out"):
        trace(cluster=cluster18.data, pid=None, seconds=1, out=None, requests=True)
    cluster18.stop()
