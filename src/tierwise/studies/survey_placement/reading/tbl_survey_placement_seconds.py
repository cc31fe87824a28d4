"""Medians by query and placement, what each placement gains beside how much of the time it moves, and the source's bars."""

from typing import Any, Final

import polars as pl

from tierwise.analysis.statistics import enough
from tierwise.report.estimates import cell, estimates
from tierwise.report.exhibit_registry import Cells
from tierwise.report.figures.places import published_seconds
from tierwise.report.formats import DASH, number, percent
from tierwise.studies.survey_placement.reading.names import BASE, PLACEMENTS, QUERIES, STUDY

UNIT: Final = "queries"
HEADER: Final = ["Query", "Placement", "Median, s", "Speed-up", "Time over disks", "Reads moved", "Published, s", "Published speed-up"]


def tabulate(rows: pl.DataFrame) -> Cells | None:
    clean, gains = rows.filter(flag="none"), estimates(rows, ["query", "placement"], "speedup")
    parts = {(query, place): clean.filter(query=query, placement=place) for query in QUERIES for place in PLACEMENTS}
    cells = [_row(*key, part, "1" if key[1] == BASE else cell(gains.get(key))) for key, part in parts.items() if enough(part.height)]
    return Cells(HEADER, cells, "llrrrrrr") if cells else None


def _row(query: str, place: str, clean: pl.DataFrame, gain: str) -> list[str]:
    middle: dict[str, Any] = clean.select(pl.col("elapsed_s", "ratio", "moved_share").median()).row(0, named=True)
    bars = published_seconds(STUDY)
    bar, base = bars.get((query, place)), bars.get((query, BASE))
    return [
        QUERIES[query],
        PLACEMENTS[place],
        number(middle["elapsed_s"]),
        gain,
        *(DASH if middle[name] is None else percent(middle[name]) for name in ("ratio", "moved_share")),
        number(bar) if bar else DASH,
        number(base / bar) if bar and base else DASH,
    ]
