"""The files of a plan on real servers: run twice, killed in a step, rolled back, beside a writer, on a full disk, refused."""

import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from psycopg.errors import UniqueViolation

from checkout import seed
from conftest import empty
from test_server_advice import DAY, TIERS, WITH_PLACE, activity, relation
from tierwise.advisor.server_advice import advise_server
from tierwise.advisor.server_plan import write_plan
from tierwise.advisor.server_question import Limits, Question
from tierwise.advisor.server_tiers import read_server_tiers
from tierwise.core.activity import Band
from tierwise.core.errors import InputError
from tierwise.core.private_folders import closed_folder
from tierwise.costs.book import load_book
from tierwise.postgres.cluster import DATABASE, PORT, SUPERUSER, Cluster
from tierwise.postgres.processes import socket_folder
from tierwise.postgres.relations import create_tablespace
from tierwise.postgres.settings import Connection
from tierwise.watch.connecting import connect
from watching import dsn_of

pytestmark = pytest.mark.alone
ODD = "Odd 'names' " + 25 * "ü"  # 62 bytes: a rebuild cuts it
MOVED = ("orders", "orders_pkey", ODD, "events_1")
MAKE = (
    "CREATE TABLE orders (id int PRIMARY KEY, filler text)",
    "INSERT INTO orders SELECT i, repeat('x', 100) FROM generate_series(1, 20000) i",
    "CREATE TABLE pace AS SELECT 0.0::float8 AS seconds",
    "CREATE FUNCTION slow(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS"
    " $$BEGIN PERFORM pg_sleep(seconds) FROM public.pace; RETURN $1; END$$",
    f'CREATE INDEX "{ODD}" ON orders (filler)',
    "CREATE TABLE events (at int) PARTITION BY RANGE (at)",
    "CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (1) TO (2)",
)


@dataclass
class Planned:
    """A running server with tables, and a plan that moves them to the tablespace `fast`."""

    cluster: Cluster
    session: Connection
    folder: Path
    plan: Path

    def environment(self, **more: str) -> dict[str, str]:
        host = str(socket_folder(self.cluster.folder))
        path = f"{self.cluster.binaries.folder}:{os.environ['PATH']}"
        known = {"PGHOST": host, "PGPORT": str(PORT), "PGUSER": SUPERUSER, "PATH": path, "LC_ALL": "C", "LOCK_S": "1", "PAUSE_S": "0.2"}
        return {**os.environ, **known, "OLD_S": "5", **more}

    @property
    def output(self) -> str:
        return (self.folder / "output.txt").read_text()

    def journal(self) -> str:
        file = self.plan / "journal.txt"
        return file.read_text() if file.exists() else ""

    def has_begun(self, step: str) -> bool:
        return f" begin {step} " in self.journal()

    def start(self, *words: str, **more: str) -> subprocess.Popen[bytes]:
        command = ["sh", str(self.plan / "plan.sh"), *words]
        with (self.folder / "output.txt").open("w") as output:
            return subprocess.Popen(command, env=self.environment(**more), stdout=output, stderr=subprocess.STDOUT, start_new_session=True)

    def run(self, *words: str, **more: str) -> tuple[int, str]:
        return self.start(*words, **more).wait(120), self.output

    def psql(self, file: str = "plan.sql", **variables: str) -> str:
        options = [f"--set={name}={value}" for name, value in variables.items()]
        command = ["psql", "-X", *options, "-f", str(self.plan / file), DATABASE]
        return subprocess.run(command, env=self.environment(), capture_output=True, text=True, check=False).stderr

    def places(self) -> set[str]:
        names = "relname = ANY(%s)"
        query = f"SELECT coalesce(spcname, 'pg_default') FROM pg_class c LEFT JOIN pg_tablespace t ON t.oid = reltablespace WHERE {names}"
        return {place for (place,) in self.session.execute(query.encode(), [list(MOVED)])}

    def value(self, query: str) -> object:
        row = self.session.execute(query.encode()).fetchone()
        return None if row is None else row[0]

    def invalid(self) -> list[str]:
        rows = self.session.execute("SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid ORDER BY 1")
        return [name for (name,) in rows]

    def kill(self, running: subprocess.Popen[bytes]) -> None:
        """End the script and its sessions as a crash would."""
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        self.session.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name ~ '^(tierwise|pg_rep)'")


def made(cluster: Cluster, folder: Path, place: Path) -> Iterator[Planned]:
    cluster.start({"shared_buffers": "16MB", "fsync": "off", "archive_mode": "off"})
    with cluster.connect() as session:
        create_tablespace(session, "fast", place)
        for statement in MAKE:
            session.execute(statement.encode())
        yield Planned(cluster, session, folder, write(folder))
    empty(cluster)


def write(folder: Path) -> Path:
    tiers, plan = folder / "mine.toml", folder / "plan"
    tiers.write_text(WITH_PLACE)
    kinds, parents = ("table", "index", "index", "table"), (0, 0, 0, 7)
    each = zip(MOVED, kinds, parents, strict=True)
    loads = [
        relation(number, name, 0.02 - number / 1000, kind=kind, parent=parent, writes_per_s=Band(low=1, high=1))
        for number, (name, kind, parent) in enumerate(each)
    ]
    watch = activity(*loads).model_copy(update={"database": DATABASE})
    question = Question(watch, read_server_tiers(tiers), Limits(), load_book(DAY))
    write_plan(advise_server(question), question, plan)
    return plan


def test_chunks_and_the_log_move_by_hand_and_names_are_quoted(tmp_path: Path) -> None:
    tiers = tmp_path / "mine.toml"
    tiers.write_text(WITH_PLACE)
    odd = """it's; DROP TABLE "x\""""
    loads = [relation(1, odd, 0.03), relation(2, "chunk", 0.02, schema_name="_timescaledb_internal"), relation(3, "two\nlines", 0.02)]
    log = relation(0, "log", 0.02, kind="wal")
    watch = activity(*loads, log)
    question = Question(watch, read_server_tiers(tiers), Limits(), load_book(DAY))
    write_plan(advise_server(question), question, tmp_path / "plan")
    sql, script = ((tmp_path / "plan" / name).read_text() for name in ("plan.sql", "plan.sh"))
    assert """ALTER TABLE "public"."it's; DROP TABLE ""x\"""" in sql
    assert sql.count("ALTER TABLE") == 1
    assert script.count("by hand") == 3
    tiers.write_text(TIERS)  # without a tablespace on the SSD
    alone = replace(question, activity=activity(log), tiers=read_server_tiers(tiers))
    write_plan(advise_server(alone), alone, tmp_path / "log")
    assert (tmp_path / "log" / "plan.sh").read_text().count("by hand") == 1
    subprocess.run(["sh", "-n", str(tmp_path / "plan" / "plan.sh")], check=True)


@pytest.fixture
def planned(cluster: Cluster, workspace: Path, tmp_path: Path) -> Iterator[Planned]:
    yield from made(cluster, tmp_path, workspace / "fast")


def until(planned: Planned, running: subprocess.Popen[bytes] | None, query: str, seen: Callable[[], bool] = lambda: True) -> None:
    """Wait until `query` has a row that is true, and `seen`."""
    ends_s = time.monotonic() + 60
    while not (planned.value(query) and seen()):
        if time.monotonic() > ends_s or (running and running.poll() is not None):
            if running:
                planned.kill(running)
            raise AssertionError(f"it did not come: {planned.output}")
        time.sleep(0.05)


def test_a_plan_moves_beside_a_writer_does_nothing_twice_and_goes_back(planned: Planned) -> None:
    with planned.cluster.connect(autocommit=False) as writer:
        writer.execute("UPDATE orders SET filler = 'y' WHERE id = 1")
        timer = threading.Timer(2.0, writer.commit)
        timer.start()
        status, output = planned.run(REPACK="no")
        timer.join()
    assert status == 0, output
    assert planned.places() == {"fast"}, output
    assert "bytes before" in output
    status, output = planned.run(REPACK="no")
    assert (status, output.count("already")) == (0, 4), output
    planned.session.execute("CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM (2) TO (3)")
    assert planned.value("SELECT spcname FROM pg_class JOIN pg_tablespace t ON t.oid = reltablespace WHERE relname = 'events_2'") == "fast"
    assert planned.run("rollback", REPACK="no")[0] == 0
    assert planned.places() == {"pg_default"}
    assert planned.value("SELECT count(*) FROM orders") == 20000


def test_the_files_of_sql_alone_move_and_go_back_and_do_nothing_twice(planned: Planned) -> None:
    for file, there in (("plan.sql", "fast"), ("rollback.sql", "pg_default")):
        nodes = []
        for _ in range(2):
            assert planned.psql(file) == ""
            assert planned.places() == {there}
            nodes.append(planned.value("SELECT string_agg(relfilenode::text, ' ' ORDER BY oid) FROM pg_class"))
        assert nodes[0] == nodes[1], "the second run rewrites nothing"
    assert planned.value("SELECT count(*) FROM orders") == 20000


@pytest.mark.parametrize("listed", [True, False])
def test_a_plan_killed_while_it_rebuilds_an_index_drops_only_indexes_that_its_journal_lists(planned: Planned, listed: bool) -> None:
    session = planned.session
    session.execute("CREATE TABLE other (a int)")
    session.execute("INSERT INTO other VALUES (1), (1)")
    with suppress(UniqueViolation):
        session.execute("CREATE UNIQUE INDEX CONCURRENTLY other_ccnew ON other (a)")
    session.execute(f'DROP INDEX "{ODD}"'.encode())
    session.execute(f'CREATE INDEX "{ODD}" ON orders (slow(id)) WHERE id < 1000'.encode())
    session.execute("UPDATE pace SET seconds = 0.02")
    running = planned.start(REPACK="no")
    built = "SELECT indexrelid FROM pg_index JOIN pg_class ON oid = indexrelid WHERE NOT indisvalid AND relname ~ '^Odd'"
    until(planned, running, built)
    assert "another run" in planned.psql(step="-1")
    planned.kill(running)
    session.execute("UPDATE pace SET seconds = 0")
    half_built = f"{ODD[:34]}_ccnew"
    assert planned.invalid() == [f'"{half_built}"', "other_ccnew"]
    lines = [line for line in planned.journal().splitlines(keepends=True) if listed or " expects " not in line]
    (planned.plan / "journal.txt").write_text("".join(lines))
    status, output = planned.run(REPACK="no")
    assert status == 0, output
    assert planned.places() == {"fast"}
    assert planned.invalid() == ([] if listed else [f'"{half_built}"']) + ["other_ccnew"]


@pytest.mark.parametrize(("direction", "there"), [("plan", "fast"), ("rollback", "pg_default")])
def test_a_plan_killed_in_each_of_its_steps_ends_where_an_unbroken_one_ends(planned: Planned, direction: str, there: str) -> None:
    words, chance = () if direction == "plan" else (direction,), random.Random(f"{seed()} {direction}")
    if direction == "rollback":
        assert planned.run(REPACK="no")[0] == 0
    for number in range(1, len(MOVED) + 1):
        running = planned.start(*words, REPACK="no")
        until(planned, running, "SELECT true", partial(planned.has_begun, f"{direction}-{number}"))
        time.sleep(chance.uniform(0.0, 0.3))
        planned.kill(running)
        assert planned.places() <= {"pg_default", "fast"}
        for method in ("seqscan", "indexscan"):
            planned.session.execute(f"SET enable_{method} = off".encode())
            assert planned.value("SELECT count(*) FROM orders WHERE id > 0") == 20000
            planned.session.execute(f"RESET enable_{method}".encode())
    status, output = planned.run(*words, REPACK="no")
    assert (status, planned.places(), planned.invalid()) == (0, {there}, []), output


def test_pg_repack_moves_a_table_and_what_a_killed_one_left_goes(cluster15: Cluster, workspace: Path, tmp_path: Path) -> None:
    if not (cluster15.binaries.folder / "pg_repack").exists():
        pytest.skip("Debian's postgresql-15-repack is not installed")
    try:
        for planned in made(cluster15, tmp_path, workspace / "fast"):
            planned.session.execute("CREATE EXTENSION pg_repack")
            trigger = "SELECT count(*) FROM pg_trigger WHERE tgname = 'repack_trigger'"
            with planned.cluster.connect(autocommit=False) as reader:
                reader.execute("SELECT txid_current()")  # pg_repack waits for it once its trigger is there
                running = planned.start(OLD_S="30")
                until(planned, running, trigger)
                planned.kill(running)
            assert "pg_repack is at work" in planned.psql()
            status, output = planned.run(PGOPTIONS="-c client_min_messages=warning")
            assert (status, planned.value(trigger)) == (0, 0), output
            assert planned.places() == {"fast"}
            assert "repack" in planned.journal()
            with planned.cluster.connect(autocommit=False) as reader:
                reader.execute("SELECT txid_current()")
                command = ["pg_repack", "--no-order", "--no-kill-backend", "--table=orders", DATABASE]
                others = subprocess.Popen(command, env=planned.environment(), stderr=subprocess.DEVNULL)
                until(planned, others, trigger)
                status, output = planned.run("rollback")
                assert (status, "pg_repack is at work" in output, planned.value(trigger)) == (1, True, 1), output
            assert others.wait(60) == 0, "nobody disturbs another's"
            old = tmp_path / "old_repack"
            old.write_text("#!/bin/sh\necho pg_repack 1.0\n")
            old.chmod(0o755)
            status, output = planned.run("rollback", REPACK=str(old))
            assert (status, "version 1.0" in output, planned.places()) == (0, True, {"pg_default"}), output
            planned.session.execute("DROP EXTENSION pg_repack")
    finally:
        cluster15.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts file systems")
@pytest.mark.parametrize("kind", ["ext4", "tmpfs"])
def test_a_disk_that_is_full_or_ephemeral_leaves_all_where_it_was(kind: str, cluster18: Cluster, workspace: Path, tmp_path: Path) -> None:
    place, image = workspace / f"small-{kind}", tmp_path / "image"
    place.mkdir(exist_ok=True)
    image.write_bytes(b"")
    os.truncate(image, 4 << 20)
    options = ["tmpfs", "-o", "size=64m"] if kind == "tmpfs" else [str(image), "-o", "loop"]
    mkfs = shutil.which("mkfs.ext4", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    made_it = kind == "tmpfs" or (mkfs is not None and subprocess.run([mkfs, "-q", "-m0", str(image)], check=False).returncode == 0)
    if not made_it or subprocess.run(["mount", "-t", kind, *options, str(place)], check=False).returncode:
        pytest.skip(f"no {kind} can be mounted here")
    try:
        for planned in made(cluster18, tmp_path, place / "fast"):
            status, output = planned.run()
            assert (status, ("ephemeral" if kind == "tmpfs" else "free space there") in output) == (1, True), output
            if kind == "ext4":
                planned.session.execute("UPDATE orders SET filler = repeat('z', 200)")
                assert "No space left" in planned.psql()
                assert planned.value("SELECT count(*) FROM orders") == 20000
            assert planned.places() == {"pg_default"}
    finally:
        cluster18.stop()
        subprocess.run(["umount", "-l", str(place)], check=True)


SERVICES = (
    ("CREATE FUNCTION aurora_version() RETURNS int LANGUAGE sql AS 'SELECT 1'", "DROP FUNCTION aurora_version()", "aurora"),
    *(
        (f"CREATE ROLE {role}", f"DROP ROLE {role}", service)
        for role, service in (("rds_superuser", "rds"), ("cloudsqlsuperuser", "cloudsql"), ("azure_pg_admin", "azure"))
    ),
    *(
        (f"ALTER DATABASE {DATABASE} SET {setting} = 'x'", f"ALTER DATABASE {DATABASE} RESET {setting}", setting.split(".")[0])
        for setting in ("rds.extensions", "cloudsql.iam_authentication", "azure.extensions")
    ),
)


def test_an_archive_and_a_standby_stop_a_plan_until_their_directories_are_confirmed(planned: Planned, workspace: Path) -> None:
    primary = planned.cluster
    standby = replace(primary, folder=workspace / "standby")
    closed_folder(standby.folder, owner=primary.account.ids)
    where = [f"--host={socket_folder(primary.folder)}", f"--port={PORT}", f"--username={SUPERUSER}", f"--pgdata={standby.data}"]
    places = f"--tablespace-mapping={workspace / 'fast'}={standby.folder / 'fast'}"
    primary.account.run([primary.binaries.path("pg_basebackup"), *where, places, "-R", "-c", "fast"], folder=standby.folder)
    standby.start({"shared_buffers": "16MB", "fsync": "off"})
    try:
        until(planned, None, "SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'")
        assert "DIRECTORIES=yes" in planned.psql()
        assert "is a standby" in replace(planned, cluster=standby).psql(directories="yes")
        assert planned.psql(directories="yes") == ""
        assert planned.places() == {"fast"}
        until(planned, None, "SELECT replay_lsn = pg_current_wal_lsn() FROM pg_stat_replication")
        with standby.connect() as session:
            assert replace(planned, session=session).places() == {"fast"}
    finally:
        standby.stop()
        shutil.rmtree(standby.folder)
    planned.session.execute("ALTER SYSTEM SET archive_mode = on")
    primary.stop()
    primary.start({"shared_buffers": "16MB", "fsync": "off"})
    with primary.connect() as session:
        session.execute("ALTER SYSTEM RESET archive_mode")
        assert "DIRECTORIES=yes" in planned.psql("rollback.sql")


def test_a_plan_stops_at_the_first_condition_that_does_not_hold(planned: Planned, tmp_path: Path) -> None:
    session, plan = planned.session, planned.plan / "plan.sql"
    text = plan.read_text()

    def stops(expected: str, *statements: str, after: tuple[str, ...] = (), **variables: str) -> None:
        for statement in statements:
            session.execute(statement.encode())
        assert expected in planned.psql(**variables)
        assert planned.places() == {"pg_default"}
        for statement in after:
            session.execute(statement.encode())

    slot = "SELECT pg_create_physical_replication_slot('one')", "SELECT pg_drop_replication_slot('one')"
    stops("DIRECTORIES=yes", slot[0], after=(slot[1],))
    dsn = dsn_of(planned.cluster)
    for make, undo, service in SERVICES:
        session.execute(make.encode())
        connection, server = connect(dsn)
        connection.close()
        assert (server.service, server.superuser) == (service, True)
        stops("managed service", after=(undo,))
    plan.write_text(text.replace("set_config('tierwise.system', ''", "set_config('tierwise.system', '1'"))
    stops("not the server that was watched")
    plan.write_text(text.replace('"schema": "public", "name": "orders"', '"schema": "pg_catalog", "name": "pg_largeobject"'))
    stops("belongs to the catalogs")
    session.execute("CREATE ROLE clerk LOGIN")
    plan.write_text(text.replace("\\set QUIET on", "\\set QUIET on\nSET ROLE clerk;"))
    stops("does not own")
    stops("may not create", "ALTER TABLE orders OWNER TO clerk")
    plan.write_text(text)
    stops("lock timeout", "BEGIN", "LOCK TABLE orders IN ACCESS SHARE MODE", after=("COMMIT",), lock_s="1")
    stops("is something else now", "ALTER INDEX orders_pkey RENAME TO renamed", after=("ALTER INDEX renamed RENAME TO orders_pkey",))
    session.execute("DROP OWNED BY clerk CASCADE")
    session.execute("DROP ROLE clerk")
    with pytest.raises(InputError, match="empty folder"):
        write(tmp_path)
