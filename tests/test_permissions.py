"""Whose folders are whose: who may enter and write where, and scratch folders that go."""

import os
import re
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from emulation import emulated, new_folder
from tierwise.core import files
from tierwise.core.errors import InputError
from tierwise.core.files import replacing, scratch_folder
from tierwise.core.pairs import DirectoryTier
from tierwise.core.paths import home
from tierwise.core.private_folders import closed_folder, write_new
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.settings import loading_settings
from tierwise.postgres.workspace import Account
from tierwise.tiers import reclaim
from tierwise.tiers.directory import PLACED
from tierwise.tiers.open import open_tier
from tierwise.tiers.tier import Tier

MYSELF = (os.geteuid(), os.getegid())
SOMEBODY = (65534, 65534)
AS_SOMEBODY = ("setpriv", "--reuid=65533", "--regid=65533", "--clear-groups")
"""Prefix of a command of a user who has nothing to do with a run, not even the server's group."""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as other users")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "disk"
    folder.mkdir()
    return folder


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    folder = tmp_path / "precious"
    folder.mkdir()
    folder.chmod(0o751)
    return folder


def tier_in(directory: Path, *, owner: tuple[int, int] = MYSELF) -> Tier:
    spec = DirectoryTier(kind="directory", directory=str(directory))
    return open_tier("ssd", spec, work=directory.parent / "work", stretch=1, seed=1, owner=owner)


def started(tier: Tier) -> Tier:
    tier.start()
    return tier


@pytest.mark.parametrize("owner", [pytest.param(SOMEBODY, marks=as_root), MYSELF])
def test_a_link_planted_where_a_tiers_folder_comes_is_not_followed(place: Path, precious: Path, owner: tuple[int, int]) -> None:
    tier = tier_in(place, owner=owner)
    tier.directory.symlink_to(precious)
    os.chown(tier.directory, *owner, follow_symlinks=False)
    with pytest.raises(InputError, match="must be a directory"):
        started(tier)
    found = precious.stat()
    assert (stat.S_IMODE(found.st_mode), found.st_uid, list(precious.iterdir())) == (0o751, os.geteuid(), [])


@as_root
def test_a_folder_that_another_user_made_beforehand_is_not_taken(place: Path) -> None:
    place.chmod(0o1777)
    tier = tier_in(place)
    tier.directory.mkdir()
    os.chown(tier.directory, *SOMEBODY)
    with pytest.raises(InputError, match=r"belongs to another user.*Remedy: name a folder of your own"):
        started(tier)
    assert tier.directory.stat().st_uid == SOMEBODY[0]


@pytest.mark.parametrize(("mode", "reported"), [(0o777, "no sticky bit"), (0o1777, ""), (0o775, "")])
@pytest.mark.parametrize("below", ["", "mine"])
def test_a_folder_that_every_user_can_write_in_is_refused_without_the_sticky_bit(place: Path, mode: int, reported: str, below: str) -> None:
    place.chmod(mode)
    tier = tier_in(place / below if below else place)
    if reported:
        with pytest.raises(InputError, match=reported):
            started(tier)
        assert not tier.directory.exists()
    else:
        assert started(tier).directory.stat().st_mode & 0o777 == 0o700


@as_root
def test_a_way_by_another_users_link_is_refused_and_by_ones_own_is_not(place: Path, precious: Path) -> None:
    link = place / "link"
    link.symlink_to(precious)
    started(tier_in(link))
    os.lchown(link, *SOMEBODY)
    with pytest.raises(InputError, match="is a link that another user owns"):
        started(tier_in(link))


@as_root
def test_root_may_name_the_folder_of_a_user(place: Path) -> None:
    os.chown(place, *SOMEBODY)
    place.chmod(0o755)
    assert started(tier_in(place)).directory.is_dir()
    assert place.stat().st_uid == SOMEBODY[0]


@as_root
def test_a_mount_its_backing_and_its_control_are_closed_to_others() -> None:
    work = new_folder(Path("/var/tmp"))
    try:
        with emulated(work / "tier", owner=SOMEBODY) as tier:
            (tier.directory / "file").write_text("rows", encoding="ascii")
            server = Account("server", *SOMEBODY)
            assert server.run(["cat", tier.directory / "file"], folder=Path("/")) == "rows"
            for secret in (tier.directory, tier.directory.parent, tier.directory / "file", work / "tier" / "backing", tier.daemon.folder):
                said = subprocess.run([*AS_SOMEBODY, "ls", secret], check=False, capture_output=True, text=True)
                assert "Permission denied" in said.stderr, secret
            assert tier.directory.stat().st_mode & 0o077 == tier.daemon.folder.stat().st_mode & 0o077 == 0
            assert (tier.daemon.folder / "control").stat().st_mode & 0o777 == 0o600
            closed = tier.directory.parent.stat()
            assert (closed.st_uid, closed.st_gid, stat.S_IMODE(closed.st_mode)) == (0, SOMEBODY[1], 0o710), "the server only passes"
    finally:
        subprocess.run(["rm", "-rf", "--one-file-system", work], check=True)


def test_a_servers_socket_is_its_accounts_alone_and_it_listens_nowhere_else(cluster18: Cluster) -> None:
    cluster18.start(loading_settings())
    try:
        socket = Path((cluster18.folder / "socket").read_text(encoding="utf-8").strip())
        for folder in (socket, cluster18.folder, cluster18.data):
            assert (folder.stat().st_mode & 0o777, folder.stat().st_uid) == (0o700, cluster18.account.uid), folder
        with cluster18.connect() as connection:
            assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
            assert connection.execute("SHOW unix_socket_permissions").fetchone() == ("0700",)
    finally:
        cluster18.stop()
    assert not socket.exists()


def test_a_file_is_not_written_through_a_link_that_was_planted_in_its_name(tmp_path: Path, precious: Path) -> None:
    (precious / "kept").write_text("as it was", encoding="utf-8")
    (tmp_path / f".out.{os.getpid()}.part").symlink_to(precious / "kept")
    with replacing(tmp_path / "out") as part:
        part.write_text("ours", encoding="utf-8")
    (tmp_path / "record").symlink_to(precious / "kept")
    write_new(tmp_path / "record", "ours")
    assert (precious / "kept").read_text(encoding="utf-8") == "as it was"
    assert {(tmp_path / name).read_text(encoding="utf-8") for name in ("out", "record")} == {"ours"}


def test_a_folder_is_not_closed_through_a_link(tmp_path: Path, precious: Path) -> None:
    (tmp_path / "link").symlink_to(precious)
    with pytest.raises(NotADirectoryError):
        closed_folder(tmp_path / "link")
    assert stat.S_IMODE(precious.stat().st_mode) == 0o751


@as_root
def test_the_word_of_the_servers_account_removes_nothing(tmp_path: Path) -> None:
    work, elses = tmp_path / "work", tmp_path / "elsewhere" / "tierwise-12345678"
    (work / "ssd" / "backing").mkdir(parents=True)
    elses.mkdir(parents=True)
    planted = work / "ssd" / "backing" / PLACED
    planted.write_text(f"{elses}\n", encoding="utf-8")
    os.chown(planted, *SOMEBODY)
    reclaim.discard(work)
    assert elses.is_dir()


def test_each_threat_names_a_guard_and_a_test_that_is_there() -> None:
    rows = [line for line in (home() / "SECURITY.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 10
    for row in rows:
        asset, attacker, guard, tests = [part.strip() for part in row.strip("|").split("|")]
        assert asset
        assert attacker
        assert guard
        named = re.findall(r"`(test_\w+)\.py::(\w+)`", tests)
        assert named, row
        for file, test in named:
            assert f"def {test}(" in (home() / "tests" / f"{file}.py").read_text(encoding="utf-8"), (file, test)


KILLED = """
import sys, time
from pathlib import Path
from tierwise.core.files import scratch_folder
with scratch_folder("x-", within=Path(sys.argv[1])) as folder:
    (folder / "half").touch()
    print("ready", flush=True)
    time.sleep(600)
"""


def test_it_is_private_and_goes_at_the_end_whatever_happens(tmp_path: Path) -> None:
    with suppress(ZeroDivisionError), scratch_folder("x-", within=tmp_path) as folder:
        assert folder.parent == tmp_path
        assert folder.stat().st_mode & 0o077 == 0
        (folder / "file").touch()
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_goes_and_what_a_living_one_uses_stays(tmp_path: Path) -> None:
    (tmp_path / "x-file").touch()
    (tmp_path / "other").mkdir()
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        (left,) = (folder for folder in tmp_path.glob("x-*/"))
        with scratch_folder("x-", within=tmp_path):
            assert (left / "half").exists(), "it is used"
        process.send_signal(signal.SIGKILL)
    with scratch_folder("x-", within=tmp_path):
        assert not left.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"x-file", "other"}


def test_one_has_its_name_once_it_is_locked_and_before_that_it_is_spared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of a killed process goes at once, however young it is."""
    young, left = tmp_path / f"{files.UNLOCKED}x-young", tmp_path / "x-left"
    young.mkdir()
    left.mkdir()
    with scratch_folder("x-", within=tmp_path):
        assert young.exists(), "its maker is about to lock it"
        assert not left.exists()
    monkeypatch.setattr(files, "YOUNG_S", 0.0)
    with scratch_folder("x-", within=tmp_path):
        assert not young.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder of somebody else's")
def test_somebody_elses_stays(tmp_path: Path) -> None:
    theirs = tmp_path / "x-theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    time.sleep(0.01)
    with scratch_folder("x-", within=tmp_path):
        assert theirs.exists()
