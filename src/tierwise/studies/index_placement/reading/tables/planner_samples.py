"""What the planner estimates at the published size, by the order of the rows and by how much ANALYZE looks at."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, between, count, span
from tierwise.studies.index_placement.reading.planner import FIGURES, PLACES, PUBLISHED, samples

SOURCE: Final = samples
UNIT: Final = "runs of ANALYZE"
ORDERS: Final = {"state": "state by state", "random": "at random"}
"""Order of the rows of the sampled table."""
HEADER: Final = ["Order of rows", "Statistics target", "Correlation", "Values listed"]


def tabulate(rows: pl.DataFrame) -> Cells:
    published = (count(round(PUBLISHED[code][name])) if name == "rows" else f"{PUBLISHED[code][name]:,.2f}" for code, name in FIGURES)
    cells = [["the census study", DASH, DASH, DASH, *published]]
    for (order, target), part in rows.group_by("order", "statistics_target", maintain_order=True):
        known = [between(*_ends(part["correlation"])), span(part["most_common"])]
        figures = (between(*_ends(part[f"{name}_{code}"]), 3) for code, name in FIGURES)
        cells.append([ORDERS.get(str(order), str(order)), count(int(str(target))), *known, *figures])
    return Cells([*HEADER, *(text for code in PUBLISHED for text in (f"{PLACES[code]}: rows", "cost"))], cells, "lrrrrrrr")


def _ends(values: pl.Series) -> tuple[float, float]:
    return min(values), max(values)
