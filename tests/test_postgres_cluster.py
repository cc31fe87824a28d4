"""The life of a server: made whole, started with its settings, seen to be down, killed and recovered, and found again by the next run."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import tierwise
from tierwise.core.errors import InputError
from tierwise.core.units import MIB
from tierwise.core.vocabulary import IoMode
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.processes import PID_FILE, ServerError, postmaster, reclaim, server_processes
from tierwise.postgres.settings import Connection, applied, loading_settings, measuring_settings, one_value


def shown(conn: Connection, name: str) -> str:
    return str(one_value(conn, "SELECT current_setting(%s)", [name]))


def test_a_new_cluster_has_checksums_and_bytewise_order_and_no_tcp(conn: Connection) -> None:
    assert shown(conn, "data_checksums") == "on"
    assert shown(conn, "server_encoding") == "UTF8"
    assert shown(conn, "lc_messages") == "C"
    assert conn.execute("SELECT 'B' < 'a'").fetchone() == (True,)
    assert shown(conn, "listen_addresses") == ""
    assert conn.info.user == "tierwise"


def test_stopped_means_no_process_and_no_pid_file(cluster: Cluster) -> None:
    assert cluster.down
    cluster.start({})
    assert cluster.running
    assert not cluster.down
    cluster.stop()
    assert cluster.down
    assert not server_processes(cluster.data)
    cluster.stop()  # nothing to do


def test_a_cluster_is_made_once_and_started_once(cluster: Cluster) -> None:
    with pytest.raises(ServerError, match="a cluster is there already"):
        cluster.create()
    cluster.start({})
    with pytest.raises(ServerError, match="a server runs there already"):
        cluster.start({})


def test_a_killed_initdb_is_done_again(cluster18: Cluster, workspace: Path) -> None:
    again = Cluster(workspace / "again", cluster18.binaries, cluster18.account)
    (again.folder / "data.part" / "base").mkdir(parents=True)
    assert not again.exists
    again.create()
    assert again.exists
    assert not (again.folder / "data.part").exists()


def test_settings_arrive_as_they_were_given(cluster: Cluster) -> None:
    cluster.start({"work_mem": "7MB", "cluster_name": "it's a \\ name"})
    with cluster.connect() as conn:
        assert shown(conn, "work_mem") == "7MB"
        assert shown(conn, "cluster_name") == "it's a \\ name"
    cluster.stop()
    cluster.start({})
    with cluster.connect() as conn:
        assert shown(conn, "work_mem") == "4MB"


def test_a_start_that_fails_tells_the_servers_last_words(cluster: Cluster) -> None:
    with pytest.raises(ServerError, match=r'does not start; it said:(.|\n)*unrecognized configuration parameter "spindles"'):
        cluster.start({"spindles": "6"})
    assert cluster.down
    with pytest.raises(ServerError, match="no server runs there"):
        cluster.connect()


def test_what_was_committed_survives_a_kill(cluster: Cluster) -> None:
    cluster.start(loading_settings())
    with cluster.connect() as conn:
        conn.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    killed = server_processes(cluster.data)
    cluster.kill()
    assert cluster.down
    psutil.wait_procs(killed, timeout=0.5)  # files and memory are given up a moment before a process ends
    assert not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in killed)
    cluster.start(loading_settings())
    with cluster.connect() as conn:
        assert conn.execute("SELECT answer FROM kept").fetchone() == (42,)
        conn.execute("DROP TABLE kept")
    assert "automatic recovery" in cluster.log.read_text()


def test_a_pid_file_that_names_another_process_is_no_server(cluster18: Cluster) -> None:
    (cluster18.data / PID_FILE).write_text(f"{os.getpid()}\n")
    assert postmaster(cluster18.data) is None
    assert not cluster18.running
    cluster18.start({})
    cluster18.stop()


@pytest.mark.parametrize("io_mode", IoMode)
def test_the_measuring_settings_are_what_the_server_then_shows(cluster: Cluster, io_mode: IoMode) -> None:
    if not io_mode.cached and not cluster.binaries.supports_direct_io:
        why = {
            IoMode.DIRECT: r"direct I/O \(debug_io_direct\) needs 16 or later",
            IoMode.ASYNCHRONOUS: r"asynchronous I/O \(io_method\) needs 18 or later",
        }
        with pytest.raises(InputError, match=f"io_mode is '{io_mode}': {why[io_mode]}"):
            measuring_settings(cluster.binaries, io_mode=io_mode, shared_buffers_bytes=16 * MIB)
        return
    settings = measuring_settings(cluster.binaries, io_mode=io_mode, shared_buffers_bytes=16 * MIB)
    assert settings["fsync"] == "on"
    cluster.start(settings)
    with cluster.connect() as conn:
        assert {name: shown(conn, name) for name in settings} == settings | {"shared_buffers": "16MB"}


def test_the_session_keeps_its_own_settings_after_others_were_applied(conn: Connection) -> None:
    conn.execute("SET enable_seqscan = off")
    with applied(conn, {"enable_seqscan": "on", "work_mem": "1MB"}):
        assert (shown(conn, "enable_seqscan"), shown(conn, "work_mem")) == ("on", "1MB")
    assert (shown(conn, "enable_seqscan"), shown(conn, "work_mem")) == ("off", "4MB")


@pytest.fixture
def server(cluster18: Cluster) -> Iterator[Cluster]:
    yield cluster18
    cluster18.kill()


KILLED_RUN = """
import os, signal
from pathlib import Path
from tierwise.postgres.binaries import Binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.workspace import server_account
Cluster(Path({folder!r}), Binaries(Path({programs!r}), {version!r}, "wheel"), server_account()).start({{}})
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_runs_server_is_ended_by_the_next_and_no_other(server: Cluster, workspace: Path) -> None:
    abandoned = Cluster(workspace / "runs" / "abandoned", server.binaries, server.account)
    abandoned.create()
    server.start({})
    code = KILLED_RUN.format(folder=str(abandoned.folder), programs=str(server.binaries.folder), version=server.binaries.version)
    found = os.pathsep.join([str(Path(tierwise.__file__).parents[1]), *sys.path])
    run = subprocess.run([sys.executable, "-c", code], check=False, env={**os.environ, "PYTHONPATH": found})
    assert run.returncode == -signal.SIGKILL
    socket = Path((abandoned.folder / "socket").read_text().strip())
    assert socket.is_dir()

    assert reclaim(workspace / "runs") == ["ended a PostgreSQL server that a killed run left in abandoned/data"]
    assert abandoned.down
    assert not socket.exists()
    assert server.running
    assert reclaim(workspace / "runs") == []


def test_what_a_killed_server_left_is_removed(server: Cluster, workspace: Path) -> None:
    server.start({})
    socket = Path((server.folder / "socket").read_text().strip())
    for process in server_processes(server.data):
        process.kill()
    psutil.wait_procs(server_processes(server.data), timeout=30)
    assert reclaim(workspace) == [f"removed the pid file of a server that was killed in {server.folder.name}/data"]
    assert server.down
    assert not socket.exists()


def test_a_socket_record_that_names_another_folder_removes_nothing(server: Cluster, workspace: Path) -> None:
    precious = workspace / "precious"
    precious.mkdir()
    (precious / ".s.PGSQL.5432").touch()
    (server.folder / "socket").write_text(f"{precious}\n")
    assert reclaim(workspace) == []
    assert (precious / ".s.PGSQL.5432").exists()
