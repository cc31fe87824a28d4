"""What the machine refuses is reported in one line, with its cause and what a reader can do; nothing that was killed stays half done."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import polars as pl
import pytest

from emulation import small_disk
from tierwise.cli import main
from tierwise.core import paths
from tierwise.core.errors import GO_ON, TierwiseError, with_remedy
from tierwise.timings.parquet import keep_whole


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("[Errno 28] No space left on device: 'x.part'", "free space on that disk"),
        ('could not extend file "base/5/1": Read-only file system\nHINT: none', "mount that file system writable"),
        ("underlying IO error: Input/output error (os error 5)", "the disk or its mount failed"),
        ("server closed the connection unexpectedly", "remove the cause"),
    ],
)
def test_a_remedy_goes_with_what_the_system_says(said: str, remedy: str) -> None:
    reported = with_remedy(said)
    assert "\n" not in reported
    assert reported.startswith(said.split("\n", maxsplit=1)[0])
    assert f"Remedy: {remedy}" in reported
    assert reported.endswith(GO_ON)
    assert with_remedy(reported) == reported


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


def test_rows_for_which_there_is_no_space_leave_nothing_half_written(full: Path) -> None:
    """Polars' own error is no `OSError`, and ended in a traceback."""
    with pytest.raises(TierwiseError, match=r"rows\.parquet cannot be written.*Remedy: free space on that disk"):
        keep_whole(pl.DataFrame({"a": pl.Series(range(100_000)).shuffle(1)}), full / "new" / "rows.parquet")
    assert [path.name for path in full.rglob("*")] == ["new"]


def test_a_folder_for_which_there_is_no_space_is_reported_by_its_first_file(
    full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python tells every file that it could not copy, in one long line of brackets."""
    source = tmp_path / "source"
    source.mkdir()
    for number in range(3):
        (source / f"file-{number}").write_bytes(bytes(2**17))
    monkeypatch.setattr("tierwise.cli.app", lambda **_: shutil.copytree(source, full / "copy"))
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == 1
    assert said.startswith("tierwise: [Errno 28] No space left on device")
    assert said.count("file-") <= 2, "from where, and to where"
    assert said.endswith(f"Remedy: free space on that disk; {GO_ON}\n")


def executed_alone(notebook: Path, cell: str) -> subprocess.CompletedProcess[str]:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, notebook)
    program = (
        "import sys; from pathlib import Path; from tierwise.core.errors import TierwiseError; from tierwise.pipeline import execute\n"
        "try: execute(Path(sys.argv[1]), 'run')\n"
        "except TierwiseError as error: print(error)"
    )
    command = [sys.executable, "-W", "ignore", "-c", program, str(notebook)]
    return subprocess.run(command, cwd=paths.home(), capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("name", "requested"), [("run-study", True), ("show-chapter", False)])
@pytest.mark.usefixtures("raw")
def test_a_kernel_that_measures_is_requested_to_end_and_others_are_ended(name: str, requested: bool, tmp_path: Path) -> None:
    put_away = tmp_path / "put-away"
    done = executed_alone(tmp_path / f"{name}.ipynb", f"import atexit, pathlib; atexit.register(pathlib.Path({str(put_away)!r}).touch)")
    assert done.returncode == 0, done.stderr
    assert put_away.exists() == requested


def test_a_kernel_that_is_killed_is_reported_and_its_half_goes(raw: Path, tmp_path: Path) -> None:
    """A process ends as it does where memory is short."""
    done = executed_alone(tmp_path / "killed.ipynb", f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})")
    assert done.returncode == 0, done.stderr
    assert "killed: its kernel ended" in done.stdout
    assert f"Remedy: {GO_ON}" in done.stdout
    assert list((raw / "run" / "notebooks").iterdir()) == []
