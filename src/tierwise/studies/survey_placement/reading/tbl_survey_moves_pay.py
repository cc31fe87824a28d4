"""After how many jobs a move there and back has paid: a job is one query."""

from typing import Final

import polars as pl

from tierwise.analysis.statistics import Estimate
from tierwise.report.estimates import cell
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import MINUS, seconds
from tierwise.report.run import Run
from tierwise.studies.survey_placement.reading.money import MOVED, moves_of, plans_of
from tierwise.studies.survey_placement.reading.names import QUERIES

UNIT: Final = "repeats"
SCHEMA: Final = {
    **dict.fromkeys(("placement", "query"), pl.String),
    **dict.fromkeys(("move_s", "saved_s", "jobs", "low", "high"), pl.Float64),
    "pairs": pl.Int64,
}


def rows(run: Run, pair: str) -> pl.DataFrame:
    """Return what each move takes, what a job saves, and after how many jobs the move has paid; null where a job saves nothing."""
    rows = [
        (*key, plan.there_s + plan.back_s, plan.saved_s, plan.break_even_jobs, plan.low, plan.high, plan.pairs)
        for key, plan in plans_of(run.store, pair, moves_of(run.store, pair)).items()
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def facts(rows: pl.DataFrame) -> dict[str, object]:
    return {"n": rows["pairs"].sum()}


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = [
        [MOVED[placement], QUERIES[query], seconds(move_s), seconds(saved_s).replace("-", MINUS), cell(Estimate(jobs, low, high, pairs))]
        for placement, query, move_s, saved_s, jobs, low, high, pairs in rows.rows()
    ]
    return Cells(["Moved", "Query", "There and back", "Saved per query", "Pays after (queries)"], cells, "llrrr")
