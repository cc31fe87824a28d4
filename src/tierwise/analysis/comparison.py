"""Two runs beside each other, cell by cell: the medians of what was observed, and their ratio."""

from typing import Final

import duckdb
import polars as pl

from tierwise.analysis.views import ROWS
from tierwise.core import studies

CELL: Final = ("study", "pair", "io_mode", "cell", "unit")  # what names a value in every run


def medians(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Return a row a cell of the views ``<study>_cells`` with enough unflagged rows: `CELL`, ``median`` and ``n`` of these, evidence."""
    queries = (f"select '{study}' as study, * from {study}_cells where not flagged" for study in studies.having(ROWS))
    found = connection.sql(
        f"""
        select {", ".join(CELL)}, median(value) as median, count(*) as n,
               if(count(distinct evidence) = 1, min(evidence), 'mixed') as evidence
        from ({" union all by name ".join(queries)})
        group by {", ".join(CELL)} having enough(value)
        order by {", ".join(CELL)}
        """
    )
    return pl.DataFrame(found.to_arrow_table())


def beside(ours: pl.DataFrame, theirs: pl.DataFrame) -> pl.DataFrame:
    """Return the cells that both have: those of `ours`, the values of `theirs` as ``*_reference``, and their ``ratio``."""
    both = ours.join(theirs, on=CELL, how="inner", suffix="_reference", maintain_order="left")
    return both.with_columns(ratio=pl.col("median") / pl.col("median_reference"))
