"""What a commit per second costs on the devices of the log alone."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count, number
from tierwise.studies.wal_placement.reading.money import with_costs
from tierwise.studies.wal_placement.reading.names import SHORT

QUERY: Final = """
select clients, wal, median(commits_per_s) as commits_per_s, median(bytes_per_commit) as bytes_per_commit
from wal_placement_windows
where pair = $pair and group_commit = 'off' and not flagged
group by all having enough(commits_per_s)
order by all
"""
UNIT: Final = "medians"
HEADER: Final = ["Clients", "Log on", "USD a year", "Commits/s", "USD a year per commit/s", "Written a day"]
derive = with_costs


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(
        HEADER,
        [
            [
                count(row["clients"]),
                SHORT[row["wal"]],
                number(row["usd_a_year"]),
                number(row["commits_per_s"]),
                number(row["usd_a_year"] / row["commits_per_s"]),
                f"{number(row['commits_per_s'] * row['bytes_per_commit'] * 86_400 / 1e9)} GB",
            ]
            for row in rows.rows(named=True)
        ],
        "rlrrrr",
    )
