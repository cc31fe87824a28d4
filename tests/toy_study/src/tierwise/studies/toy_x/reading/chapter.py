"""Chapter on source X: how much of the time is left on flash."""

from functools import partial
from typing import Final

import altair as alt
import polars as pl

from tierwise.analysis.views import ROWS
from tierwise.core import studies
from tierwise.report import theme
from tierwise.report.display import Figure, Sentence, Table
from tierwise.report.figures import parts
from tierwise.report.formats import count, number, percent
from tierwise.report.no_answer import answered, in_place
from tierwise.report.run import Run
from tierwise.report.words import claim_sentence

STUDY: Final = "toy_x"
CLAIM: Final = "X1"
PLACES: Final = {"hdd": "on disks", "ssd": "on flash"}
MEDIANS: Final = """
    select tier, count(*) as n, median(elapsed_s) as median_s, median(ratio) as ratio, median(result_rows) as answer
    from toy_x where pair = ? and not flagged group by tier having enough(elapsed_s) order by tier
"""


def answer(run: Run, pair: str) -> Sentence:
    """Return the median ratio; where too few repeats are clean, why."""
    return answered(run, STUDY, pair, partial(_answer, pair=pair))


def _answer(run: Run, pair: str) -> str:
    known = {row["tier"]: row for row in run.query(MEDIANS, [pair]).rows(named=True)}
    return f"On flash the search takes {percent(known['ssd']['ratio'])} of the time." if known.keys() >= PLACES.keys() else ""


def times(run: Run, pair: str, searches: pl.DataFrame) -> Figure | Sentence:
    """Every observation, by tier.

    `searches`: tier, replicate, elapsed_s and flagged of each.
    """
    if searches.is_empty():
        return in_place(run, STUDY, pair)
    chart = (
        alt.Chart(searches, width=parts.PLOT_PX, description="Times of the search by tier")
        .mark_circle(size=40, color=theme.BLUE)
        .encode(
            x=alt.X("elapsed_s:Q", title="seconds", scale=alt.Scale(type="log")),
            y=alt.Y("tier:N", title=None),
            tooltip=["tier:N", "replicate:Q", "elapsed_s:Q"],
        )
    )
    return Figure(chart, f"Seconds of every search. {run.note(pair, len(searches), 'searches', _query())}", parts.BESIDE_PX, searches)


def seconds(run: Run, pair: str) -> Table | Sentence:
    """Medians by tier."""
    rows = run.query(MEDIANS, [pair]).rows(named=True)
    if not rows:
        return in_place(run, STUDY, pair)
    return Table(
        ["Catalog", "Searches", "Sources found", "Median, s", "Of the disks' time"],
        [[PLACES[row["tier"]], count(row["n"]), count(int(row["answer"])), number(row["median_s"]), percent(row["ratio"])] for row in rows],
        f"Medians of clean searches. {run.note(pair, sum(row['n'] for row in rows), 'searches', _query())}",
        align="lrrrr",
    )


def _query() -> str:
    return studies.path(STUDY, ROWS)


def verdict(run: Run) -> Sentence:
    """Return what became of the statement."""
    found = run.verdict(CLAIM)
    return Sentence(claim_sentence(found) if found else "The statement is not among the published ones.")
