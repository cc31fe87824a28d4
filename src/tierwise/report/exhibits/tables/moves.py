"""Savings of moves that `advise` predicts for watched servers, beside what was measured after each move."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import MINUS, NBSP, difference
from tierwise.report.run import Run
from tierwise.report.values.validation import ADVICE, load, moves

UNIT: Final = "moves"
OF_RUN: Final = "nothing"
HEADER: Final = ("Load", "Moves", "Measured saving", "Medium", "Within 20 %", "Largest difference", "In the range", "Before the change")


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  nothing of it hangs on a run
    return pl.DataFrame([{name: value for name, value in one.items() if name != "place"} for one in moves(load(*ADVICE)["rows"])])


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = []
    for (name,), own in rows.group_by(["load"], maintain_order=True):
        medium = own.filter(pl.col("medium"))
        worst = max(medium["off"], key=abs, default=None)
        cells.append(
            [
                str(name),
                str(own.height),
                " to ".join(dict.fromkeys(f"{100 * end:.0f}" for end in (min(own["saved"]), max(own["saved"])))).replace("-", MINUS)
                + f"{NBSP}%",
                str(medium.height),
                str(medium["close"].sum()),
                "none" if worst is None else (str if abs(worst) <= 0.2 else "**{}**".format)(difference(1 + worst)),
                f"{own['held'].sum()} of {own.height}",
                "yes" if own["before_the_rule"].all() else "no",
            ]
        )
    return Cells(HEADER, cells, "lrrrrrrl")
