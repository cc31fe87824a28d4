"""An account without any right: doctor's word for it, and cells of a study measured on real mounts, its own server and a virtual clock."""

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation import need_fuse, new_folder
from test_emulated_life import AS_NOBODY, NOBODY, python_for_nobody
from tierwise.core.paths import home
from tierwise.core.vocabulary import ClockKind
from tierwise.tiers.mounting import DEVICE
from tierwise.timings.parts import rows_so_far

EVERYBODY = DEVICE.exists() and DEVICE.stat().st_mode & 0o006 == 0o006
"""Whether Linux gives every user the device of FUSE, as the package fuse3 has it; some machines give it to root alone."""
TRIALS = "start=NV variant=published"


@pytest.fixture
def place() -> Iterator[Path]:
    """Provide a folder of that user's, with a checkout."""
    if os.geteuid():
        pytest.skip("every other test here is this test")
    need_fuse()
    if not shutil.which("fusermount3"):
        pytest.skip("fusermount3 is not installed (apt-get install fuse3)")
    folder = new_folder(Path("/var/tmp"))
    outputs = shutil.ignore_patterns("work", "raw", "external", "__pycache__")
    for name in ("src", "data", "notebooks"):
        shutil.copytree(home() / name, folder / "checkout" / name, ignore=outputs)
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", folder], check=True)
    yield folder
    subprocess.run(["rm", "-rf", "--one-file-system", folder], check=True)


def said(place: Path, *arguments: str) -> str:
    given = {
        "PATH": os.environ["PATH"],
        "HOME": str(place),
        "PYTHONPATH": os.pathsep.join([str(place / "checkout" / "src"), sysconfig.get_path("purelib")]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(place / "compiled"),
    }
    command = [*AS_NOBODY, python_for_nobody(), "-m", "tierwise", *arguments]
    done = subprocess.run(command, env=given, cwd=place / "checkout", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return done.stdout


def test_doctor_says_what_an_ordinary_user_goes_without(place: Path) -> None:
    reported = said(place, "doctor")
    assert ("mounted through fusermount3" if EVERYBODY else "disks are simulated from recorded page sequences, not emulated") in reported
    assert "of one session alone: an ordinary user may not group processes" in reported
    assert reported.endswith("make report can run\n")


@pytest.mark.soak
@pytest.mark.skipif(not EVERYBODY, reason=f"{DEVICE} is closed to ordinary users here")
def test_an_ordinary_user_measures(place: Path) -> None:
    said(place, "run", "index_placement", "--profile", "smoke", "--trials", TRIALS, "--yes")
    (folder,) = [path for path in (place / "checkout" / "data" / "raw").iterdir() if (path / "manifest.json").is_file()]
    rows = rows_so_far(folder)
    assert set(rows["evidence"]) == {"emulated"}
    assert ClockKind.VIRTUAL_ONE in set(rows["clock"])
    assert all(path.stat().st_uid == NOBODY for path in place.rglob("*"))
