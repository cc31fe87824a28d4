"""What several tests need: commands, programs beside them, the run that is kept with the tests, and real excerpts."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest
from typer.testing import CliRunner

from tierwise.cli import app
from tierwise.core import paths

SMOKE_RAW: Final = Path(__file__).parent / "smoke"
"""The folder of the smoke run that is kept with the tests, of every study; `scripts/keep_smoke.py` measures it."""
(SMOKE_RUN,) = SMOKE_RAW.glob("[!.]*/")

BUSY: Final = (sys.executable, "-S", "-c", "while True: pass")


@contextmanager
def beside(*command: str | Path, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program beside what is done inside, and kill it."""
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def said(*arguments: str) -> str:
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def said_as_json(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(*arguments, "--format", "json"))
    return found


def smoke_with(rows: pl.DataFrame, raw: Path) -> Path:
    """Copy the kept smoke run below `raw`, with these rows."""
    folder = Path(shutil.copytree(SMOKE_RUN, raw / SMOKE_RUN.name))
    rows.write_parquet(folder / "timings.parquet")
    return folder


def shared(*parts: str) -> Path:
    """Return a file of the shared real excerpts; skips, saying why, where they are absent."""
    path = paths.home().parent.joinpath("shared", *parts)
    if not path.exists():
        pytest.skip(f"the real excerpts are not on this machine: no {'/'.join(('../shared', *parts))}")
    return path
