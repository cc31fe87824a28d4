"""Predicted times of a job beside the measured ones, by placement."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, difference, seconds
from tierwise.report.run import Run
from tierwise.report.values.advice import errors, example
from tierwise.report.values.workloads import NAMES

UNIT: Final = "placements"
TIMES: Final = ("predicted_s", "seen_s", "low_s", "high_s", "error")
SCHEMA: Final = {"placement": pl.String, "evidence": pl.String, **dict.fromkeys(TIMES, pl.Float64)}


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of the example's pair
    found, off = example(run), errors(example(run))
    measured = found.workload.replayed if found.workload else {}
    cells = []
    for name, one in measured.items():
        seen = one.estimate
        times = (found.predicted_s(one.placement), seen.value, seen.low, seen.high, off.get(name))
        cells.append((NAMES[name], str(one.evidence), *times))
    return pl.DataFrame(cells, schema=SCHEMA, orient="row").filter(pl.col("predicted_s").is_not_null())


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(
        ["Placement", "Predicted", "Measured", "95 % interval", "Error"],
        [
            [
                row["placement"],
                seconds(row["predicted_s"]),
                DASH if row["seen_s"] is None else seconds(row["seen_s"]),
                DASH if row["low_s"] is None else f"{seconds(row['low_s'])} to {seconds(row['high_s'])}",
                DASH if row["error"] is None else difference(1 + row["error"]),
            ]
            for row in rows.rows(named=True)
        ],
        "lrrrr",
    )
