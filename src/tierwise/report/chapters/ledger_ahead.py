"""Part of the chapter on what would change the verdicts: how far the disks read ahead, which their makers do not say."""

from typing import Final

import polars as pl

from tierwise.advisor.seeks import AHEAD_BYTES, ahead_bounds
from tierwise.core.units import KIB, MIB
from tierwise.core.words import Substrate
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
    """Return the rows of `frame` in which either end changes a time by `SHOWN`, the most changed first."""
    change = pl.max_horizontal(pl.col(end).log().abs() for end in ("least", "most"))
    return bounds.filter(change >= pl.lit(1 + SHOWN).log()).sort(change, descending=True, maintain_order=True)


def answer(run: Run, bounds: pl.DataFrame) -> Sentence:
    """Return how many of the recorded queries hang on it, and by how much at most."""
    if bounds.is_empty():
        return Sentence(
            "This run recorded no requests on emulated tiers, so that nothing tells how much of its times is the disks' read-ahead."
        )
    found = moved(bounds)
    told = "".join(
        f"; most of all {query_words(one['cell'])}, which takes {number(one['least'])} times as long with {LEAST} and "
        f"{number(one['most'])} times with {MOST}"
        for one in found.rows(named=True)[:1]
    )
    return Sentence(
        f"Of {count(len(bounds))} recorded queries of the published protocols {count(len(found))} take a tenth more or less of their "
        f"devices' time where disks read {LEAST} or {MOST} ahead{told} (**{Substrate.SIMULATED}**). {run.stamp}."
    )


def table(run: Run, bounds: pl.DataFrame) -> Table | Sentence:
    """Tabulate the queries whose time hangs on it, with both ends."""
    found = moved(bounds)
    if found.is_empty():
        return Sentence("")
    rows = [
        [query_words(row["cell"]), seconds(row["as_assumed_s"]), number(row["least"]), number(row["most"])]
        for row in found.rows(named=True)
    ]
    return Table(
        ["Query", "As assumed", LEAST, MOST],
        rows,
        "What the devices take of a cold query whose recorded requests are replayed with disks that read ahead as assumed, and how many "
        f"times as long where they read {LEAST} or {MOST} ahead. Queries that change by less than a tenth are left out. {run.stamp}, "
        f"**{Substrate.SIMULATED}**, n = {count(len(bounds))} recorded queries, of which {count(len(rows))} are shown; from the run's "
        "manifest and its recorded requests.",
        align="lrrr",
    )
