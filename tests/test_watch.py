"""`tierwise watch` on real servers: what it counts, what it refuses, and what ends a counter's epoch."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psycopg
import pytest
from rich.cells import cell_len

from conftest import empty
from support import beside, said, waited_for
from test_server_advice import relation
from tierwise.bench.testbed import Testbed
from tierwise.core import paths
from tierwise.core.activity import Activity, Band, Steadiness, Window, read_answer
from tierwise.core.errors import InputError
from tierwise.core.options import TicketFormat
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import load_profile
from tierwise.core.vocabulary import ClockKind
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.processes import socket_folder
from tierwise.postgres.workspace import Account
from tierwise.watch import snapshot, statements
from tierwise.watch.activity_file import EVENT, FORMAT, NAME, SPAN, VERSION, Segments
from tierwise.watch.answer import answer
from tierwise.watch.answer_text import LINES, WIDTH, shown
from tierwise.watch.causes import Time
from tierwise.watch.cli import seconds
from tierwise.watch.connecting import connect, databases
from tierwise.watch.recording import Request
from tierwise.watch.sampling import CLIENTS, Waits
from tierwise.watch.service_times import ServiceTimes, parse
from tierwise.watch.slowest import age_class, percentile_99
from tierwise.watch.statements import CHECKPOINTER, DATABASE, EVERY, RELATION, SOURCES
from tierwise.watch.steadiness import judge
from tierwise.watch.totals import Totals
from watching import STARTED, begun, dsn_of, linked, load, watched

pytestmark = pytest.mark.alone
POINT = "\\set id random(1, 60000)\nBEGIN;\nSELECT filler FROM orders WHERE id = :id;\nUPDATE orders SET n = n + 1 WHERE id = :id;\nEND;\n"


@pytest.fixture
def loaded(cluster: Cluster, tmp_path: Path) -> Iterator[tuple[Cluster, Path]]:
    yield from make_orders(cluster, tmp_path)


def make_orders(cluster: Cluster, tmp_path: Path) -> Iterator[tuple[Cluster, Path]]:
    """Provide a server with a table that its buffers do not hold, and a script that reads and changes it."""
    cluster.start({**STARTED, "track_io_timing": "on"})
    with cluster.connect() as session:
        session.execute("CREATE TABLE orders (id int PRIMARY KEY, n int DEFAULT 0, filler text) WITH (fillfactor = 80)")
        session.execute("INSERT INTO orders SELECT i, 0, repeat('x', 300) FROM generate_series(1, 60000) i")
        session.execute("CREATE INDEX unused ON orders (filler)")
        session.execute("VACUUM ANALYZE orders")
    script = tmp_path / "point.sql"
    script.write_text(POINT)
    yield cluster, script
    empty(cluster)


@pytest.fixture
def server(cluster18: Cluster) -> Iterator[Cluster]:
    cluster18.start(STARTED)
    yield cluster18
    empty(cluster18)


def counted(cluster: Cluster) -> tuple[float, dict[str, float]]:
    """Return how often the script ran, and pages read by relation, by the server's own views."""
    with cluster.connect() as session:
        time.sleep(1.0)  # sessions report at most once a second
        (runs,) = session.execute("SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'orders'").fetchone() or (0,)
        tables = session.execute("SELECT relname, heap_blks_read FROM pg_statio_user_tables").fetchall()
        indexes = session.execute("SELECT indexrelname, idx_blks_read FROM pg_statio_user_indexes").fetchall()
    return float(runs), {str(name): float(read) for name, read in (*tables, *indexes)}


def segment(out: Path, rows: pl.DataFrame) -> None:
    """Keep `rows` as the first segment of a watch that was killed."""
    Segments(out).folder.mkdir(exist_ok=True)
    Segments(out).write(0, rows)


def nothing_fell(rows: pl.DataFrame) -> None:
    assert (rows.filter(pl.col("view").is_in([RELATION, *SOURCES]))["value"].drop_nulls() >= 0).all()
    assert (rows["fetched"].drop_nulls() >= 0).all()


def on_one_screen(found: Activity) -> list[str]:
    lines = shown(found, TicketFormat.TABLE).splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= WIDTH
    return lines


def test_a_load_is_counted_as_the_server_counts_it_and_answered_on_one_screen(loaded: tuple[Cluster, Path], tmp_path: Path) -> None:
    cluster, script = loaded
    before = counted(cluster)
    out = tmp_path / "activity.parquet"
    with load(cluster, script, rate=200):
        found = watched(cluster, out, seconds=4.0)
    after = counted(cluster)
    each = {load.name: load for load in found.relations}
    done, transactions_per_s = after[0] - before[0], found.transactions_per_s.high
    seen, every = each["orders"].reads_per_s / transactions_per_s, (after[1]["orders"] - before[1]["orders"]) / done
    assert seen == pytest.approx(every, rel=0.4), "pages of the table read by a transaction, in the watch and in all"
    assert found.transactions_per_s.high == pytest.approx(200, rel=0.3), "200 scripts a second"
    assert found.transaction_s is not None
    assert sum(cause.time_s for cause in found.causes) == pytest.approx(found.transaction_s, rel=1e-6)
    assert (found.timed, found.gaps, found.resets, found.standby) == (True, 0, 0, False)
    assert each["orders"].location == ""
    assert each["unused"].droppable
    assert not each["orders_pkey"].droppable
    assert out.stat().st_mode & 0o077 == 0
    assert not Segments(out).folder.exists()
    lines = on_one_screen(found)
    assert any(re.match(r"orders +table ", line) for line in lines)
    assert any("unused" in line for line in lines)
    assert "| orders | table |" in shown(found, TicketFormat.MARKDOWN)
    assert json.loads(said("watch", "--show", str(out), "--format", "json"))["database"] == "postgres"


def test_a_watch_of_a_slow_load_leaves_out_its_own_transactions_of_each_window(
    server: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server counts a session's transactions when one of them has read a table, which a sample has not."""
    monkeypatch.setattr(Request, "sample_s", 0.01)
    script = tmp_path / "slow.sql"
    script.write_text("\\sleep 200 ms\nSELECT count(*) FROM pg_database;\n")
    with load(server, script, clients=1):
        found = watched(server, tmp_path / "activity.parquet", seconds=8.0)
    assert 2.5 < found.transactions_per_s.high < 10, "five a second, beside a hundred samples"


def test_a_watch_says_while_it_runs_that_transactions_take_another_time(
    server: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "slower.sql"
    pause_s = f"CASE WHEN extract(epoch FROM clock_timestamp()) < {time.time() + 7} THEN 0.005 ELSE 0.05 END"
    script.write_text(f"SELECT pg_sleep({pause_s}) FROM pg_database LIMIT 1;\n")  # statements without a relation are not counted
    with load(server, script, clients=4):
        watched(server, tmp_path / "activity.parquet", seconds=10.0)
    first, *_, last = capsys.readouterr().err.splitlines()
    assert "a transaction took" in first
    assert "steady" not in first
    took_ms, before_ms = map(float, re.findall(r"([\d.]+) ms", last))
    assert took_ms == pytest.approx(50, rel=0.5)
    assert before_ms < 0.5 * took_ms
    assert "advice needs a steady load" in last


def test_few_reads_of_another_tablespace_wait_as_long_each_as_those_that_matter(loaded: tuple[Cluster, Path], tmp_path: Path) -> None:
    """The table's reads of a real watch, made a thousand times as many, on a tablespace that alone has a service time."""
    cluster, script = loaded
    out, elsewhere = tmp_path / "activity.parquet", tmp_path / "elsewhere.parquet"
    with load(cluster, script):
        found = watched(cluster, out)
    (orders,) = (load.relation for load in found.relations if load.name == "orders")
    of_orders = pl.col("relation") == orders
    text = pl.col("text").str.replace('"tablespace": "pg_default"', '"tablespace": "far"', literal=True)
    fetched, text = (pl.when(of_orders).then(new).otherwise(new.meta.root_names()[0]) for new in (pl.col("fetched") * 1000, text))
    segment(elsewhere, pl.read_parquet(out).with_columns(fetched=fetched, text=text))
    far = answer(elsewhere, ServiceTimes({"far": [(1.0, 1e-4)]}))
    waiting = {load.name: load.waiting_s or 0.0 for load in far.relations}
    assert waiting["orders"] > 0.9 * sum(waiting[load.name] for load in far.relations if load.read_s)


def test_a_trace_says_how_many_reads_reached_the_device(loaded: tuple[Cluster, Path], tmp_path: Path) -> None:
    cluster, script = loaded
    out, trace = tmp_path / "activity.parquet", tmp_path / "trace.parquet"
    with cluster.connect() as session:
        (path,) = session.execute("SELECT pg_relation_filepath('orders')").fetchone() or ("",)
    with load(cluster, script):
        watched(cluster, out)
    file = "/".join(str(path).split("/")[-2:])
    pl.DataFrame({"relation": [file] * 4, "latency_s": [1e-6, 1e-6, 1e-6, 5e-3], "time_s": [0.0, 1.0, 2.0, 3.0]}).write_parquet(trace)
    found = answer(out, parse([], trace))
    (orders,) = (load for load in found.relations if load.name == "orders")
    assert orders.device_reads_per_s is not None
    assert orders.device_reads_per_s.low == orders.device_reads_per_s.high
    assert orders.device_reads_per_s.high == pytest.approx(orders.reads_per_s / 4)
    assert "device reads" not in found.unknown


def test_what_the_version_does_not_show_is_unknown_and_never_zero(loaded: tuple[Cluster, Path], tmp_path: Path) -> None:
    cluster, _ = loaded
    found = watched(cluster, tmp_path / "idle.parquet")
    assert found.steadiness is Steadiness.IDLE
    assert (found.autovacuum_reads_per_s is None) == (found.version < 16)
    assert found.statements is None
    assert {"device reads", "statements"} <= set(found.unknown)


@pytest.mark.parametrize("loaded_before", [True, False])
def test_statements_are_known_where_their_extension_is_loaded(loaded_before: bool, cluster: Cluster, tmp_path: Path) -> None:
    libraries = {"shared_preload_libraries": "pg_stat_statements"} if loaded_before else {}
    cluster.start({**STARTED, "compute_query_id": "on", **libraries})
    script = tmp_path / "read.sql"
    script.write_text("SELECT count(*) FROM wide;\n")
    try:
        with cluster.connect() as session:
            session.execute("CREATE EXTENSION pg_stat_statements")
            session.execute("CREATE TABLE wide AS SELECT repeat('x', 1000) FROM generate_series(1, 10000)")
            session.execute("SELECT count(*), 1 FROM wide")
        with load(cluster, script):
            found = watched(cluster, tmp_path / "statements.parquet", seconds=2.0)
    finally:
        with cluster.connect() as session:
            session.execute("DROP EXTENSION pg_stat_statements")
        empty(cluster)
    assert (found.statements is None) == (not loaded_before)
    assert sum(read for _, read in (found.statements or ())[1:]) < 1000, "the query of the past, which read 1,400 pages, counts nothing"


def test_a_service_time_bounds_how_many_reads_reached_a_device() -> None:
    service = parse(["fast=1", "fast=4@4"], None)
    assert service.of("fast", 1) == pytest.approx(1e-3)
    assert service.of("fast", 2) == pytest.approx(2e-3)
    assert service.of("slow", 1) is None
    for wrong in ("fast", "fast=x", "fast=1@0", "=1"):
        with pytest.raises(InputError, match="--service"):
            parse([wrong], None)


def refused(dsn: str, *words: str) -> None:
    with pytest.raises(InputError) as caught:
        connect(dsn)
    message = str(caught.value)
    assert "\n" not in message
    assert "Remedy: " in message
    assert all(word in message for word in words), message


def test_what_must_not_be_watched_is_refused_in_one_line(server: Cluster, tmp_path: Path) -> None:
    refused("host=/nowhere user=x", "cannot be reached")
    refused("what=ever", "connection string")
    refused("postgresql://me:secret@localhost/shop", "PGPASSFILE", "password")
    refused(f"{dsn_of(server)} dbname=nonesuch", "nonesuch")
    with server.connect() as session:
        session.execute("DROP ROLE IF EXISTS plain")
        session.execute("CREATE ROLE plain LOGIN")
        try:
            refused(dsn_of(server, user="plain"), "GRANT pg_monitor")
            session.execute("GRANT pg_monitor TO plain")
            connection, _ = connect(dsn_of(server, user="plain"))
            with connection, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                connection.execute("CREATE TABLE x ()")
        finally:
            session.execute("DROP ROLE plain")
    server.stop()
    testbed = Testbed(load_profile("smoke"), load_pair("source-m"), 1, tmp_path, server)
    with testbed.serving(STARTED, ClockKind.VIRTUAL_SEVERAL):
        refused(dsn_of(server), "virtual time")
    with testbed.serving(STARTED, ClockKind.REAL):
        connect(dsn_of(server))[0].close()


def test_a_password_of_the_environment_appears_nowhere(server: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "s3cr3t-of-a-test")
    watched(server, tmp_path / "a.parquet", seconds=1.0)
    assert b"s3cr3t" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*.parquet"))
    with pytest.raises(InputError) as caught:
        connect("host=/nowhere")
    assert "s3cr3t" not in str(caught.value)


def test_a_pooler_is_refused(server: Cluster, tmp_path: Path) -> None:
    program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
    if not Path(program).exists():
        pytest.skip("pgbouncer is not installed")
    folder = tmp_path / "pooler"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    for parent in list(folder.parents)[:-2]:
        parent.chmod(parent.stat().st_mode | 0o011)
    settings = [
        "[databases]",
        f"postgres = {dsn_of(server)}",
        "[pgbouncer]",
        "listen_addr =",
        f"unix_socket_dir = {folder}",
        "auth_type = any",
    ]
    (folder / "pooler.ini").write_text("\n".join([*settings, "listen_port = 6543"]) + "\n")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with beside(program, "-u", server.account.name, folder / "pooler.ini", **quiet) as running:
        waited_for(lambda: (folder / ".s.PGSQL.6543").exists() or running.poll() is not None, within_s=10)
        refused(f"host={folder} port=6543 user=tierwise dbname=postgres", "pooler", "connect directly")


def test_an_activity_file_that_is_none_cut_short_or_of_another_version_is_refused(server: Cluster, tmp_path: Path) -> None:
    whole = tmp_path / "whole.parquet"
    watched(server, whole, seconds=1.0)
    cut, other = tmp_path / "cut.parquet", tmp_path / "other.parquet"
    cut.write_bytes(whole.read_bytes()[:-100])
    table = pl.read_parquet(whole).to_arrow().replace_schema_metadata({VERSION: json.dumps(FORMAT + 1)})
    import pyarrow.parquet as pq

    pq.write_table(table, other)
    for path, word in ((cut, "cut short"), (other, "format"), (tmp_path / "none.parquet", "does not exist")):
        with pytest.raises(InputError, match=word):
            answer(path, ServiceTimes())
    with pytest.raises(InputError, match="is there already"):
        watched(server, whole)
    with pytest.raises(InputError, match="--for"):
        seconds("10 minutes")
    assert seconds("24h") == 86400


def both(cluster: Cluster, *between: str) -> dict[str, snapshot.Rise]:
    """Return what rises over statements that a session runs between two snapshots."""
    with linked(cluster) as pair, cluster.connect() as session:
        before = snapshot.take(pair)
        for statement in between:
            session.execute(statement.encode())
        time.sleep(0.1)
        rises = snapshot.rises(before, snapshot.take(pair))
    for name, rise in rises.items():
        counters = [column for column in rise.rows.columns if column not in {"entity", "database", "relation", *snapshot.PLACE}]
        for column in counters:
            assert (rise.rows[column].drop_nulls() >= 0).all(), f"{name}.{column} fell"
    return rises


def test_every_form_of_a_reset_begins_an_epoch_of_its_own_view(loaded: tuple[Cluster, Path]) -> None:
    cluster, _ = loaded
    read = "SELECT count(*) FROM orders"
    flush = "SELECT pg_sleep(1.1)"
    assert not any(rise.broken for rise in both(cluster, read, flush).values())
    rises = both(cluster, read, flush, "SELECT pg_stat_reset()", read, flush)
    assert rises[RELATION].broken == ("all",)
    assert rises["database"].broken
    assert not rises["wal"].broken
    rises = both(cluster, read, flush, "SELECT pg_stat_reset_shared('wal')", flush)
    assert (rises["wal"].broken, rises[RELATION].broken) == (("all",), ()) or rises["wal"].broken
    assert not rises["database"].broken
    both(cluster, read, read, read, flush)
    rises = both(cluster, "SELECT pg_stat_reset_single_table_counters('orders'::regclass)", flush)
    assert len(rises[RELATION].broken) == 1
    assert not rises[DATABASE].broken
    assert rises[RELATION].broken != ("all",)


def test_a_reset_takes_its_window_and_neither_transactions_nor_time_of_others(loaded: tuple[Cluster, Path], tmp_path: Path) -> None:
    cluster, script = loaded
    out = tmp_path / "reset.parquet"
    with load(cluster, script, rate=100):
        running = begun(cluster, out, 12.0)
        with cluster.connect() as session:
            session.execute("SELECT pg_stat_reset()")
        assert running.wait(60) == 0
    found = answer(out, ServiceTimes())
    spans = pl.read_parquet(out).filter(view=SPAN)
    assert found.resets >= 1
    assert spans.filter(entity="wal").height > len(found.windows) == spans.filter(entity=DATABASE).height
    assert found.transactions_per_s.high == pytest.approx(100, rel=0.3)
    assert all(window.transactions for window in found.windows)


@pytest.mark.parametrize("whole", [False, True])
def test_a_crash_ends_every_epoch_and_the_watch_goes_on(whole: bool, loaded: tuple[Cluster, Path], tmp_path: Path) -> None:
    cluster, script = loaded
    killed = []

    def kill_a_backend() -> None:
        with cluster.connect() as session:
            killed.append(session.info.backend_pid)
            os.kill(session.info.backend_pid, signal.SIGKILL)

    def kill_the_server() -> None:
        os.kill(int((cluster.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
        waited_for(lambda: not cluster.running, within_s=10)  # the other processes end by themselves
        socket = socket_folder(cluster.folder)
        assert socket is not None
        for lock in (cluster.data / "postmaster.pid", *socket.glob(".s.PGSQL.*.lock")):
            lock.unlink(missing_ok=True)  # a process that nobody waits for still seems to hold them
        start: list[str | Path] = [cluster.binaries.path("pg_ctl"), "start", "--silent", f"--log={cluster.log}", f"--pgdata={cluster.data}"]
        cluster.account.run(start, folder=cluster.folder)  # on the same socket, where the watch looks for it

    out = tmp_path / "crash.parquet"
    with load(cluster, script, rate=50):
        running = begun(cluster, out, 8.0)
        time.sleep(0.5)
        kill_the_server() if whole else kill_a_backend()
        assert running.wait(60) == 0
    found, rows = answer(out, ServiceTimes()), pl.read_parquet(out)
    assert found.gaps >= 1
    ends = rows.filter(view=SPAN, entity=RELATION).sort("window").select("text", "value")
    first, last = (datetime.fromisoformat(text) for text in (ends["text"][0], ends["text"][-1]))
    missing_s = (last - first).total_seconds() - float(ends["value"][1:].sum())
    assert found.gaps_s == pytest.approx(missing_s, abs=0.3), "the gap has the window that the crash cut short"
    nothing_fell(rows)


CLOCK = """
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME && !access(FLAG, F_OK)) now->tv_sec -= 86400;
    return failed;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec, now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}
"""


class WithLibrary(Account):
    library = Path()

    def run(self, command: Sequence[str | Path], *, folder: Path) -> str:
        return super().run(["env", f"LD_PRELOAD={self.library}", *command], folder=folder)


def test_a_clock_that_is_set_back_by_a_day_takes_nothing_away(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not shutil.which("cc"):
        pytest.skip("no C compiler (cc), which makes the library that sets a server's clock back")
    flag, library = cluster.folder / "set-back", cluster.folder / "clock.so"
    (tmp_path / "clock.c").write_text(CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", f'-DFLAG="{flag}"', "-o", library, tmp_path / "clock.c"], check=True)
    library.chmod(0o755)
    monkeypatch.setattr(WithLibrary, "library", library)
    shifted = replace(cluster, account=WithLibrary(*astuple(cluster.account)))
    out = tmp_path / "clock.parquet"
    for shifted_cluster, script in make_orders(shifted, tmp_path):
        with load(shifted_cluster, script, rate=50):
            monkeypatch.setenv("LD_PRELOAD", str(library))
            running = begun(shifted_cluster, out, 6.0)
            monkeypatch.delenv("LD_PRELOAD")
            flag.touch()
            try:
                assert running.wait(60) == 0
            finally:
                flag.unlink()
    rows, found = pl.read_parquet(out), answer(out, ServiceTimes())
    assert found.clock_back_s == pytest.approx(86400, abs=5)
    assert "set back by" in shown(found, TicketFormat.TABLE)
    nothing_fell(rows)


def test_a_killed_watch_goes_on_with_its_file_and_says_what_it_missed(server: Cluster, tmp_path: Path) -> None:
    out = tmp_path / "killed.parquet"
    running = begun(server, out, 30.0)
    running.kill()
    running.wait()
    there = len(list(Segments(out).folder.glob("0*.parquet")))
    assert answer(out, ServiceTimes()).gaps == 0, "the segments alone can be shown"
    found = watched(server, out, seconds=there * 3.0 + 1.0)
    assert found.gaps == 1
    assert len(found.windows) > there
    other = tmp_path / "other.parquet"
    segment(other, pl.read_parquet(out).with_columns(text=pl.when(entity="system").then(pl.lit("1")).otherwise("text")))
    with pytest.raises(InputError, match="another server"):
        watched(server, other)


def test_relations_that_are_dropped_rewritten_and_truncated_begin_new_placements_and_no_counters(loaded: tuple[Cluster, Path]) -> None:
    cluster, _ = loaded
    rises = both(
        cluster, "VACUUM FULL orders", "CREATE TABLE gone AS SELECT 1", "DROP TABLE gone", "TRUNCATE orders", "SELECT pg_sleep(1.1)"
    )
    assert not rises[RELATION].broken
    with linked(cluster) as pair, cluster.connect() as session:
        before = snapshot.take(pair).views[RELATION].rows
        session.execute("VACUUM FULL orders")
        session.execute("DROP INDEX unused")
        fresh, gone = snapshot.moved_places(before, snapshot.take(pair).views[RELATION].rows)
    assert len(fresh) >= 2  # table and key lie in new files
    assert len(gone) >= 1


def test_nothing_waits_for_a_lock_even_beside_a_table_that_is_altered_all_the_time(server: Cluster, tmp_path: Path) -> None:
    server.stop()
    server.start({**STARTED, "log_lock_waits": "on", "deadlock_timeout": "1ms"})
    begun = server.log.stat().st_size
    with server.connect(autocommit=False) as altering:
        altering.execute("CREATE TABLE held AS SELECT generate_series(1, 1000) n")
        altering.commit()
        altering.execute("SELECT count(*) FROM held")
        altering.execute("ALTER TABLE held ADD COLUMN more int")
        watched(server, tmp_path / "held.parquet")
        altering.rollback()
    assert "still waiting" not in server.log.read_bytes()[begun:].decode()


def test_masked_names_are_in_the_key_file_and_nowhere_else(server: Cluster, tmp_path: Path) -> None:
    with server.connect() as session:
        session.execute("CREATE SCHEMA verdeckt")
        session.execute("CREATE TABLE verdeckt.kundennummern AS SELECT generate_series(1, 1000) n")
        session.execute("CREATE INDEX kundenindex ON verdeckt.kundennummern (n)")
    out, key = tmp_path / "masked.parquet", tmp_path / "key.json"
    watched(server, out, seconds=1.0, mask=key)
    with server.connect() as session:
        session.execute("DROP SCHEMA verdeckt CASCADE")
    text = pl.read_parquet(out)["text"].drop_nulls().str.join("\n").item()
    assert not re.search("verdeckt|kunden|postgres\n", text)
    names = json.loads(key.read_text())["names"]
    assert {"verdeckt", "kundennummern", "kundenindex", "postgres"} <= set(names.values())
    assert key.stat().st_mode & 0o077 == 0
    restored = read_answer(out, key)
    assert (restored.database, {load.name for load in restored.relations} >= {"kundennummern", "kundenindex"}) == ("postgres", True)
    (table,) = (one for one, name in names.items() if name == "kundennummern")
    assert table in text
    again = tmp_path / "resumed.parquet"
    segment(again, pl.read_parquet(out))
    with pytest.raises(InputError, match="--mask"):
        watched(server, again)
    segment(again, pl.read_parquet(out).filter(view=EVENT))
    assert watched(server, again, seconds=1.0).windows, "a segment that has events alone is resumed"
    key.write_text("{}")
    with pytest.raises(InputError, match="--key"):
        read_answer(out, key)
    with pytest.raises(InputError, match="--mask"):
        watched(server, tmp_path / "again.parquet", mask=key)


def test_partitions_and_names_that_are_not_ascii_are_answered_on_one_screen(server: Cluster, tmp_path: Path) -> None:
    with server.connect() as session:
        session.execute('CREATE TABLE "größe 表" (n int, filler text) PARTITION BY HASH (n)')
        for part in range(300):
            session.execute(f'CREATE TABLE "größe_{part}" PARTITION OF "größe 表" FOR VALUES WITH (MODULUS 300, REMAINDER {part})'.encode())
        session.execute("INSERT INTO \"größe 表\" SELECT i, repeat('x', 500) FROM generate_series(1, 20000) i")
        session.execute("CHECKPOINT")
    script = tmp_path / "scan.sql"
    script.write_text('SELECT count(*) FROM "größe 表";\n')
    with load(server, script):
        found = watched(server, tmp_path / "parts.parquet", seconds=2.0)
    parts = [load for load in found.relations if load.name.startswith("größe_") and load.parent]
    assert len(parts) == 300
    assert sum(load.scan_share > 0.5 for load in parts) > 250
    on_one_screen(found)


@pytest.mark.parametrize(
    "name", ["pgbench_accounts_pkey_of_a_partition", "größe_der_tabelle_mit_langem_namen", "注文の一覧表とその明細の記録表"]
)
def test_the_fullest_answer_has_at_most_30_lines_and_folds_no_name(name: str, server: Cluster, tmp_path: Path) -> None:
    found = watched(server, tmp_path / "full.parquet", seconds=1.0)
    wide, reads = Band(low=0.0123, high=123456.0), Band(low=0.0, high=1.0)
    times: dict[str, Any] = {"read_s": 0.0123, "low_s": 0.0, "high_s": 1.0}
    times |= {"reads_per_s": 123456.0, "client_reads_per_s": reads, "writes_per_s": wide}
    row = relation(99999, name, 0.123, kind="materialized view", gib=4096, **times)
    index = row.model_copy(update={"kind": "index", "droppable": True, "scans": 0})
    words = ("read times", "device reads", "tablespaces", "autovacuum", "statements", "parallel workers", "waits")
    beside = {"background_transactions_per_s": 9.0, "autovacuum_reads_per_s": 9.0, "replay_share": 0.5, "transaction_s": 1.0}
    events = {"clock_back_s": 9.0, "promoted": True, "gaps": 2, "resets": 2, "placements_changed": 2}
    full = found.model_copy(
        update={"relations": (row, index) * 20, "unknown": words, "steadiness": Steadiness.FEW_CHECKPOINTS, **beside, **events}
    )
    lines = shown(full, TicketFormat.TABLE).splitlines()
    assert len(lines) <= LINES
    assert [line for line in lines if (cell_len(line) if " matview " in line else len(line)) > WIDTH] == []
    assert sum(" matview " in line or " index " in line for line in lines) >= 2
    assert all(line.startswith(name[:2]) for line in lines if " matview " in line)


def test_a_standby_is_named_and_its_promotion_too(server: Cluster, tmp_path: Path) -> None:
    server.stop()
    (server.data / "standby.signal").touch()
    server.account.own(server.data / "standby.signal")
    server.start({**STARTED, "hot_standby": "on"})
    out = tmp_path / "standby.parquet"
    running = begun(server, out, 3.0)
    assert answer(out, ServiceTimes()).standby
    with server.connect() as session:
        session.execute("SELECT pg_promote()")
    assert running.wait(60) == 0
    rows = pl.read_parquet(out)
    assert "promotion" in set(rows.filter(view=EVENT)["entity"])
    found = answer(out, ServiceTimes())
    assert (found.standby, found.promoted, found.gaps) == (False, True, 1)


def test_all_databases_are_watched_where_requested(server: Cluster, tmp_path: Path) -> None:
    with server.connect() as session:
        session.execute("CREATE DATABASE second ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    try:
        with linked(server) as pairs:
            assert "template1" not in databases(pairs[0][0])
        with psycopg.connect(dsn_of(server, database="second"), autocommit=True) as session:
            session.execute("CREATE TABLE elsewhere AS SELECT generate_series(1, 1000) n")
            session.execute("SET client_encoding = 'utf8'")
            session.execute('CREATE TABLE "größe" (n int)')
        ascii_only = watched(server, tmp_path / "ascii.parquet", seconds=1.0, database="second")
        assert "größe" in {load.name for load in ascii_only.relations}
        one = watched(server, tmp_path / "one.parquet", seconds=1.0)
        every = watched(server, tmp_path / "all.parquet", seconds=1.0, all_databases=True)
    finally:
        with server.connect() as session:
            session.execute("DROP DATABASE second")
    assert "elsewhere" not in {load.name for load in one.relations}
    (other,) = (load for load in every.relations if load.name == "elsewhere")
    assert (other.waiting_s, other.share) == (None, None), "its reads take no time of our transactions"
    assert pl.read_parquet(tmp_path / "all.parquet").filter(view=NAME)["database"].n_unique() >= 2


@pytest.mark.parametrize(
    ("times", "checkpoints", "expected"),
    [
        ([1.0] * 10, 2, Steadiness.STEADY),
        ([1.0] * 4, 2, Steadiness.SHORT),
        ([1.0] * 5 + [1.5] * 5, 2, Steadiness.DRIFTING),
        ([1.0, 2.0] * 5, 2, Steadiness.DRIFTING),
        ([1.0] * 10, 1, Steadiness.FEW_CHECKPOINTS),
    ],
)
def test_a_load_is_judged_by_its_windows(times: list[float], checkpoints: int, expected: Steadiness) -> None:
    spans = [(number, SPAN, CHECKPOINTER, None, 60.0) for number in range(len(times))]
    schema = {"window": pl.Int32, "view": pl.String, "entity": pl.String, "counter": pl.String, "value": pl.Float64}
    rest = pl.DataFrame([*spans, (0, CHECKPOINTER, "all", "checkpoints", float(checkpoints))], schema=schema, orient="row")
    windows = tuple(Window(seconds=60.0, transactions=1000.0, transaction_s=each) for each in times)
    done = Time(Band(low=1000.0, high=1000.0), 1000.0, {}, None, 0.0)
    assert judge(Totals(rest, pl.DataFrame()), done, windows, writes=True).steadiness is expected


def test_transactions_of_parallel_workers_make_a_band(loaded: tuple[Cluster, Path], tmp_path: Path) -> None:
    cluster, _ = loaded
    script = tmp_path / "parallel.sql"
    settings = ("parallel_setup_cost = 0", "parallel_tuple_cost = 0", "min_parallel_table_scan_size = 0")
    script.write_text("".join(f"SET {setting};\n" for setting in settings) + "SELECT count(*) FROM orders WHERE filler > 'x' AND n > -1;\n")
    with load(cluster, script):
        found = watched(cluster, tmp_path / "parallel.parquet", seconds=3.0)
    assert found.transactions_per_s.low < found.transactions_per_s.high
    assert "parallel workers" in found.unknown


def test_ages_of_open_transactions_bound_the_99th_percentile(server: Cluster, tmp_path: Path) -> None:
    script = tmp_path / "sleeps.sql"
    # Of a session whose statements read no relation, the server counts no transaction.
    script.write_text("\\set ms random_exponential(1, 200, 10)\nSELECT pg_sleep(:ms / 1000.0) FROM pg_database LIMIT 1;\n")
    with load(server, script, clients=12):
        band = watched(server, tmp_path / "sleeps.parquet", seconds=8.0).percentile_99_s
    assert band is not None
    assert 0.01 < band.low < 0.092 < band.high, "the percentile of this distribution is 92 ms"


@pytest.mark.parametrize("slow_share", [0.0, 0.02])
def test_bounds_of_the_99th_percentile_are_within_a_factor_of_two(slow_share: float) -> None:
    draw = np.random.default_rng(1)
    times = np.where(draw.random(8000) < slow_share, 2.0, draw.exponential(0.1, 8000))
    ends = times.cumsum()
    at = draw.uniform(0, ends[-1], 2400)
    counts = Counter(map(age_class, at - (ends - times)[ends.searchsorted(at)]))
    band = percentile_99(counts, samples=2400, transactions=8000, mean_s=times.mean(), watched_s=ends[-1])
    truth = np.quantile(times, 0.99)
    assert truth / 2 < band.low < truth < band.high < 2 * truth


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("granted", [True, False])
def test_the_size_of_a_locked_relation_is_unknown_at_once(
    granted: bool, listed: bool, loaded: tuple[Cluster, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, _ = loaded
    wanted = statements.SQL["locked"].encode()
    with linked(cluster) as pairs, cluster.connect() as session, ThreadPoolExecutor() as pool:
        (orders,) = session.execute("SELECT 'orders'::regclass::oid::int8").fetchone() or (0,)
        with cluster.connect(autocommit=False) as altering, cluster.connect(autocommit=False) as reading:
            if not granted:
                reading.execute("SELECT FROM orders LIMIT 1")
            pool.submit(altering.execute, "LOCK TABLE orders IN ACCESS EXCLUSIVE MODE")
            while (orders,) not in session.execute(wanted).fetchall():
                time.sleep(0.01)
            if not listed:  # the session took its lock after the list was read
                monkeypatch.setattr(statements, "SQL", {**statements.SQL, "locked": f"{statements.SQL['locked']} AND false"})
            began_s = time.monotonic()
            assert snapshot.sizes(pairs[0][0], [orders]) == ({}, 1 if listed else 2)
            assert time.monotonic() - began_s < 0.5


def test_a_table_is_measured_with_its_toast_and_the_index_of_that(loaded: tuple[Cluster, Path]) -> None:
    cluster, _ = loaded
    with linked(cluster) as pairs, cluster.connect() as session:
        session.execute("CREATE TABLE wide (words text)")
        (wide,) = session.execute("SELECT 'wide'::regclass::oid::int8").fetchone() or (0,)
        found, _ = snapshot.sizes(pairs[0][0], [wide])
        session.execute("DROP TABLE wide")
    assert sorted(found.values()) == [0, 0, 8192]
    assert found[wide] == 0


def test_workers_waits_belong_to_their_leader_once_and_asynchronous_reads_are_counted_once() -> None:
    waits = Waits()
    leader = (10, 5, "client backend", "active", "IPC", "ExecuteGather", None, 1.0)
    workers = [
        (11, 5, "parallel worker", "active", "IO", "DataFileRead", 10, 1.0),
        (12, 5, "parallel worker", "active", None, None, 10, 1.0),
    ]
    reading = (13, 5, "client backend", "active", "IO", "AioIoCompletion", None, 1.0)
    reader = (14, None, "io worker", None, "IO", "DataFileRead", None, None)
    elsewhere = (15, 6, "client backend", "active", "IO", "DataFileRead", None, 1.0)
    waits.add([leader, *workers, reading, reader, elsewhere], 5)
    clients = {event: count for (group, event), count in waits.counts.items() if group == CLIENTS}
    assert clients == {"IO:DataFileRead": 0.5, "processor": 0.5, "IO:AioIoCompletion": 1.0}


def test_the_security_page_lists_every_statement() -> None:
    page = " ".join((paths.home() / "docs" / "watch-security.md").read_text(encoding="utf-8").split())
    single = [text for text in statements.SQL.values() if "{" not in text]
    views = [statement for name in SOURCES for version in EVERY if (statement := statements.view(name, version))]
    for statement in (*single, *statements.SETUP, *views, *map(statements.relations, EVERY)):
        assert " ".join(statement.split()) in page
