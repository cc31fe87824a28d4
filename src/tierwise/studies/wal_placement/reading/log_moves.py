"""Commits as workloads of the first page: the log moved to the SSD, and what commits cost with it there."""

from typing import Final

import polars as pl

from tierwise.advisor.operations import Operated, Place
from tierwise.advisor.workload import FAST, SLOW
from tierwise.analysis import heat
from tierwise.analysis.model_interval import Key
from tierwise.analysis.statistics import MINIMUM_REPEATS
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.report.run import Run
from tierwise.report.values.front import LOG
from tierwise.report.values.headlines import SPEEDUP
from tierwise.studies.wal_placement.reading.names import PAIR, STUDY

OPERATION: Final = "commit"
WORKLOADS: Final = {"hdd": "Commits (log on plain disks)", "cached": "Commits (log behind a battery-backed cache)"}
"""Place of the log before the move -> workload."""
MOVED: Final = {"hdd": "nothing", "cached": "nothing, but the disks have a cache", "ssd": "write-ahead log"}
"""Place of the log -> what is on the SSD."""
CLIENTS: Final = 8
"""Sessions, as in the other loads of several sessions."""
MOVED_SQL: Final = """
select pair, evidence, io_mode, over, replicate, ratio, slowdown
from wal_placement
join (select distinct trial, slowdown from wal_placement_windows) using (trial)
where pair = $pair and wal = 'ssd' and group_commit = 'off' and over_group_commit = 'off' and clients = $clients and not flagged
order by over desc, replicate
"""
WINDOWS_SQL: Final = """
with windows as (
    select
        cell ->> 'wal' as wal,
        (cell ->> 'slowdown')::double as slowdown,
        elapsed_s, cpu_s, result_rows, evidence,
        list_filter(tier_io, lambda io: io.tier = cell ->> 'wal')[1].intended_s as intended_s
    from timings
    where study = 'wal_placement' and pair = $pair and (cell ->> 'clients')::int = $clients
        and (cell ->> 'commit_delay_us')::int = 0 and len(flags) = 0
)
select
    wal,
    min(evidence) as evidence,
    exp(avg(ln(elapsed_s / slowdown / result_rows))) as commit_s,
    coalesce(avg(cpu_s / result_rows), 0) as cpu_s,
    avg(least(intended_s, elapsed_s) / slowdown / result_rows) as busy_s
from windows
group by wal having count(*) >= $minimum
order by list_position(['hdd', 'cached', 'ssd'], wal)
"""


def moved(run: Run, only: str | None = None) -> pl.DataFrame:
    """Return workload, pair, evidence, io_mode, slowdown, replicate and ratio of the commit rates with the log on the SSD over before."""
    rows = run.query(MOVED_SQL, {"pair": only or PAIR, "clients": CLIENTS})
    return rows.with_columns(workload=pl.col("over").replace_strict(WORKLOADS)).drop("over")


def operated(run: Run, only: str | None = None) -> list[Operated]:
    """Return what commits take with the log in each place. Only the log's drives count: tables and indexes are in memory."""
    pair = only or PAIR
    rows = run.query(WINDOWS_SQL, {"pair": pair, "clients": CLIENTS, "minimum": MINIMUM_REPEATS})
    record = heat.record_of(run.store, STUDY, pair)
    if rows.is_empty() or record is None:
        return []
    places = [
        Place(MOVED[row["wal"]], row["commit_s"], row["cpu_s"], {row["wal"]: row["busy_s"]}, {row["wal"]: 0.0}) for row in rows.to_dicts()
    ]
    devices = {tier: str(known.get("device", "")) for tier, known in record.pair["tiers"].items()}
    evidence = Evidence.of({Evidence(word) for word in rows["evidence"]})
    return [Operated(WORKLOADS[SLOW], OPERATION, pair, evidence, 0.0, devices, tuple(places))]


def headline(pair: str, clients: int, place: str, over: str) -> Key | None:
    """Return which headline a ratio of `moved` is; `None` where it is none."""
    known = place == FAST and clients == CLIENTS and over in WORKLOADS
    return Key(pair, SPEEDUP, WORKLOADS[over], LOG, "", IoMode.DIRECT) if known else None
