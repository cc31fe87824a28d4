"""The data sets of the run: source, rows and digest."""

from typing import Final

import polars as pl

from tierwise.core.data_sets import published_rows
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, count, percent
from tierwise.report.run import Run

UNIT: Final = "data sets"


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of the whole run
    found = []
    for record in run.manifest.datasets:
        whole = published_rows(record.name)
        share = percent(record.rows / whole) if whole else DASH
        digest = f"`{record.sha256[:16]}`" if record.sha256 else DASH
        used_by = ", ".join(f"`{study}`" for study in record.studies) or DASH
        found.append((record.name, f"`{run.manifest.source_of(record)}`", count(record.rows), share, digest, used_by))
    return pl.DataFrame(found, orient="row")


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(["Data", "Source", "Rows", "Share of published rows", "SHA-256", "Used by"], rows.rows(), "llrrll")
