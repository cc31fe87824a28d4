"""The answer: for each workload what to move to the SSD, and how much faster it is then, on drives of today and on the sources'."""

from typing import Final

import polars as pl

from tierwise.advisor.ranking import SPEEDUP
from tierwise.analysis.model_interval import Key
from tierwise.report.estimates import cell
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import number
from tierwise.report.reference import open_reference
from tierwise.report.run import Run
from tierwise.report.values.front import MODEL, advice, answers, beside
from tierwise.report.values.workloads import title

UNIT: Final = "paired replicates"
SOURCE_PAIRS, REFERENCE = "source", "reference"
TITLES: Final = {SOURCE_PAIRS: "The studies' drives", REFERENCE: "The reference run"}
NOT_MEASURED: Final = "not measured"
UNCLEAR: Final = "unclear: "  # the drives' unknown values can turn the advice
PROCESSORS: Final = "; with processors "
NOT_COMPARABLE: Final = "not comparable"  # the drives of today were slowed by another factor than the source's


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of all pairs
    """Return the rows of `front.answers` with `whose`: a pair of today, the sources' drives, or the reference run's."""
    reference = None if run.is_reference else open_reference()
    parts = {one: answers(run, one) for one in run.manifest.todays_pairs if one != run.manifest.reader_pair}
    parts[SOURCE_PAIRS] = answers(run)
    parts |= {REFERENCE: answers(reference)} if reference else {}
    return pl.concat(part.with_columns(whose=pl.lit(whose), flag=pl.lit("none")) for whose, part in parts.items())


def facts(rows: pl.DataFrame) -> dict[str, object]:
    """Return the cells, among them the reasons that stand in place of an answer, and whether one has a model interval, for the caption."""
    found = tabulate(rows)
    cells = {cell for row in found.rows for cell in row} if found else set()
    marks = {"with_model": MODEL, "unclear": UNCLEAR, "processors": PROCESSORS}
    fewer = rows.group_by("workload", maintain_order=True).agg(pl.col("queries").n_unique()).filter(pl.col("queries") > 1)["workload"]
    return {
        "reasons": cells,
        "fewer": [str(one).partition(" (")[0] for one in fewer],
        **{name: any(mark in cell for cell in cells) for name, mark in marks.items()},
    }


def tabulate(rows: pl.DataFrame) -> Cells | None:
    own = rows.filter(whose=SOURCE_PAIRS)
    if own.is_empty():
        return None
    groups = {str(whose): part for (whose,), part in rows.group_by("whose", maintain_order=True)}
    kinds = dict(own.group_by("workload").agg(pl.col("evidence").unique().sort().str.join(", ")).rows())
    cells = [
        [str(workload), *(_advice(part, str(workload)) for part in groups.values()), kinds[workload]]
        for workload in own["workload"].unique(maintain_order=True)
    ]
    return Cells(["Workload", *(TITLES.get(whose) or title(whose) for whose in groups), "Evidence"], cells, "l" * (len(groups) + 2))


def _advice(rows: pl.DataFrame, workload: str) -> str:
    found = rows.filter(workload=workload)
    if found.is_empty():
        return NOT_MEASURED
    best = NOT_COMPARABLE if not found["comparable"].all() else advice(found)
    if isinstance(best, str):
        return best
    key = Key(found["pair"][0], SPEEDUP, workload, best[0], "", found["io_mode"][0])
    least = found.filter(placement=best[0])["with_processors"][0]
    processors = f"{PROCESSORS}{number(least)}" if least is not None else ""
    return f"{UNCLEAR if found['unclear'].any() else ''}{best[0]}, {cell(best[1])}{beside(key, best[1])}{processors}"
