"""For H10: each query with the indexes on the SSDs over all on the disks, cold on both, and with the disks' indexes cached."""

from typing import Final

import polars as pl

from tierwise.report.estimates import cell, estimates
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, number, percent
from tierwise.report.published_bars import published_seconds
from tierwise.studies.survey_placement.reading.names import BASE, INDEXES, QUERIES, STUDY

QUERY: Final = """
select
    query, replicate, one.ratio as cold, one.elapsed_s / (base.elapsed_s - base.index_io_s) as cached,
    base.index_io_s / base.elapsed_s as index_share,
    one.index_reads = base.index_reads and one.all_reads = base.all_reads as same_pages, if(one.flagged, 'rejected', 'none') as flag
from survey_placement as one
join survey_placement as base using (run_id, pair, io_mode, query, replicate)
where pair = $pair and io_mode = $io_mode and one.placement = 'index_ssd' and base.placement = 'all_hdd'
order by query, replicate
"""
UNIT: Final = "repeats"
HEADER: Final = ["Query", "Index reads, of the disks' time", "Cold on both", "Cached on the disks", "Published", "To be spared for that"]


def spared(rows: pl.DataFrame) -> dict[str, tuple[float | None, float | None, float | None]]:
    """Return query -> share of the indexes in the disks' time, published ratio, and the share to be spared for it."""
    bars, cold = published_seconds(STUDY), estimates(rows, ["query"], "cold")
    shares = dict(rows.filter(flag="none").group_by("query").agg(pl.col("index_share").median()).rows())
    found = {}
    for (query,), one in cold.items():
        bar = bars[query, INDEXES] / bars[query, BASE] if {(query, INDEXES), (query, BASE)} <= bars.keys() else None
        if one.value is not None and one.interval:
            found[query] = shares[query], bar, max(0.0, 1 - one.value / bar) if bar else None
    return found


def tabulate(rows: pl.DataFrame) -> Cells | None:
    cold, cached = (estimates(rows, ["query"], name) for name in ("cold", "cached"))
    found = spared(rows)
    cells = [
        [
            words,
            DASH if share is None else percent(share),
            *(cell(one[query,]) for one in (cold, cached)),
            DASH if bar is None else number(bar),
            DASH if saved is None else percent(saved),
        ]
        for query, words in QUERIES.items()
        for share, bar, saved in ([found[query]] if query in found else [])
    ]
    return Cells(HEADER, cells, "lrrrrr") if cells else None
