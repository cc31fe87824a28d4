"""Mean service times of real drives, measured and predicted, by part of their traces."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import NBSP, count, difference
from tierwise.report.run import Run
from tierwise.report.values.validation import MODELS, load

UNIT: Final = "parts of traces"
OF_RUN: Final = "nothing"
PARTS: Final = {
    "first_half": "first half (fitted)",
    "second_half": "second half",
    "own_electronics": "all; own electronics, nothing fitted",
}


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  nothing of it hangs on a run
    return pl.DataFrame([{**drive[part], "drive": drive["drive"], "part": part} for drive in load(*MODELS)["drives"] for part in PARTS])


def tabulate(rows: pl.DataFrame) -> Cells:
    times = ("mean_measured_s", "mean_predicted_s")
    cells = [
        [
            f"`{row['drive']}`",
            PARTS[row["part"]],
            count(row["n"]),
            *(f"{row[name] * 1e3:.3f}{NBSP}ms" for name in times),
            difference(1 + row["mean_error"]),
            f"{100 * row['demerit']:.1f}{NBSP}%",
        ]
        for row in rows.rows(named=True)
    ]
    return Cells(["Drive", "Part of the trace", "Requests", "Measured", "Simulated", "Error of the mean", "Demerit"], cells, "llrrrrr")
