"""The modes of each histogram, recorded and published, found by one method."""

from collections.abc import Mapping
from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count, percent
from tierwise.report.run import Run
from tierwise.studies.read_latency.reading.histograms import COUNTED_SQL, MEMORY, bucket_text, recorded, with_published
from tierwise.studies.read_latency.reading.names import SPACES

QUERY: Final = COUNTED_SQL
UNIT: Final = "reads"
PARAMETERS: Final = MEMORY
MODES_SQL: Final = """
select tablespace, variant as how, total as reads, bucket, share, zone
from read_latency_modes_in('shown_histograms', 'shown_histograms')
order by tablespace, how, bucket
"""
HEADER: Final = ["Tablespace", "Histogram", "Reads", "Modes (share of the reads)"]
ZONES: Final = {"memory": "memory", "ssd": "SSD", "hdd": "disks", "aux": "disks", "cached": "memory"}


def derive(run: Run, pair: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the modes of both histograms of each tablespace that was recorded: reads, bucket, share, zone."""
    if rows.is_empty():
        return rows
    keys = dict.fromkeys(("run_id", "pair", "io_mode"), pl.lit(""))
    both = with_published(run, pair, rows).filter(pl.col("tablespace").is_in(rows["tablespace"].to_list()))
    named = both.with_columns(bucket=pl.col("bucket").cast(pl.Int32), variant="how", replicate=pl.lit(0), **keys)
    run.connection.register("shown_histograms", named.to_arrow())
    found = run.query(MODES_SQL)
    run.connection.unregister("shown_histograms")
    return found


def facts(rows: pl.DataFrame) -> Mapping[str, object]:
    return {"n": recorded(rows.unique(["tablespace", "how"]) if rows.height else rows)}


def tabulate(rows: pl.DataFrame) -> Cells:
    modes: dict[tuple[str, str], list[str]] = {}
    totals: dict[tuple[str, str], int] = {}
    for row in rows.rows(named=True):
        zone = f"{ZONES[row['zone']]}: " if row["tablespace"] == "all" else ""
        modes.setdefault((row["tablespace"], row["how"]), []).append(f"{zone}{bucket_text(row['bucket'])} ({percent(row['share'])})")
        totals[row["tablespace"], row["how"]] = row["reads"]
    shown = [(space, how) for space in SPACES for how in ("here", "published") if (space, how) in modes]
    return Cells(HEADER, [[SPACES[key[0]], key[1], count(totals[key]), "; ".join(modes[key])] for key in shown], "llrl")
