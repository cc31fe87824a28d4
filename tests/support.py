"""What several tests need: commands, programs beside them, the run that is kept with the tests, and real excerpts."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest
from typer.testing import CliRunner

from tierwise.bench.inputs import Inputs
from tierwise.bench.loop import measure_study
from tierwise.bench.runs import begin_run, complete
from tierwise.cli import app
from tierwise.core import paths
from tierwise.timings.manifest import Manifest
from tierwise.timings.parts import read_rows, without_real_time_rows
from tierwise.timings.trial_files import TRANSACTIONS, TrialKey

SMOKE_RAW: Final = Path(__file__).parent / "smoke"
"""The folder of the smoke run that is kept with the tests, of every study; `scripts/keep_smoke.py` measures it."""
(SMOKE_RUN,) = SMOKE_RAW.glob("[!.]*/")
(SHIPPED_RUN,) = (Path(__file__).parents[1] / "data/reference").glob("[!.]*/")

needs_fuse = pytest.mark.skipif(
    not os.access("/dev/fuse", os.R_OK | os.W_OK), reason="no FUSE here: /dev/fuse cannot be opened, nothing can be emulated"
)
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


def waited_for(condition: Callable[[], object], within_s: float) -> bool:
    """Wait until `condition` holds, and return whether it did in time."""
    deadline_s = time.monotonic() + within_s
    while not (holds := condition()) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    return bool(holds)


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


def measured(study: str, inputs: Inputs) -> tuple[Manifest, pl.DataFrame]:
    """Measure one study in a new run, and return its manifest and its rows but those in real time."""
    folder = paths.raw() / begin_run(inputs, fresh=True).run_id
    measure_study(study, inputs, folder)
    return complete(folder.name), without_real_time_rows(read_rows(folder))


def read_transactions(run_folder: Path, key: TrialKey, replicate: int) -> pl.DataFrame:
    rows = TRANSACTIONS.read(run_folder, key, replicate)
    assert rows is not None
    return rows


def shared(*parts: str) -> Path:
    """Return a file of the shared real excerpts; skips, saying why, where they are absent."""
    path = paths.home().parent.joinpath("shared", *parts)
    if not path.exists():
        pytest.skip(f"the real excerpts are not on this machine: no {'/'.join(('../shared', *parts))}")
    return path
