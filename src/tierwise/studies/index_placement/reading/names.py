"""Names and colours of the census study, and the rows of its exhibits: which I/O modes they show, beside which published bounds."""

from typing import Final

import polars as pl

from tierwise.analysis.claim_rows import mode_in
from tierwise.analysis.claims import Bounds, Kind, load_claims
from tierwise.analysis.statistics import estimable
from tierwise.core.sql_files import named_statements
from tierwise.report import colours
from tierwise.report.run import Run
from tierwise.report.words import case_name

STUDY: Final = "index_placement"
SQL: Final = named_statements(__package__, "queries.sql")
PAIR: Final = "source-m"
DISKS, INDEX, TABLE, BOTH = "both on HDD", "index on SSD", "table on SSD", "both on SSD"  # where table and index lie
COLOURS: Final = {
    DISKS: colours.PLACEMENTS["disks"],
    INDEX: colours.PLACEMENTS["indexes"],
    TABLE: colours.PLACEMENTS["tables"],
    BOTH: colours.PLACEMENTS["everything"],
}
SHAPES: Final = dict(zip(COLOURS, ("circle", "diamond", "square", "triangle-up"), strict=True))
CASES: Final = tuple(map(case_name, ("FL", "PR", "NV", "FL->PR", "PR->NV", "NV->FL")))
CACHES: Final = {"cold": "Cold cache", "cross": "After another state", "hot": "Hot cache"}
FASTER: Final = "times faster"  # the title of an axis of speed-ups

KEYS: Final = ("io_mode", "variant", "cache", "row", "placement")
"""Columns that tell groups of replicates apart, as far as a frame has them."""


def deciding(run: Run, pair: str, rows: pl.DataFrame) -> pl.DataFrame:
    named = pl.col("row").map_elements(case_name, return_dtype=pl.String)
    return rows.filter(io_mode=mode_in(run.store, STUDY, pair)).with_columns(named)


def clean(run: Run, pair: str, rows: pl.DataFrame) -> pl.DataFrame:
    return estimable(deciding(run, pair, rows), [name for name in KEYS if name in rows.columns])


def speedup_bounds(cache: str) -> dict[str, Bounds]:
    """Return state, in words -> the published bounds of the speed-up by an index on the SSD."""
    return {
        case_name(case.name): Bounds(
            lower=claim.bounds.upper and 1 / claim.bounds.upper, upper=claim.bounds.lower and 1 / claim.bounds.lower
        )
        for claim in reversed(load_claims().claims)  # of a time and of pages alike, the time's
        if claim.kind is Kind.RATIO and claim.bounds
        for case in claim.cases
        if case.study == STUDY and case.select.get("cache") == cache and case.value in {"ratio", "pages_ratio"}
    }
