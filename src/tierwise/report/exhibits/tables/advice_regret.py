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
EVIDENCE: Final = "simulated"


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of the example's pair
    return pl.DataFrame(
        [
            {
                "ssd_bytes": one.ssd_gib * GIB,
                "on_ssd": [name for name, tier in one.placement.items() if tier == FAST],
                "chosen_by": str(one.chosen_by),
                "job_s": one.job_s,
                "regret": one.exhaustive.regret if one.exhaustive else None,
            }
            for one in example(run).advice
        ]
    )


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = [
        [
            size(ssd_bytes),
            listed(f"`{name}`" for name in on_ssd) or DASH,
            chosen_by,
            seconds(job_s),
            DASH if regret is None else difference(1 + regret),
        ]
        for ssd_bytes, on_ssd, chosen_by, job_s, regret in rows.rows()
    ]
    header = ["Space on SSD", "Advised on the SSD", "Evidence of the choice", "A job (simulated)", "Slower than the fastest (simulated)"]
    return Cells(header, cells, "lllrr")
