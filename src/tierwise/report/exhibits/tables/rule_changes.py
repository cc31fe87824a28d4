"""How the rules of verdicts changed."""

from typing import Final

import polars as pl

from tierwise.analysis.rule_marks import ADVICE
from tierwise.core.rule_history import load_rules
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, count
from tierwise.report.run import Run

UNIT: Final = "changes"
OF_RUN: Final = "nothing"
HEADER: Final = ["Day", "Statements", "Rule before", "Rule now", "What we had seen"]
GROUPS: Final = {"all": "all", "orders": "orders", "cases": "with several cases", ADVICE: "advice"}
MANY: Final = 12  # the number of statements from which on a change counts them


def rows(run: Run, pair: str = "") -> pl.DataFrame:  # noqa: ARG001  nothing of it hangs on a run
    return pl.DataFrame([change.model_dump(mode="json") for change in load_rules().changes])


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = [
        [
            row["day"],
            ", ".join(GROUPS.get(name, name) for name in row["claims"]) if len(row["claims"]) < MANY else count(len(row["claims"])),
            row["before"] or DASH,
            row["now"],
            row["seen"] or "no result",
        ]
        for row in rows.rows(named=True)
    ]
    return Cells(HEADER, cells, "lllll")
