"""Part of the chapter on what would change the verdicts: how far the disks read ahead, which their makers do not say."""

from typing import Final

import polars as pl

from tierwise.advisor.seeks import AHEAD_BYTES, ahead_bounds
from tierwise.core.units import KIB, MIB
from tierwise.core.vocabulary import Evidence
from tierwise.report.chapters import ledger_replayed
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import count, number, seconds
from tierwise.report.run import Run
from tierwise.report.words import query_words

SHOWN: Final = 0.1
"""The least change of a query's time that is told query by query."""
LEAST: Final = f"{AHEAD_BYTES[0] // KIB} KiB"
MOST: Final = f"{AHEAD_BYTES[1] // MIB} MiB"


def frame(run: Run) -> pl.DataFrame:
    """Return `ahead_bounds` of the run, with `least` and `most`: how many times as long a query takes of its devices then."""
    found = ahead_bounds(run.connection, run.folder)
    return found.with_columns((pl.col(f"{end}_s") / pl.col("as_assumed_s")).alias(end) for end in ("least", "most"))


def moved(bounds: pl.DataFrame) -> pl.DataFrame:
    """Return the cold queries of `frame` with a record of their own in which either end changes a time by `SHOWN`, the most changed
    first.
    """
    change = pl.max_horizontal(pl.col(end).log().abs() for end in ("least", "most"))
    told = ledger_replayed.cold(bounds).filter(change >= pl.lit(1 + SHOWN).log())
    return told.sort(change, descending=True, maintain_order=True)


def answer(run: Run, bounds: pl.DataFrame) -> Sentence:
    if bounds.is_empty():
        return Sentence(f"{ledger_replayed.NOTHING} is the disks' read-ahead.")
    found = moved(bounds)
    told = "".join(
        f"; most of all {query_words(one['cell'])}, which takes {number(one['least'])} times as long with {LEAST} and "
        f"{number(one['most'])} times with {MOST}"
        for one in found.rows(named=True)[:1]
    )
    return Sentence(
        f"Of {count(len(ledger_replayed.cold(bounds)))} recorded queries of the published protocols {count(len(found))} take a tenth more "
        f"or less of their devices' time where disks read {LEAST} or {MOST} ahead{told} (**{Evidence.SIMULATED}**). {run.stamp}."
    )


def table(run: Run, bounds: pl.DataFrame) -> Table | Sentence:
    return ledger_replayed.table(
        run,
        ledger_replayed.cold(bounds),
        moved(bounds),
        {
            "As assumed": lambda row: seconds(row["as_assumed_s"]),
            LEAST: lambda row: number(row["least"]),
            MOST: lambda row: number(row["most"]),
        },
        "What the devices take of a cold query whose recorded requests are replayed with disks that read ahead as assumed, and how many "
        f"times as long where they read {LEAST} or {MOST} ahead. Queries that change by less than a tenth are left out.",
    )
