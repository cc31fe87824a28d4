"""What pgbench_placement asks of a server: a database put back elsewhere, a load whose every transaction is known, memory with a limit."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from conftest import empty
from tierwise.core import memory_group
from tierwise.core.vocabulary import Layout
from tierwise.postgres import pgbench
from tierwise.postgres.cluster import Cluster, memory_limited
from tierwise.postgres.cluster_files import TABLESPACES, restore
from tierwise.postgres.page_counts import PageCounter, activity_between, read_activity
from tierwise.postgres.processes import ServerError, server_processes
from tierwise.postgres.relations import create_tablespace
from tierwise.postgres.settings import loading_settings, one_value
from tierwise.postgres.wait_events import SESSIONS

on_18 = pytest.mark.parametrize("cluster", ["cluster18"], indirect=True)  # for SQL of ours that is the same on an older server


@pytest.fixture
def filled(cluster: Cluster) -> Iterator[Cluster]:
    cluster.start(loading_settings())
    pgbench.initialise(cluster, 1, tables="pg_default", indexes="pg_default")
    yield cluster
    empty(cluster)


def test_every_transaction_is_logged_and_the_load_ends_in_good_order(filled: Cluster) -> None:
    with filled.connect() as conn, pgbench.Load(filled, pgbench.TpcB(1), clients=4, seed=1) as load:
        time.sleep(1.0)
        assert load.running
        before = read_activity(conn)
        conn.execute("CHECKPOINT")
    with filled.connect() as conn:
        (history,) = conn.execute("SELECT count(*) FROM pgbench_history").fetchall()[0]
        moved = activity_between(before, read_activity(conn))
    assert load.transactions.height == history > 0  # one row each
    assert set(load.transactions["client"]) == {0, 1, 2, 3}
    assert load.transactions["ended_s"].is_sorted()
    assert abs(time.time() - float(load.transactions["ended_s"][-1])) < 30
    assert moved["wal"]["wal_bytes"] > 0
    checkpoints = moved.get("checkpointer", {}).get("num_requested", 0) + moved.get("bgwriter", {}).get("checkpoints_req", 0)
    assert checkpoints == 1


@on_18
def test_what_a_window_reads_of_a_loaded_server_the_second_time_reads_no_catalogue(filled: Cluster) -> None:
    """A page of a catalogue would be read into buffers whose pages must first be written to a busy device."""
    with filled.connect() as conn:
        catalogues = [oid for (oid,) in conn.execute("SELECT oid FROM pg_class WHERE oid < 16384 AND relkind IN ('r', 'i')").fetchall()]

        def fetched() -> int:
            conn.execute("SELECT pg_stat_force_next_flush()")
            total = "SELECT sum(pg_stat_get_blocks_fetched(oid))::bigint FROM unnest(%s::oid[]) AS oid"
            return int(one_value(conn, total, [catalogues]))

        counter = PageCounter(conn, pgbench.relations(0))
        for _ in range(2):
            before = fetched()
            conn.execute(SESSIONS).fetchall()
            read_activity(conn)
            with counter:
                pass
            read = fetched() - before
    assert read == 0


def test_a_bank_has_its_branches_and_tellers_whatever_its_accounts_and_a_load_uses_them_all(cluster: Cluster) -> None:
    cluster.start(loading_settings())
    with cluster.connect() as conn:
        pgbench.fill(cluster, conn, accounts=40_000, branches=300, tables="pg_default", indexes="pg_default")
        pgbench.age(conn)
        counts = conn.execute("SELECT (SELECT count(*) FROM pgbench_accounts), count(*), max(bid) FROM pgbench_branches").fetchall()
        (tellers,) = conn.execute("SELECT count(*), count(DISTINCT bid), max(tid), bool_and(bid = (tid - 1) / 10 + 1) FROM pgbench_tellers")
        sizes = "SELECT (pg_relation_size('pgbench_branches') + pg_relation_size('pgbench_tellers')) / 8192"
        pages = one_value(conn, sizes)
        conn.execute("UPDATE pgbench_tellers SET tbalance = tbalance WHERE tid % 20 = 7")  # several rows in each page
        conn.execute("UPDATE pgbench_branches SET bbalance = bbalance WHERE bid % 20 = 7")
        pages_updated = one_value(conn, sizes)
        with pgbench.Load(cluster, pgbench.TpcB(300), clients=4, seed=1, accounts=40_000, protocol="prepared", transactions=4000) as load:
            pass
        used = "SELECT count(*), count(DISTINCT bid), count(DISTINCT tid) > 2000, max(aid) > 39000, max(aid) <= 40000 FROM pgbench_history"
        (history,) = conn.execute(used).fetchall()
        totals = "SELECT (SELECT sum(bbalance) FROM pgbench_branches), (SELECT sum(tbalance) FROM pgbench_tellers), "
        ((branches, by_teller, by_account, added),) = conn.execute(
            f"{totals}(SELECT sum(abalance) FROM pgbench_accounts), (SELECT sum(delta) FROM pgbench_history)"
        ).fetchall()
    empty(cluster)
    assert counts == [(40_000, 300, 300)]
    assert tellers == (3000, 300, 3000, True)
    assert pages == pages_updated, "every page has space for several rows"
    assert history == (load.transactions.height, 300, True, True, True)
    assert branches == by_teller == by_account == added, "no transaction missed a row"


@on_18
def test_a_load_that_is_ended_at_once_ends_as_its_own_clock_would_end_it(filled: Cluster) -> None:
    """The signal of its clock would kill a pgbench that has only begun to start, as it does on a machine that is late."""
    for seed in range(5):
        with pgbench.Load(filled, pgbench.Mix(0.0, 0.0), clients=2, seed=seed) as load:
            pass
        assert set(load.transactions.columns) == set(pgbench.TRANSACTIONS)


def test_a_mix_updates_its_share_and_prefers_popular_accounts_that_are_strewn(filled: Cluster) -> None:
    popular: list[list[int]] = []
    for seed in (1, 2):
        with filled.connect() as conn:
            conn.execute("TRUNCATE pgbench_history")
        with pgbench.Load(filled, pgbench.Mix(writes=0.5, skew=1.2), clients=2, seed=seed, scale=1, transactions=1500) as load:
            pass
        with filled.connect() as conn:
            updates, accounts = conn.execute("SELECT count(*), count(DISTINCT aid) FROM pgbench_history").fetchall()[0]
            rows = conn.execute("SELECT aid FROM pgbench_history GROUP BY aid ORDER BY count(*) DESC LIMIT 3").fetchall()
        assert 0.3 < updates / load.transactions.height < 0.7
        assert accounts < 0.8 * updates
        popular.append([aid for (aid,) in rows])
    assert max(popular[0]) - min(popular[0]) > 100
    assert popular[0][0] in popular[1]  # whatever the seed


@on_18
def test_popular_accounts_lie_side_by_side_where_they_were_scattered_to(filled: Cluster) -> None:
    with filled.connect() as conn:
        pgbench.scatter(conn, 100_000)
        pgbench.age(conn, scattered=100_000)
        (full,) = conn.execute("SELECT pg_relation_size('pgbench_accounts')").fetchall()[0]
        with pgbench.Load(filled, pgbench.Mix(1.0, 1.5, Layout.RANDOM_KEYS), clients=2, seed=1, scale=1):
            time.sleep(0.7)
        pages, keys, rows, size = conn.execute(
            "SELECT count(DISTINCT (a.ctid::text::point)[0]), max(aid) - min(aid), count(*), pg_relation_size('pgbench_accounts') "
            "FROM pgbench_accounts AS a JOIN (SELECT DISTINCT aid FROM pgbench_history) AS h USING (aid) WHERE a.aid <> 1"
        ).fetchall()[0]
    assert keys > 50_000  # anywhere in the index
    assert pages < rows  # together in the table
    assert size == full


@on_18
def test_the_first_partition_lies_apart_and_every_relation_is_known(filled: Cluster) -> None:
    places = {name: filled.folder / name for name in ("rest", "apart")}
    try:
        with filled.connect() as conn:
            for name, place in places.items():
                create_tablespace(conn, name, place)
            pgbench.initialise(filled, 1, tables="rest", indexes="rest", partitions=4)
            pgbench.move_first_partition(conn, tables="apart", indexes="apart")
            pgbench.age(conn)
            found = conn.execute(
                "SELECT relname FROM pg_class JOIN pg_tablespace AS t ON t.oid = reltablespace WHERE spcname = 'apart' ORDER BY 1"
            ).fetchall()
            known = conn.execute("SELECT count(*) FROM pg_class WHERE relname = ANY(%s)", [list(pgbench.relations(4))]).fetchall()
            conn.execute(f"DROP TABLE {', '.join(pgbench.TABLES)}")
            for name in places:
                conn.execute(f"DROP TABLESPACE {name}")
    finally:
        for place in places.values():
            shutil.rmtree(place, ignore_errors=True)
    assert [name for (name,) in found] == ["pgbench_accounts_1", "pgbench_accounts_1_pkey"]
    assert known == [(4 + 3 + 4 + 2,)]


@on_18
def test_an_aged_table_has_space_for_updates_in_its_blocks(filled: Cluster) -> None:
    with filled.connect() as conn:
        pgbench.age(conn)
        (full,) = conn.execute("SELECT pg_relation_size('pgbench_accounts')").fetchall()[0]
        conn.execute("UPDATE pgbench_accounts SET abalance = 1 WHERE aid % 610 = 7")  # a row in each tenth page
        (after,) = conn.execute("SELECT pg_relation_size('pgbench_accounts')").fetchall()[0]
    assert after == full


@on_18
def test_a_mix_of_the_accounts_that_were_kept_updates_one_of_them_in_every_transaction(filled: Cluster) -> None:
    with filled.connect() as conn:
        (before,) = conn.execute("SELECT pg_relation_size('pgbench_accounts')").fetchall()[0]
        pgbench.keep_accounts(conn, 1000)
        (after,) = conn.execute("SELECT pg_relation_size('pgbench_accounts')").fetchall()[0]
        assert after < before / 50
        with pgbench.Load(filled, pgbench.Mix(1.0, 0.0), clients=2, seed=1, scale=1, accounts=1000) as load:
            time.sleep(0.5)
        updated, added = conn.execute("SELECT (SELECT sum(abalance) FROM pgbench_accounts), sum(delta) FROM pgbench_history").fetchall()[0]
        (transactions,) = conn.execute("SELECT count(*) FROM pgbench_history").fetchall()[0]
    assert updated == added, "no transaction missed its account"
    assert transactions == load.transactions.height > 0


def test_a_database_is_put_back_elsewhere_as_it_was(cluster18: Cluster, workspace: Path) -> None:
    prepared = Cluster(workspace / "prepared", cluster18.binaries, cluster18.account)
    here = Cluster(workspace / "here", cluster18.binaries, cluster18.account)
    here.folder.mkdir()
    here.account.own(here.folder)
    prepared.create()
    prepared.start(loading_settings())
    with prepared.connect() as conn:
        for name in ("tables", "indexes"):
            create_tablespace(conn, name, prepared.folder / TABLESPACES / name)
        pgbench.initialise(prepared, 1, tables="tables", indexes="indexes")
    with pytest.raises(ServerError, match="cannot be copied"):
        restore(prepared, here, {})
    prepared.stop()
    first, second = workspace / "tier-1", workspace / "tier-2"
    for tier in (first, second):
        tier.mkdir()
        here.account.own(tier)
    for tables, indexes in ((first, second), (second, second)):
        restore(prepared, here, {"tables": tables, "indexes": indexes}, first)
        here.start(loading_settings())
        try:
            with here.connect() as conn:
                assert conn.execute("SELECT sum(abalance), count(*) FROM pgbench_accounts").fetchall() == [(0, 100_000)]
                conn.execute("UPDATE pgbench_accounts SET abalance = 1 WHERE aid < 1000")
                (path,) = conn.execute(
                    "SELECT current_setting('data_directory') || '/' || pg_relation_filepath('pgbench_accounts')"
                ).fetchall()[0]
        finally:
            here.stop()
        assert Path(path).resolve().is_relative_to(tables)
        assert (here.data / "pg_wal").resolve().is_relative_to(first)
    assert (prepared.data / "pg_wal").is_dir()


@pytest.mark.skipif(memory_group.obstacle() is not None, reason=f"{memory_group.obstacle()}")
def test_a_servers_memory_is_limited_with_its_page_cache(cluster18: Cluster) -> None:
    limit_bytes = 64 * 2**20
    cluster18.start({**loading_settings(), "shared_buffers": "16MB", "maintenance_work_mem": "4MB"})
    with memory_limited(cluster18, limit_bytes):
        (group,) = {line for process in server_processes(cluster18.data) for line in _groups(process)}
        with cluster18.connect() as conn:
            conn.execute("CREATE TABLE large AS SELECT repeat('x', 1000) AS text FROM generate_series(1, 90000)")
            conn.execute("SELECT count(*) FROM large")
            used = _used_bytes(group)
    assert limit_bytes / 4 < used <= limit_bytes
    assert not cluster18.running
    assert not Path(group).exists()
    empty(cluster18)


def _groups(process: psutil.Process) -> list[str]:
    rows = [line.split(":", 2) for line in Path(f"/proc/{process.pid}/cgroup").read_text().splitlines()]
    own = [f"/sys/fs/cgroup/memory{path}" for _, controllers, path in rows if "memory" in controllers.split(",")]
    return own or [f"/sys/fs/cgroup{path}" for _, controllers, path in rows if not controllers]


def _used_bytes(group: str) -> int:
    return next(int(Path(group, name).read_text()) for name in ("memory.usage_in_bytes", "memory.current") if Path(group, name).exists())
