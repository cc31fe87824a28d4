"""Transactions of a load: each one of a trial in a replicate, beside the raw rows that count them (`trial_files`)."""

from pathlib import Path
from typing import Any, Final

import polars as pl

from tierwise.core.errors import InputError
from tierwise.timings.parquet import named
from tierwise.timings.trial_files import TrialFiles, TrialKey

FOLDER: Final = "transactions"
TRANSACTIONS: Final[dict[str, Any]] = {  # columns of the table; some of its rows lie before and after the phases of the window
    "client": pl.Int32,
    "ended_s": pl.Float64,  # seconds of the Unix epoch
    "latency_s": pl.Float64,  # from its first statement to its end
}

FILES: Final = TrialFiles(FOLDER, TRANSACTIONS, by_replicate=True)


def write_transactions(run_folder: Path, key: TrialKey, replicate: int, rows: pl.DataFrame) -> None:
    FILES.write(run_folder, key, rows, replicate)


def read_transactions(run_folder: Path, key: TrialKey, replicate: int) -> pl.DataFrame:
    rows = FILES.read(run_folder, key, replicate)
    if rows is None:
        where = named(FILES.path(run_folder, key, replicate), run_folder)
        raise InputError(where, rule="the run has no transactions of this trial and repetition")
    return rows
