"""Rows of wal_placement with chosen commits a second, fabricated for tests of the reading side only."""

import random
from collections.abc import Iterator, Mapping
from typing import Final

import polars as pl

from rows import STARTED
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
FLUSHES: Final = {1: 1.0, 8: 0.25}  # a commit, by clients


def wal_rows(
    rates: Mapping[Case, float] = RATES, *, replicates: int = 5, sigma: float = 0.002, flags: Mapping[Case, str] | None = None
) -> pl.DataFrame:
    """Windows of every case in every replicate; `flags`: case -> the flag of all its windows."""
    draw = random.Random(1)
    return pl.concat(list(_windows(rates, replicates, sigma, flags or {}, draw)))


def _windows(
    rates: Mapping[Case, float], replicates: int, sigma: float, flags: Mapping[Case, str], draw: random.Random
) -> Iterator[pl.DataFrame]:
    turns = [(replicate, case) for replicate in range(replicates) for case in rates]
    for sequence, (replicate, case) in enumerate(turns):
        wal, clients, grouped = case
        cell: dict[str, str | int | float] = {
            "wal": wal,
            "clients": clients,
            "commit_delay_us": DELAY_US if grouped == "on" else 0,
            "slowdown": SLOWDOWN,
            "io_mode": "direct",
        }
        commits = round(rates[case] / SLOWDOWN * WINDOW_S * draw.lognormvariate(0.0, sigma))
        origin = Origin(
            run_id=RUN_ID,
            study="wal_placement",
            pair="wal-placement",
            evidence=Evidence.EMULATED,
            io_mode=IoMode.DIRECT,
            trial="/".join(f"{name}={value}" for name, value in sorted(cell.items())),
            replicate=replicate,
            sequence=sequence,
        )
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
            proof={
                "window_cpu_share": 0.2,
                "files": files,
                "server": {},
                "window_shares": {"processor": 0.1, "WAL": 0.9},
                "utilisation": {wal: 0.8},
            },
            flags=(flags[case],) if case in flags else (),
        )
        yield frame(origin, [timing])
