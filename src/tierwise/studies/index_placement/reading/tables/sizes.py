"""Sizes of the table and its indexes, published and here."""

from typing import Final

import polars as pl

from tierwise.core.data_sets import whole_rows
from tierwise.core.units import MIB
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import size
from tierwise.report.run import Run
from tierwise.studies.index_placement.reading.names import STUDY
from tierwise.studies.index_placement.reading.planner import facts_of

UNIT: Final = "relations"
PUBLISHED: Final = {"census": 1_010 * MIB, "census_pkey": 52 * MIB, "pob": 52 * MIB}
"""``relpages * 8 / 1024`` of the census study, in bytes."""


def rows(run: Run, pair: str) -> pl.DataFrame:
    record, found = run.manifest.data("census", STUDY), facts_of(run, pair).get("size_bytes") or {}
    share = record.rows / whole_rows("census") if record else 0.0
    rows = [(name, published, published * share, found[name]) for name, published in PUBLISHED.items() if name in found and share]
    return pl.DataFrame(rows, schema=["relation", "published_bytes", "at_scale_bytes", "size_bytes"], orient="row")


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(
        ["Relation", "Published", "At this scale", "Here"], [[f"`{name}`", *map(size, sizes)] for name, *sizes in rows.rows()], "lrrr"
    )
