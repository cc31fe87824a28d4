"""Names and colours of what the pgbench study compares, and the rows that decide."""

from typing import Final

import polars as pl

from tierwise.analysis.claim_rows import mode_of
from tierwise.report import colours
from tierwise.report.queries import named_queries
from tierwise.report.run import Run

STUDY: Final = "pgbench_placement"
SQL: Final = named_queries(STUDY)
PAIR: Final = "source-v"
PLACEMENTS: Final = {"all_hdd": "all on HDD", "index_ssd": "indexes on SSD", "table_ssd": "tables on SSD", "all_ssd": "all on SSD"}
COLOURS: Final = dict(zip(PLACEMENTS, colours.PLACEMENTS.values(), strict=True))


def decided(_: Run, __: str, rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(io_mode=str(mode_of(STUDY, rows["io_mode"].unique())))
