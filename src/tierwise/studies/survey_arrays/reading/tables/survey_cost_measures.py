"""H13 by the terabyte, which is the source's measure, for each size of the database, and by other measures."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, interval, number
from tierwise.report.run import Run
from tierwise.studies.survey_arrays.reading.names import QUERIES

UNIT: Final = "measures"
EVIDENCE: Final = "published"
CLAIM: Final = "H13"
OWN: Final = "a terabyte"
SCHEMA: Final = {**dict.fromkeys(("measure", "case", "verdict"), pl.String), **dict.fromkeys(("ratio", "low", "high"), pl.Float64)}


def measures(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001 - a verdict knows its pair
    """Return the cost on SSDs over that on disks: every case of the source's measure, and the case that decides of each other one."""
    claim = run.verdict(CLAIM)
    own = [(OWN, one.case, one.verdict.mark, one.estimate, one.low, one.high) for one in claim.cases] if claim else []
    others = [(one.variant, one.deciding_case, one.verdict.mark, one.estimate, one.low, one.high) for one in claim.others] if claim else []
    return pl.DataFrame([*own, *others], schema=SCHEMA, orient="row").drop_nulls("ratio")


SOURCE: Final = measures


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = [
        [measure, _words(case), f"{number(ratio)} ({interval(low, high)})" if low is not None else DASH, verdict]
        for measure, case, verdict, ratio, low, high in rows.rows()
    ]
    return Cells(["Measured by", "Case", "SSDs over disks", "H13"], cells, "llrl")


def _words(case: str) -> str:
    what = case.removeprefix("SSDs over disks").removeprefix(", ")
    return QUERIES.get(what, what) or DASH
