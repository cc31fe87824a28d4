"""After how many jobs copying relations to the SSD and back pays."""

from typing import Final

import polars as pl

from tierwise.advisor.moving import move_of
from tierwise.advisor.workload import FAST
from tierwise.core.vocabulary import Way
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, interval, number, seconds
from tierwise.report.run import Run
from tierwise.report.values.advice import example
from tierwise.report.values.workloads import NAMES

UNIT: Final = "moves"
TIMES: Final = ("there_s", "back_s", "saved_s", "jobs", "low", "high")
SCHEMA: Final = {"placement": pl.String, "way": pl.String, "evidence": pl.String, **dict.fromkeys(TIMES, pl.Float64)}
WAYS: Final = {Way.SERVER: "page by page", Way.BANDWIDTH: "at bandwidth"}


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of the example's pair
    found, cells = example(run), []
    if found.workload is None:
        return pl.DataFrame(schema=SCHEMA)
    for name, measured in found.workload.measured.items():
        relations = [one for one, tier in measured.placement.items() if tier == FAST]
        for way, words in WAYS.items() if relations else ():
            plan = move_of(found.workload, relations, way=way, predict=False, service_s=found.by_seed)
            times = (plan.there_s, plan.back_s, plan.saved_s, plan.break_even_jobs, plan.low, plan.high)
            cells.append((NAMES[name], words, str(plan.job_evidence), *times))
    return pl.DataFrame(cells, schema=SCHEMA, orient="row")


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells:
    header = ["Moved", "Copied", "There (simulated)", "Back (simulated)", "A job saves", "Pays after jobs (95 % interval)"]
    return Cells(header, [_row(row) for row in rows.rows(named=True)], "llrrrr")


def _row(row: dict[str, float]) -> list[str]:
    jobs = DASH if row["jobs"] is None else number(row["jobs"])
    ends = "" if row["low"] is None or row["high"] is None else f" ({interval(row['low'], row['high'])})"
    return [str(row["placement"]), str(row["way"]), *(seconds(row[name]) for name in ("there_s", "back_s", "saved_s")), jobs + ends]
