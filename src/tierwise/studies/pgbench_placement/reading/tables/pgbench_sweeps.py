"""The indexes' share of the misses under each condition that was measured, the gains that it predicts, and those that were found."""

from typing import Final

import polars as pl

from tierwise.analysis.deciding import mode_of
from tierwise.core import studies
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count, number, percent
from tierwise.report.run import Run
from tierwise.studies.pgbench_placement.reading.names import STUDY, Columns, cells

QUERY: Final = studies.text(STUDY, "reading/tables/pgbench_sweeps.sql")
UNIT: Final = "windows"
COLUMNS: Final[Columns] = {
    "I/O": ("io_mode", "{} I/O".format),
    "Script": ("script", str),
    "Clients": ("clients", count),
    "Index / memory": ("index_to_memory", number),
    "Index misses": ("share", percent),
    "Indexes: predicted": ("index_predicted", number),
    "Indexes: found": ("index_gain", number),
    "Tables: predicted": ("table_predicted", number),
    "Tables: found": ("table_gain", number),
}


def derive(run: Run, pair: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the size of the indexes over the memory, the conditions that decide first."""
    record = run.record(STUDY, pair)
    sizes = record.facts["size_bytes"]["large"] if record else {}
    index_bytes = sum(size for name, size in sizes.items() if name.endswith("_pkey"))
    unit = index_bytes / sum(sizes.values()) / record.facts["memory_share"] if record and sizes else None
    other_mode = pl.col("io_mode") != str(mode_of(STUDY, rows["io_mode"].unique()))
    judged = ~other_mode & (pl.col("script") == "tpcb-like") & (pl.col("clients") == 8) & (pl.col("memory") == 1)
    return rows.with_columns(index_to_memory=unit / pl.col("memory")).sort(~judged, other_mode, maintain_order=True)


def facts(rows: pl.DataFrame) -> dict[str, int]:
    return {"n": int(rows["windows"].sum()) if rows.height else 0}


def tabulate(rows: pl.DataFrame) -> Cells:
    return cells(rows, COLUMNS)
