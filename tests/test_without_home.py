"""Notebooks run, and nothing private is looked for in vain, where the user's home is full, absent or unknown."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import nbformat
import pytest

from tierwise.core import paths
from tierwise.core.errors import MissingError
from tierwise.postgres.workspace import server_account
from tierwise.timings.private import check_nothing_private

EXECUTE = """
import sys
from pathlib import Path
from tierwise.pipeline import execute, kernels
with kernels():
    execute(Path(sys.argv[1]), "run")
"""


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """Provide a home in which no byte is left."""
    if os.geteuid():
        pytest.skip("only root can mount a small disk")
    home = tmp_path / "full"
    home.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", home], check=True)
    try:
        with (home / "filler").open("wb", buffering=0) as filler, suppress(OSError):
            while True:
                filler.write(bytes(4096))
        yield home
    finally:
        subprocess.run(["umount", home], check=True)


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
