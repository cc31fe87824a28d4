"""The transactions of one repetition of a trial, which a test expects to be there."""

from pathlib import Path

import polars as pl

from tierwise.timings.trial_files import TRANSACTIONS, TrialKey


def read_transactions(run_folder: Path, key: TrialKey, replicate: int) -> pl.DataFrame:
    rows = TRANSACTIONS.read(run_folder, key, replicate)
    assert rows is not None
    return rows
