"""Every case of the statements about several cases, with its p-values."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count
from tierwise.report.run import Run
from tierwise.report.words import case_name, estimated, marked, tested

UNIT: Final = "cases"


def rows(run: Run, pair: str = "") -> pl.DataFrame:  # noqa: ARG001  of all pairs
    cases = [(claim.id, case) for claim in run.verdicts if len(claim.cases) > 1 for case in claim.cases]
    cells = [(name, case_name(one.case), estimated(one), count(one.pairs), tested(one), marked(one.verdict)) for name, one in cases]
    return pl.DataFrame(cells, orient="row")


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(["Claim", "Case", "Found (95 % interval)", "Replicates", "p; after Holm", "Verdict"], rows.rows(), "lllrrl")
