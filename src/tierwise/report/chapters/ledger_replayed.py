"""What the parts of the chapter on what would change the verdicts share that replay recorded queries: which of these, and their table."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import polars as pl

from tierwise.core.vocabulary import Cache, Evidence
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import count
from tierwise.report.run import Run
from tierwise.report.words import query_words

NOTHING: Final = "This run recorded no requests on emulated tiers, so that nothing tells how much of its times"
"""The beginning of what is said where there is nothing to replay."""


def cold(bounds: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `bounds` (columns of `advisor.seeks.QUERY` among others) that are cold queries with a record of their own."""
    return bounds.filter(pl.col("cache") == Cache.COLD, ~pl.col("lent"))


def table(
    run: Run, bounds: pl.DataFrame, shown: pl.DataFrame, columns: Mapping[str, Callable[[dict[str, Any]], str]], told: str
) -> Table | Sentence:
    """Tabulate the queries `shown` of `bounds`, a row each, with `columns` (header -> cell); the caption begins with `told`."""
    if shown.is_empty():
        return Sentence("")
    rows = [[query_words(row["cell"]), *(cell(row) for cell in columns.values())] for row in shown.rows(named=True)]
    return Table(
        ["Query", *columns],
        rows,
        f"{told} {run.stamp}, **{Evidence.SIMULATED}**, n = {count(len(bounds))} recorded queries, of which {count(len(rows))} are shown; "
        "from the run's manifest and its recorded requests.",
        align="l" + "r" * len(columns),
    )
