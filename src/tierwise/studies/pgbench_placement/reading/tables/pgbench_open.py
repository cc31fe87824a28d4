"""The gain of the indexes at each setting that the source leaves open: memory for pages, and clients."""

from typing import Final

import polars as pl

from tierwise.analysis.rules import Verdict
from tierwise.core.vocabulary import Evidence
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, interval, number
from tierwise.report.run import Run

EVIDENCE: Final = Evidence.SIMULATED
UNIT: Final = "settings"
CLAIM: Final = "V1"
MARKS: Final = {str(Verdict.CONFIRMED): "**{}**", str(Verdict.UNDECIDED): "{}?"}


def source(run: Run, _: str) -> pl.DataFrame:
    """Return a row for each setting: the gain with its interval, and whether it lies within the published bounds."""
    claim = run.verdict(CLAIM)
    points = claim.open_map.points if claim and claim.open_map else ()
    return pl.DataFrame(
        [{**point.setting, "gain": point.estimate, "low": point.low, "high": point.high, "verdict": str(point.verdict)} for point in points]
    )


SOURCE: Final = source


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = [MARKS.get(verdict, "{}").format(f"{number(gain)} ({interval(low, high)})") for _, _, gain, low, high, verdict in rows.rows()]
    wide = rows.select("memory", "clients", cell=pl.Series(cells)).pivot("clients", index="memory", values="cell").fill_null(DASH)
    return Cells(["Memory", *(f"Clients: {clients}" for clients in wide.columns[1:])], wide.rows(), "l" + "r" * (wide.width - 1))
