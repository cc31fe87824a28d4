"""The placement for each space on the SSD, and how much longer a job takes with it than with the best of all placements."""

from typing import Final

import polars as pl

from tierwise.advisor.workload import FAST
from tierwise.core.units import GIB
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, difference, listed, seconds, size
from tierwise.report.run import Run
from tierwise.report.values.advice import example

UNIT: Final = "placements"
SCHEMA: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "ssd_bytes": pl.Float64,
    "on_ssd": pl.List(pl.String),
    "chosen_by": pl.String,
    "job_s": pl.Float64,
    "regret": pl.Float64,
}


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of the example's pair
    return pl.DataFrame(
        [
            (
                one.ssd_gib * GIB,
                [name for name, tier in one.placement.items() if tier == FAST],
                str(one.chosen_by),
                one.job_s,
                one.exhaustive.regret if one.exhaustive else None,
            )
            for one in example(run).advice
        ],
        schema=SCHEMA,
        orient="row",
    )


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(
        ["Space on SSD", "Belongs there", "Chosen by times", "A job (simulated)", "Beside the best of all (simulated)"],
        [
            [
                size(row["ssd_bytes"]),
                listed(f"`{name}`" for name in row["on_ssd"]) or DASH,
                row["chosen_by"],
                seconds(row["job_s"]),
                DASH if row["regret"] is None else difference(1 + row["regret"]),
            ]
            for row in rows.rows(named=True)
        ],
        "lllrr",
    )
