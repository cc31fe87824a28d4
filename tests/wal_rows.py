"""Rows of wal_placement with chosen commits a second, fabricated for tests of the reading side only."""

import random
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from rows import STARTED, trial_of
from tierwise.core.vocabulary import Cache, Evidence, IoMode
from tierwise.timings.schema import Origin, TierIo, Timing, frame

RUN_ID: Final = "20260102-030405-abcd"
SLOWDOWN: Final = 8.0
WINDOW_S: Final = 4.0
DELAY_US: Final = 100
Case = tuple[str, int, str]  # where the log lies, clients, group commit
RATES: Final[Mapping[Case, float]] = {  # commits a second at the tiers' own pace
    ("hdd", 1, "off"): 120.0,
    ("cached", 1, "off"): 6000.0,
    ("ssd", 1, "off"): 6100.0,
    ("hdd", 8, "off"): 480.0,
    ("cached", 8, "off"): 24000.0,
    ("ssd", 8, "off"): 36000.0,
    ("hdd", 8, "on"): 960.0,
    ("ssd", 8, "on"): 30000.0,
}
SHARES: Final = {"processor": 0.1, "WAL": 0.9}
FLUSHES: Final = {1: 1.0, 8: 0.25}  # a commit, by clients


def wal_rows(
    rates: Mapping[Case, float] = RATES, *, replicates: int = 5, sigma: float = 0.002, flags: Mapping[Case, str] | None = None
) -> pl.DataFrame:
    """Windows of every case in every replicate; `flags`: case -> the flag of all its windows."""
    draw, found = random.Random(1), []
    for sequence, (replicate, case) in enumerate((replicate, case) for replicate in range(replicates) for case in rates):
        wal, clients, grouped = case
        delay_us = DELAY_US if grouped == "on" else 0
        cell: dict[str, Any] = {"wal": wal, "clients": clients, "commit_delay_us": delay_us, "slowdown": SLOWDOWN, "io_mode": "direct"}
        commits = round(rates[case] / SLOWDOWN * WINDOW_S * draw.lognormvariate(0.0, sigma))
        origin = Origin(RUN_ID, "wal_placement", "wal-placement", Evidence.EMULATED, IoMode.DIRECT, trial_of(cell), replicate, sequence)
        flushes = round(commits * FLUSHES[clients])
        files = {"wal": {"tier": wal, "writes": flushes, "write_bytes": 8192 * flushes, "flushes": flushes}}
        timing = Timing(
            cell={**cell, "phase": "commits"},
            cache=Cache.NONE,
            operation="update",
            started_at=STARTED,
            elapsed_s=WINDOW_S,
            result_rows=commits,
            tier_io=(TierIo(wal, Evidence.EMULATED, "device", 0, 0, flushes, 8192 * flushes, 0.5, 0.5),),
            proof={"window_cpu_share": 0.2, "files": files, "server": {}, "window_shares": SHARES, "utilisation": {wal: 0.8}},
            flags=(flags[case],) if flags and case in flags else (),
        )
        found.append(frame(origin, [timing]))
    return pl.concat(found)
