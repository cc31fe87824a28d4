"""The simulated transactions against a real server under the same load: pages read, by relation, and updates that stay in their page."""

import math
import time
from collections.abc import Iterator
from statistics import fmean

import pytest

from conftest import empty
from tierwise.core.vocabulary import IoMode
from tierwise.postgres import pgbench
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.page_counts import PageCounter
from tierwise.postgres.settings import Connection, loading_settings, measuring_settings
from tierwise.simulate.transactions import INDEX, TABLE, Load, Recorded, Rows, record

SCALE, CLIENTS, WRITES = 5, 4, 0.5
BUFFERS = 1_500
LOOKUPS = 3 * BUFFERS
UPDATES = 2_000  # how many updates a window has, if the machine makes them in time
LONGEST_S = 20
SEEDS = range(1, 4)
BIAS, DEVIATIONS = 0.05, 5
"""How far the simulated reads may be off: in part, and in standard deviations of a share counted over as many transactions."""
OTHERS = """
    SELECT count(*) FROM pg_buffercache WHERE relfilenode IS NULL OR relforknumber > 0
    OR relfilenode NOT IN (pg_relation_filenode('pgbench_accounts'), pg_relation_filenode('pgbench_accounts_pkey'))
"""


@pytest.fixture
def aged(cluster18: Cluster) -> Iterator[Cluster]:
    cluster18.start(loading_settings())
    pgbench.initialise(cluster18, SCALE, tables="pg_default", indexes="pg_default")
    with cluster18.connect() as conn:
        pgbench.age(conn)
    cluster18.stop()
    cluster18.start(measuring_settings(cluster18.binaries, io_mode=IoMode.BUFFERED, shared_buffers_bytes=BUFFERS * 8192))
    yield cluster18
    empty(cluster18)
    cluster18.stop()


def updates(conn: Connection) -> tuple[int, int]:
    conn.execute("SELECT pg_stat_force_next_flush(), pg_stat_clear_snapshot()")
    (found,) = conn.execute("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'pgbench_accounts'")
    return int(found[0]), int(found[1])


def test_reads_of_table_and_index_are_the_servers_and_so_are_the_updates_that_stay(aged: Cluster) -> None:
    pgbench.fill_caches(aged, LOOKUPS, accounts=SCALE * pgbench.ROWS_PER_SCALE)
    with aged.connect() as conn:
        conn.execute("CREATE EXTENSION IF NOT EXISTS pg_buffercache")
        (index_pages,) = conn.execute("SELECT pg_relation_size('pgbench_accounts_pkey') / 8192").fetchall()[0]
        (table_pages,) = conn.execute("SELECT pg_relation_size('pgbench_accounts') / 8192").fetchall()[0]
        before = updates(conn)
        with PageCounter(conn, ["pgbench_accounts", "pgbench_accounts_pkey"]) as counter:
            with pgbench.Load(aged, pgbench.Mix(WRITES, 0.0), clients=CLIENTS, seed=1, scale=SCALE) as load:
                until_s = time.monotonic() + LONGEST_S
                while updates(conn)[0] - before[0] < UPDATES and time.monotonic() < until_s:
                    time.sleep(0.2)
            time.sleep(1.5)  # a busy session reports its counts once a second, an ended one at once
        after = updates(conn)
        (other_pages,) = conn.execute(OTHERS).fetchall()[0]
        conn.execute("DROP EXTENSION pg_buffercache")
    count = load.transactions.height
    made, stayed = after[0] - before[0], after[1] - before[1]

    rows = Rows(SCALE * pgbench.ROWS_PER_SCALE, index_pages)
    assert rows.table_pages == table_pages
    found = [simulated(rows, count, seed, other_pages) for seed in SEEDS]
    for name, relation in ((INDEX, "pgbench_accounts_pkey"), (TABLE, "pgbench_accounts")):
        share = counter.pages[relation].reads / count
        tolerance = BIAS + DEVIATIONS * math.sqrt((1 + 1 / len(SEEDS)) * (1 - share) / (share * count))
        assert fmean(one.reads[name] for one in found) / count == pytest.approx(share, rel=tolerance), relation
    chance = math.sqrt(0.02 / made)  # one row in 61 lies in a full page
    assert fmean(one.stayed for one in found) == pytest.approx(stayed / made, abs=DEVIATIONS * chance)


def simulated(rows: Rows, transactions: int, seed: int, other_pages: int) -> Recorded:
    load = Load(CLIENTS, WRITES, skew=0.0, host_s=0.0005)
    return record(rows, load, memory_pages=BUFFERS, transactions=transactions, lookups=LOOKUPS, warm=0, seed=seed, other_pages=other_pages)
