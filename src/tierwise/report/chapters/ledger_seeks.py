"""Part of the chapter on what would change the verdicts: how much of the times of queries is in seeks that were stretched."""

from typing import Final

import polars as pl

from tierwise.advisor.seeks import seek_bounds
from tierwise.core.vocabulary import Evidence
from tierwise.report.chapters import ledger_replayed
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import MINUS, count, percent, seconds
from tierwise.report.run import Run
from tierwise.report.words import query_words

SHOWN: Final = 0.01
"""The least part of a query's time that is told query by query."""


def frame(run: Run) -> pl.DataFrame:
    """Return `seek_bounds` of the run, with `part`: what of a time goes where the seeks are as the files lie."""
    found = seek_bounds(run.connection, run.folder)
    return found.with_columns(part=1 - pl.col("as_they_lie_s") / pl.col("stretched_s"))


def answer(run: Run, bounds: pl.DataFrame) -> Sentence:
    """Return how many of the recorded queries hang on the stretch at all, and by how much at most."""
    if bounds.is_empty():
        return Sentence(f"{ledger_replayed.NOTHING} is the stretch.")
    moved = bounds.filter(pl.col("part") >= SHOWN)
    most = moved.sort("part", descending=True).rows(named=True)[:1]
    told = "".join(f"; most, {percent(one['part'])}, has {query_words(one['cell'])}" for one in most)
    return Sentence(
        f"Of {count(len(bounds))} recorded queries of the published protocols {count(len(moved))} have a hundredth or more of their "
        f"devices' time in stretched seeks{told} (**{Evidence.SIMULATED}**). {run.stamp}."
    )


def table(run: Run, bounds: pl.DataFrame) -> Table | Sentence:
    return ledger_replayed.table(
        run,
        bounds,
        bounds.filter(pl.col("part") >= SHOWN),
        {
            "Seeks stretched": lambda row: count(round(row["stretch"])),
            "Stretched": lambda row: seconds(row["stretched_s"]),
            "As the file lies": lambda row: seconds(row["as_they_lie_s"]),
            "Difference": lambda row: f"{MINUS}{percent(row['part'])}",
        },
        "What the devices take of a cold query whose recorded requests are replayed with seeks stretched, as the run's tiers had them, and "
        "as the scaled-down file lies: the two ends between which a seek of the published size is. Queries that lose less than "
        f"{percent(SHOWN)} are left out.",
    )
