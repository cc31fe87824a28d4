"""The tiers of each pair."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH
from tierwise.report.run import Run

UNIT: Final = "tiers"


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of the whole run
    found = [
        (f"`{name}`", f"`{tier}`", str(spec.get("kind")), f"`{spec.get('device') or spec.get('directory')}`", str(spec.get("note") or DASH))
        for name, record in run.manifest.pairs.items()
        for tier, spec in record.get("tiers", {}).items()
    ]
    return pl.DataFrame(found, orient="row")


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(["Pair", "Tier", "Kind", "Device or directory", "Note"], rows.rows(), "lllll")
