"""How an emulated mount begins and ends: however it ends, no mount and no daemon stay."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest

from emulation import MYSELF, emulated, foreground, need_fuse, need_fusermount, new_folder
from support import beside, waited_for
from tierwise.core import paths
from tierwise.core.errors import InputError, TierwiseError
from tierwise.core.pairs import EmulatedTier
from tierwise.core.vocabulary import Evidence
from tierwise.tiers import daemon as daemon_client
from tierwise.tiers.clock import Real
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.mounting import DEVICE, mounts_below, unmount
from tierwise.tiers.open import open_tier
from tierwise.tiers.reclaim import reclaim
from tierwise.tiers.transfers import Workers
from tierwise.tiers.volume import Unmounted, Volume


def wait_for_end(pid: int, patience_s: float = 20.0) -> None:
    has_ended = waited_for(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE, patience_s)
    assert has_ended, f"process {pid} is still there"


def daemon_of(tier: Emulated) -> int:
    assert tier.daemon.pid is not None
    return tier.daemon.pid


def test_a_tier_is_opened_from_its_description(tmp_path: Path) -> None:
    need_fuse()
    spec = EmulatedTier(kind="emulated", device="mtron-3025")
    tier = open_tier("ssd", spec, work=tmp_path, stretch=10, seed=3, owner=MYSELF)
    assert (tier.name, tier.evidence, tier.device) == ("ssd", Evidence.EMULATED, "mtron-3025")
    tier.stop()
    try:
        tier.start()
        tier.start()
        assert mounts_below(tmp_path) == [tier.directory]
        tier.stop()
        tier.stop()
    finally:
        reclaim(tmp_path)
    assert mounts_below(tmp_path) == []


def test_delays_stay_as_they_were_over_a_remount(tmp_path: Path) -> None:
    with emulated(tmp_path) as tier:
        (tier.directory / "file").write_bytes(bytes(8192))
        for delayed in (True, False):
            tier.delays(delayed)
            tier.empty_cache(cached=True)
            (tier.directory / "file").read_bytes()
            assert (tier.io()["file"].intended_s > 0) is delayed


def test_a_mount_past_the_page_cache_has_nothing_to_forget_and_stays(tmp_path: Path) -> None:
    with emulated(tmp_path) as tier:
        daemon = tier.daemon.pid
        tier.empty_cache()
        assert tier.daemon.pid == daemon
        tier.empty_cache(cached=True)
        assert tier.daemon.pid != daemon


def test_a_mount_that_goes_while_a_message_is_read_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux then says ECONNABORTED once, about one time in a hundred where files were closed right before."""
    need_fuse()
    folders = [new_folder(tmp_path), new_folder(tmp_path)]
    volume = Volume("mtron-3025", *folders, seed=0, stretch=1.0, cache=False, workers=Workers(lambda: None), clock=Real())
    unmount(folders[1])
    with monkeypatch.context() as patch:
        patch.setattr(os, "readv", Mock(side_effect=OSError(errno.ECONNABORTED, "aborted")))
        assert volume.take(), "there may be more"
    with pytest.raises(Unmounted):
        volume.take()
    volume.close()


def test_a_daemon_ends_although_another_mount_namespace_keeps_a_copy_of_its_mount(tmp_path: Path) -> None:
    need_fuse()
    if os.geteuid():
        pytest.skip("a new mount namespace needs root")
    with emulated(tmp_path) as tier:
        daemon = daemon_of(tier)
        with beside("unshare", "--mount", "--propagation=private", "sleep", "60") as copy:
            while Path(f"/proc/{copy.pid}/ns/mnt").readlink() == Path("/proc/self/ns/mnt").readlink():
                time.sleep(0.01)
            tier.stop()
            assert not psutil.pid_exists(daemon)


def test_a_daemon_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_client, "END_S", 0.2)
    with emulated(tmp_path) as tier:
        daemon = daemon_of(tier)
        tier.daemon.call("ping")
        os.kill(daemon, signal.SIGSTOP)
        tier.daemon._control._socket.settimeout(0.2)  # type: ignore[union-attr]
        tier.stop()
        assert not psutil.pid_exists(daemon)


def test_a_tier_in_use_is_not_unmounted_and_says_who_uses_it(tmp_path: Path) -> None:
    with emulated(tmp_path) as tier:
        (tier.directory / "file").write_text("here", encoding="ascii")
        with (tier.directory / "file").open(encoding="ascii") as file:
            with pytest.raises(InputError, match=rf"in use by .*\(pid {os.getpid()}: file\).*Remedy: end these processes"):
                tier.stop()
            assert file.read() == "here", "it still serves"
        tier.stop()
        assert mounts_below(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_daemon_reported_to_end_unmounts(tmp_path: Path, number: signal.Signals) -> None:
    with emulated(tmp_path) as tier:
        os.kill(daemon_of(tier), number)
        wait_for_end(daemon_of(tier))
        assert mounts_below(tmp_path) == []
        assert not (tmp_path / "daemon" / "daemon.json").exists()
        tier.stop()
        tier.start()


def test_a_daemon_reported_to_end_while_in_use_leaves_no_mount_either(tmp_path: Path) -> None:
    with emulated(tmp_path) as tier:
        (tier.directory / "file").touch()  # the kernel learns that to close a file is to ask nothing
        file = (tier.directory / "file").open(encoding="ascii")
        os.kill(daemon_of(tier), signal.SIGTERM)
        wait_for_end(daemon_of(tier))
        assert mounts_below(tmp_path) == []
        assert "in use by" in (tmp_path / "daemon" / "daemon.log").read_text(encoding="utf-8")
        file.close()


def test_a_killed_daemon_loses_nothing_that_was_written_and_is_cleaned_up(tmp_path: Path) -> None:
    with emulated(tmp_path) as tier:
        tier.delays(True)
        (tier.directory / "file").write_text("kept", encoding="ascii")
        os.kill(daemon_of(tier), signal.SIGKILL)
        wait_for_end(daemon_of(tier))
        assert mounts_below(tmp_path) == [tier.directory]
        with pytest.raises(TierwiseError, match=r"daemon did not do .statistics.: .*; the daemon ended with -9: it said nothing"):
            tier.io()
        with pytest.raises(OSError, match="connect"):
            (tier.directory / "file").read_text(encoding="ascii")
        assert [line.endswith("unmounted") for line in reclaim(tmp_path)] == [True]
        assert mounts_below(tmp_path) == []
        tier.stop()
        tier.start()
        assert (tier.directory / "file").read_text(encoding="ascii") == "kept"


def test_reclaim_ends_a_daemon_whose_run_was_killed(tmp_path: Path) -> None:
    """A SIGKILL to `make report` leaves it so: the daemon lives on, nobody knows it but its record."""
    with emulated(tmp_path) as tier:
        pid = daemon_of(tier)
        (tier.directory / "file").touch()  # the kernel learns that to close a file is to ask nothing
        with (tier.directory / "file").open(encoding="ascii"):  # even in use
            said = reclaim(tmp_path)
        wait_for_end(pid)
        assert f"daemon {pid} ended" in said[0]
        assert mounts_below(tmp_path) == []
        assert reclaim(tmp_path) == []


def test_reclaim_touches_nothing_outside_its_folder(tmp_path: Path) -> None:
    for name in ("mine", "other"):
        (tmp_path / name).mkdir()
    with emulated(tmp_path / "other") as tier:
        assert reclaim(tmp_path / "mine") == []
        (tier.directory / "file").touch()


def test_reclaim_does_not_end_a_process_that_took_a_dead_daemons_number(tmp_path: Path) -> None:
    with beside("sleep", "60") as bystander:
        (tmp_path / "daemon.json").write_text(f'{{"pid": {bystander.pid}, "started_s": 1.0}}', encoding="utf-8")
        assert reclaim(tmp_path) == []
        assert bystander.poll() is None
        assert not (tmp_path / "daemon.json").exists()


def test_a_mountpoint_that_is_mounted_already_is_reported(tmp_path: Path) -> None:
    with emulated(tmp_path):
        second = Emulated("second", "mtron-3025", work=tmp_path, stretch=1, seed=1, owner=MYSELF)
        with pytest.raises(InputError, match="is mounted already"):
            second.start()


def test_a_daemon_that_cannot_start_says_why(tmp_path: Path) -> None:
    need_fuse()
    tier = Emulated("tier", "mtron-3025", work=tmp_path, stretch=1, seed=1, owner=MYSELF)
    (tmp_path / "backing.extents").write_text("spoilt\n", encoding="ascii")
    with pytest.raises(TierwiseError, match=r"could not be mounted: .*extents line 1 is 'spoilt'"):
        tier.start()
    assert mounts_below(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_emulate_stays_until_reported_to_end(tmp_path: Path, number: signal.Signals) -> None:
    with foreground(tmp_path) as (process, mountpoint):
        (mountpoint / "file").write_text("through", encoding="ascii")
        assert (tmp_path / "backing" / "file").read_text(encoding="ascii") == "through"
        process.send_signal(number)
        assert process.wait(20) == 0
        assert mounts_below(tmp_path) == []


def test_emulate_ends_when_it_is_unmounted(tmp_path: Path) -> None:
    with foreground(tmp_path) as (process, mountpoint):
        unmount(mountpoint)
        assert process.wait(20) == 0


def test_emulate_fails_when_its_daemon_is_killed_and_cleans_up(tmp_path: Path) -> None:
    with foreground(tmp_path) as (process, _):
        (daemon,) = psutil.Process(process.pid).children()
        daemon.kill()
        assert process.wait(20) == 1
        assert mounts_below(tmp_path) == []


NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env")
"""Prefix of a command; setpriv starts `env` with what root may still do, `env` starts the command with what nobody may."""


def python_for_nobody() -> str:
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        if subprocess.run([*AS_NOBODY, python, "-c", ""], check=False, capture_output=True).returncode == 0:
            return python
    pytest.skip(f"an ordinary user may not run {sys.executable}, and there is no other Python of its version")


def test_an_ordinary_user_mounts_through_fusermount3() -> None:
    need_fusermount()
    if not os.access("/dev/fuse", os.R_OK) or not Path("/dev/fuse").stat().st_mode & 0o002:
        pytest.skip("/dev/fuse is for root alone on this machine (udev makes it 0666)")
    python = python_for_nobody()
    folder = new_folder(Path("/var/tmp"))
    os.chown(folder, NOBODY, NOBODY)
    try:
        with foreground(folder, prefix=AS_NOBODY, python=python, owner=NOBODY) as (process, mountpoint):
            subprocess.run([*AS_NOBODY, "sh", "-c", f"echo written > {mountpoint}/file; cat {mountpoint}/file"], check=True)
            assert (folder / "backing" / "file").read_text(encoding="ascii") == "written\n"
            assert (folder / "backing" / "file").stat().st_uid == NOBODY
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
            assert mounts_below(folder) == []
    finally:
        reclaim(folder)
        subprocess.run(["rm", "-rf", "--one-file-system", folder], check=True)


def test_a_missing_fusermount3_is_reported_with_its_remedy() -> None:
    need_fuse()
    if os.geteuid():
        pytest.skip("it is not missing here, or every test says so")
    if DEVICE.stat().st_mode & 0o006 != 0o006:
        pytest.skip(f"{DEVICE} is for root alone on this machine (udev makes it 0666)")
    program = "import os, sys; from tierwise.tiers.mounting import require_fuse; os.seteuid(65534); require_fuse()"
    environment = {"PATH": "/nowhere", "PYTHONPATH": str(paths.home() / "src")}
    said = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, env=environment)
    assert "MissingError: fusermount3 is missing" in said.stderr
    assert "apt-get install fuse3" in said.stderr
