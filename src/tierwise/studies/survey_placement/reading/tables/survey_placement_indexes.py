"""For H10: each query with the indexes on the SSDs over all on the disks, cold on both, and with the disks' indexes cached."""

from typing import Final

import polars as pl

from tierwise.analysis.statistics import geometric_estimate
from tierwise.report.estimates import cell
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, number, percent
from tierwise.report.published_bars import published_seconds
from tierwise.report.run import Run
from tierwise.studies.survey_placement.reading.names import BASE, INDEXES, QUERIES, STUDY

QUERY: Final = """
select
    query, list(one.ratio order by replicate) as cold,
    list(one.elapsed_s / (base.elapsed_s - base.index_io_s) order by replicate) as cached,
    median(base.index_io_s / base.elapsed_s) as index_share,
    bool_and(one.index_reads = base.index_reads and one.all_reads = base.all_reads) as same_pages
from survey_placement as one
join survey_placement as base using (run_id, pair, io_mode, query, replicate)
where pair = $pair and io_mode = $io_mode and one.placement = 'index_ssd' and base.placement = 'all_hdd' and not one.flagged
group by query having enough(one.ratio)
"""
UNIT: Final = "repeats"
HEADER: Final = ["Query", "Index reads, of the disks' time", "Cold on both", "Cached on the disks", "Published", "To be spared for that"]


def with_published(run: Run, pair: str, rows: pl.DataFrame) -> pl.DataFrame:  # noqa: ARG001 - the bars are the same for every run
    """Return the rows with the published ratio, and `spared`: the share of the disks' time without which `cold` would be that ratio."""
    bars = published_seconds(STUDY)
    published = {query: bars[query, INDEXES] / bars[query, BASE] for query in QUERIES if {(query, INDEXES), (query, BASE)} <= bars.keys()}
    told = [
        {"published": bar, "spared": max(0.0, 1 - cold / bar) if bar and cold else None}
        for query, ratios in rows.select("query", "cold").rows()
        for bar, cold in [(published.get(query), geometric_estimate(ratios).value)]
    ]
    return rows.hstack(pl.DataFrame(told, schema={"published": pl.Float64, "spared": pl.Float64}))


derive = with_published


def facts(rows: pl.DataFrame) -> dict[str, object]:
    return {"n": rows["cold"].list.len().sum()}


def tabulate(rows: pl.DataFrame) -> Cells:
    known = {row["query"]: row for row in rows.rows(named=True)}
    return Cells(
        HEADER,
        [
            [
                words,
                DASH if row["index_share"] is None else percent(row["index_share"]),
                *(cell(geometric_estimate(row[column])) for column in ("cold", "cached")),
                DASH if row["published"] is None else number(row["published"]),
                DASH if row["spared"] is None else percent(row["spared"]),
            ]
            for query, words in QUERIES.items()
            if (row := known.get(query))
        ],
        "lrrrrr",
    )
