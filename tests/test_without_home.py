"""Users without rights or home: doctor's word for it, cells measured all the same, and notebooks that run."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import nbformat
import pytest

from emulation import need_fusermount, new_folder, small_disk
from test_emulated_life import AS_NOBODY, NOBODY, python_for_nobody
from tierwise.core import paths
from tierwise.core.errors import MissingError
from tierwise.core.paths import home
from tierwise.core.vocabulary import ClockKind
from tierwise.postgres.workspace import server_account
from tierwise.tiers.mounting import DEVICE
from tierwise.timings.export import check_nothing_private
from tierwise.timings.parts import rows_so_far

EXECUTE = """
import sys
from pathlib import Path
from tierwise.pipeline import execute, kernels
with kernels():
    execute(Path(sys.argv[1]), "run")
"""


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "full") as home:
        with (home / "filler").open("wb", buffering=0) as filler, suppress(OSError):
            while True:
                filler.write(bytes(4096))
        yield home


def execute_with(home: Path, place: Path) -> None:
    """Execute a notebook of one cell, which says where its kernel keeps things."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import os; print(os.environ['IPYTHONDIR'])")])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, place / "one.ipynb")
    environment = {**os.environ, "HOME": str(home), "TIERWISE_RAW": str(place / "raw")}
    command = [sys.executable, "-c", EXECUTE, str(place / "one.ipynb")]
    done = subprocess.run(command, env=environment, cwd=paths.home(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (cell,) = nbformat.read(place / "raw" / "run" / "notebooks" / "one.ipynb", as_version=4).cells
    assert not Path(cell.outputs[0].text.strip()).exists(), "it goes with the command"


def test_a_full_home_keeps_no_notebook_from_running(full: Path, tmp_path: Path) -> None:
    """Kernels died, since they wanted a profile there."""
    execute_with(full, tmp_path)
    assert [path.name for path in full.iterdir()] == ["filler"]


def test_who_has_no_home_has_none_to_hide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.html").write_text("nothing")
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: Path("~nobody-of-this-name").expanduser())  # raises as pathlib does
    check_nothing_private(tmp_path)


def test_a_user_whom_the_system_does_not_know_is_reported_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 3_999_999)
    with pytest.raises(MissingError, match=r"account with the id 3999999 is missing.*Remedy"):
        server_account()


EVERYBODY = DEVICE.exists() and DEVICE.stat().st_mode & 0o006 == 0o006
"""Whether Linux gives every user the device of FUSE, as the package fuse3 has it; some machines give it to root alone."""
TRIALS = "start=NV variant=published"


@pytest.fixture
def place() -> Iterator[Path]:
    need_fusermount()
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
