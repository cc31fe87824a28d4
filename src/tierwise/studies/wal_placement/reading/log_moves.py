"""Commits as workloads of the first page: the log moved to the SSD, and what commits cost with it there."""

from typing import Final

import polars as pl

from tierwise.advisor.operations import Operated, Place
from tierwise.advisor.ranking import SPEEDUP
from tierwise.advisor.workload import FAST, SLOW
from tierwise.analysis import heat
from tierwise.analysis.model_interval import Key
from tierwise.analysis.statistics import MINIMUM_REPEATS
from tierwise.core.sql_files import named_statements
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.devices.spec import load_device
from tierwise.report.estimates import cell, estimates
from tierwise.report.run import Run
from tierwise.report.values.front import LOG, beside

STUDY: Final = "wal_placement"
SQL: Final = named_statements(__package__, "queries.sql")
PAIR: Final = "wal-placement"
OPERATION: Final = "commit"
WORKLOADS: Final = {"hdd": "Commits (log on plain disks)", "cached": "Commits (log behind a battery-backed cache)"}
"""Place of the log before the move -> workload."""
MOVED: Final = {"hdd": "nothing", "cached": "disk cache", "ssd": "write-ahead log"}  # place of the log -> what is on the SSD
WORTH: Final = 1.1  # the least gain in commits per second that is worth a drive (assumed)
CLIENTS: Final = 8  # sessions, as in the other loads of several sessions


def moved(run: Run, only: str | None = None) -> pl.DataFrame:
    """Return workload, pair, evidence, io_mode, slowdown, replicate and ratio of the commit rates with the log on the SSD over before;
    `with_processors` is the ratio if the processors take their own time too.
    """
    pair = only or PAIR
    rows = run.query(SQL["moved"], {"pair": pair, "clients": CLIENTS})
    names = _workloads(run, pair)
    return rows.with_columns(workload=pl.col("over").replace_strict(names)).drop("over")


def operated(run: Run, only: str | None = None) -> list[Operated]:
    """Return what commits take with the log in each place. Only the log's drives count: tables and indexes are in memory."""
    pair = only or PAIR
    rows = run.query(SQL["windows"], {"pair": pair, "clients": CLIENTS, "minimum": MINIMUM_REPEATS})
    record = heat.record_of(run.store, STUDY, pair)
    if rows.is_empty() or record is None:
        return []
    columns = rows.select("wal", "commit_s", "processor_s", "busy_s")
    places = [Place(MOVED[wal], commit_s, computed_s, {wal: busy_s}, {wal: 0.0}) for wal, commit_s, computed_s, busy_s in columns.rows()]
    devices = {tier: str(known.get("device", "")) for tier, known in record.pair["tiers"].items()}
    evidence = Evidence.of({Evidence(word) for word in rows["evidence"]})
    return [Operated(_workloads(run, pair)[SLOW], OPERATION, pair, evidence, 0.0, devices, tuple(places))]


def _workloads(run: Run, pair: str) -> dict[str, str]:
    """Return place of the log before the move -> workload on `pair`, whose slow tier may itself lie behind a battery-backed cache."""
    record = heat.record_of(run.store, STUDY, pair)
    slow = (record.pair.get("tiers") or {}).get(SLOW, {}).get("device") if record else None
    cached = slow is not None and getattr(load_device(slow), "write_cache", None) is not None
    return {**WORKLOADS, SLOW: WORKLOADS["cached"]} if cached else WORKLOADS


def headline(pair: str, clients: int, place: str, over: str) -> Key | None:
    """Return the key of a ratio that is a headline of the first page; `None` of any other."""
    known = place == FAST and clients == CLIENTS and over in WORKLOADS
    return Key(pair, SPEEDUP, WORKLOADS[over], LOG, "", IoMode.DIRECT) if known else None


COMPARED: Final = ("ssd_over_hdd", "cached_over_hdd", "ssd_over_cached")  # place of the log, over the place that it is compared with


def ratios_by_clients(rows: pl.DataFrame) -> pl.DataFrame:
    """Return group_commit, clients and the ratios `COMPARED` as text, with the model interval of a headline; empty without an interval."""
    lines: dict[tuple[str, int], dict[str, str]] = {}
    found = estimates(rows, ["group_commit", "clients", "wal", "over"])
    for (grouped, clients, place, over), one in found.items():
        key = headline(PAIR, clients, place, over) if grouped == "off" else None
        lines.setdefault((grouped, clients), {})[f"{place}_over_{over}"] = cell(one) + (beside(key, one) if key else "")
    schema = {"group_commit": pl.String, "clients": pl.Int64, **dict.fromkeys(COMPARED, pl.String)}
    shown = [{"group_commit": grouped, "clients": clients, **line} for (grouped, clients), line in lines.items()]
    return pl.DataFrame(shown if any(one.interval for one in found.values()) else [], schema=schema)
