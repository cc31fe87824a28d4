"""Rate, latency and commits per flush, by place of the log, clients and group commit."""

from typing import Final

import polars as pl

from tierwise.analysis.statistics import enough
from tierwise.report.estimates import cell, estimates
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, count, number, percent, seconds
from tierwise.studies.wal_placement.reading.names import GROUPED, SHORT

QUERY: Final = """
select
    group_commit, clients, wal, replicate, commits_per_s, latency_s, flushes_per_commit, cpu_share, delayed.ratio,
    if(windows.flagged, 'rejected', 'none') as flag, delayed.flagged as ratio_flagged
from wal_placement_windows as windows
left join (from wal_placement where wal = over and group_commit <> over_group_commit) as delayed
    using (pair, trial, replicate, wal, clients, group_commit)
where pair = $pair
order by group_commit, clients, wal, replicate
"""
UNIT: Final = "windows"
KEYS: Final = ["group_commit", "clients", "wal"]
HEADER: Final = ["Clients", "commit_delay", "Log on", "Commits/s", "Latency", "Commits per flush", "Processors busy", "Over commit_delay 0"]


def tabulate(rows: pl.DataFrame) -> Cells | None:
    paired = rows.filter(pl.col("ratio").is_not_null()).with_columns(
        flag=pl.when("ratio_flagged").then(pl.lit("rejected")).otherwise(pl.lit("none"))
    )
    gains = estimates(paired, KEYS)
    cells = [
        _row(key, part.filter(flag="none").select(pl.exclude(pl.String)).median().row(0, named=True), cell(gains.get(key)))
        for key, part in rows.group_by(KEYS, maintain_order=True)
        if enough(part.filter(flag="none").height)
    ]
    return Cells(HEADER, cells, "rllrrrrr") if cells else None


def _row(key: tuple[object, ...], middle: dict[str, float], gain: str) -> list[str]:
    grouped, clients, place = key
    flushes = middle["flushes_per_commit"]
    return [
        count(int(str(clients))),
        GROUPED[str(grouped)],
        SHORT[str(place)],
        number(middle["commits_per_s"]),
        seconds(middle["latency_s"]),
        number(1 / flushes) if flushes else DASH,
        percent(middle["cpu_share"]),
        gain,
    ]
