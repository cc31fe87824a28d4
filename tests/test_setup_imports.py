"""The contract behind `.importlinter`: a table of who may import whom, held exactly."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tierwise.core.paths import home

CONTRACT = """
[importlinter]
root_package = toy
contract_types =
    import table: scripts.import_table.ImportTable

[importlinter:contract:table]
name = toy
type = import table
root = toy
table =
"""
TABLE = ("low:", "high: low", "cli: *")


def lint(folder: Path, *table: str, **sources: str) -> subprocess.CompletedProcess[str]:
    """Run import-linter over a package `toy` with these modules."""
    package = folder / "toy"
    package.mkdir()
    for name, source in {"__init__": "", "low": "", "high": "", "cli": "from toy import high, low", **sources}.items():
        (package / f"{name}.py").write_text(source, encoding="utf-8")
    (folder / ".importlinter").write_text(CONTRACT + "".join(f"    {line}\n" for line in table), encoding="utf-8")
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    environment = {**os.environ, "PYTHONPATH": str(home()), "NO_COLOR": "1", "COLUMNS": "200"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_an_import_that_does_not_is_named_with_its_line(tmp_path: Path) -> None:
    done = lint(tmp_path, *TABLE, low="\nimport toy.high")
    assert done.returncode == 1
    assert "toy.low imports toy.high (line 2); low may not import high" in done.stdout


@pytest.mark.parametrize(
    ("table", "says"),
    [(TABLE[1:], "low has no line in the table"), ((*TABLE, "gone: low"), "gone has a line in the table and does not exist")],
)
def test_the_table_names_every_package_and_no_other(tmp_path: Path, table: tuple[str, ...], says: str) -> None:
    done = lint(tmp_path, *table)
    assert done.returncode == 1
    assert says in done.stdout
