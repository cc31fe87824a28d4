"""A folder for what nobody keeps: gone at the end, and the next one takes with it what a killed process left."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tierwise.core import files
from tierwise.core.files import scratch_folder

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


def test_it_is_locked_until_it_has_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever makes another one while this one goes leaves it alone."""
    remove, others = shutil.rmtree, []

    def removed_beside(folder: Path) -> None:
        with files._locking(folder) as free:
            others.append(free)
        remove(folder)

    monkeypatch.setattr(shutil, "rmtree", removed_beside)
    with scratch_folder("x-", within=tmp_path):
        pass
    assert others == [False]


def test_without_a_place_it_is_among_the_systems_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with scratch_folder("x-") as folder:
        assert folder.parent == tmp_path


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
