"""Transactions of a load: each one of a trial in a block, kept with the run beside the raw rows that count them.

``data/raw/<run id>/transactions/<study>/<pair>/<trial>/<block>.parquet``, the trial's key being folders.
"""

from pathlib import Path
from typing import Any, Final

import polars as pl

from tierwise.core.errors import InputError
from tierwise.timings.parquet import keep_whole, read_whole
from tierwise.timings.references import places
from tierwise.timings.traces import TraceKey

FOLDER: Final = "transactions"
TRANSACTIONS: Final[dict[str, Any]] = {
    "client": pl.Int32,
    "ended_s": pl.Float64,  # seconds of the Unix epoch
    "latency_s": pl.Float64,  # from its first statement to its end
}
"""Columns of the file; some of its rows lie before and after the phases of the window."""


def transactions_path(run_folder: Path, key: TraceKey, block: int) -> Path:
    """Return where the transactions of a trial in a block lie."""
    return run_folder / FOLDER / key.study / key.pair / key.trial / f"{block}.parquet"


def write_transactions(run_folder: Path, key: TraceKey, block: int, rows: pl.DataFrame) -> None:
    """Keep them, whole or not at all; those of a trial that was killed before its rows were written are replaced."""
    path = transactions_path(run_folder, key, block)
    _check(rows, str(path.relative_to(run_folder.parent)))
    keep_whole(rows, path)


def read_transactions(run_folder: Path, key: TraceKey, block: int) -> pl.DataFrame:
    """Read the transactions of a trial in a block. `InputError` where there are none or the file is not one."""
    there = (transactions_path(folder, key, block) for folder in places(run_folder, key.study, key.pair, block))
    path = next((path for path in there if path.exists()), transactions_path(run_folder, key, block))
    where = str(path.relative_to(run_folder.parent))
    rows = read_whole(path, where)
    _check(rows, where)
    return rows


def _check(rows: pl.DataFrame, where: str) -> None:
    if dict(rows.schema) != TRANSACTIONS:
        raise InputError(where, field="columns", value=str(dict(rows.schema)), rule=f"must be {TRANSACTIONS}")
