"""Seconds of every query from empty caches, by placement."""

from typing import Final

import altair as alt
import polars as pl

from tierwise.report.figures import places
from tierwise.studies.survey_placement.reading.names import COLOURS, PLACEMENTS, QUERIES

UNIT: Final = "queries"


def draw(rows: pl.DataFrame) -> alt.VConcatChart:
    return places.by_place([(words, rows.filter(query=query)) for query, words in QUERIES.items()], PLACEMENTS, COLOURS)
