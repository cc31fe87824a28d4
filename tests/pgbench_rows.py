"""Rows of pgbench_placement with chosen transactions a second, fabricated for tests of the reading side only."""

import random
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final

import polars as pl

from rows import STARTED
from tierwise.bench.window import WAL_BOUND
from tierwise.core.vocabulary import Cache, Evidence, IoMode
from tierwise.timings.schema import Origin, RelationIo, TierIo, Timing, frame

PLACEMENTS: Final = {"all_hdd": ("hdd", "hdd"), "index_ssd": ("hdd", "ssd"), "table_ssd": ("ssd", "hdd"), "all_ssd": ("ssd", "ssd")}
LARGE: Final = {"all_hdd": 400.0, "index_ssd": 440.0, "table_ssd": 1700.0, "all_ssd": 2200.0}
SMALL: Final = {"all_hdd": 3500.0, "index_ssd": 3520.0, "table_ssd": 4200.0, "all_ssd": 4300.0}
PHASES: Final = {"before": 5.0, "checkpoint": 8.0, "after": 7.0}  # seconds of each


def pgbench_rows(
    tps: Mapping[str, float],
    *,
    size: str = "large",
    slowdown: float = 1.0,
    replicates: int = 5,
    flags: Mapping[str, str] | None = None,
    sigma: float = 0.01,
    mix: Mapping[str, Any] | None = None,
    io_mode: IoMode = IoMode.DIRECT,
    pair: str = "source-v",
    run_id: str = "20260102-030405-abcd",
    reported: bool = True,
    shares: Mapping[str, float] | None = None,
) -> pl.DataFrame:
    """Windows of each placement; `flags` by placement; `mix` for the script; `reported`: whether counts came; `shares` of time."""
    draw = random.Random(f"{size}/{slowdown}")
    turns = [(replicate, placement) for replicate in range(replicates) for placement in tps]
    found = []
    for sequence, (replicate, placement) in enumerate(turns, start=1000):
        trial = f"{io_mode}/{size}/{placement}/{slowdown}/{mix}"
        origin = Origin(run_id, "pgbench_placement", pair, Evidence.EMULATED, io_mode, trial, replicate, sequence)
        cell, rate = {**_cell(placement, size, slowdown, io_mode), **(mix or {})}, tps[placement] * draw.lognormvariate(0.0, sigma)
        found.append(frame(origin, list(_phases(cell, rate, (flags or {}).get(placement), reported, shares))))
    return pl.concat(found)


def _cell(placement: str, size: str, slowdown: float, io_mode: IoMode) -> dict[str, Any]:
    table, index = PLACEMENTS[placement]
    trial = {"size": size, "table": table, "index": index, "clients": 8, "script": "tpcb-like"}
    return {**trial, "io_mode": str(io_mode), "slowdown": slowdown, "memory": 1.0}


def _phases(cell: Mapping[str, Any], tps: float, flag: str | None, reported: bool, shares: Mapping[str, float] | None) -> Iterable[Timing]:
    table, index = cell["table"], cell["index"]
    for phase, elapsed_s in PHASES.items():
        read = {"reads": 80, "read_bytes": 80 * 8192, "sequential_reads": 2, "intended_s": 0.5}
        files = {
            "pgbench_accounts": {"tier": table, **read, "writes": 9},
            "pgbench_accounts_pkey": {"tier": index, "reads": 10, "read_bytes": 10 * 8192, "sequential_reads": 0, "intended_s": 0.1},
            "wal": {"tier": "wal", "writes": 7},
        }
        transactions = round(tps * elapsed_s)
        server = {"wal": {"wal_bytes": 1e6, "wal_records": 6 * transactions if reported else 2, "wal_fpi": transactions}}
        yield Timing(
            cell={**cell, "phase": phase},
            cache=Cache.NONE,
            operation="tpcb-like",
            started_at=STARTED + timedelta(seconds=1),
            elapsed_s=elapsed_s,
            result_rows=transactions,
            relation_io=(
                RelationIo("pgbench_accounts", "table", table, *((120, 80) if reported else (0, 0))),
                RelationIo("pgbench_accounts_pkey", "index", index, *((390, 10) if reported else (0, 0))),
            ),
            tier_io=tuple(TierIo(tier, Evidence.EMULATED, "device", 80, 80 * 8192, 16, 16 * 8192, 0.5, 0.6) for tier in ("hdd", "ssd")),
            proof={"window_cpu_share": 0.9 if flag == "cpu" else 0.2, "files": files, "server": server, **_recorded(shares, phase)},
            flags=(flag,) if flag else (),
        )


def _recorded(shares: Mapping[str, float] | None, phase: str) -> dict[str, Any]:
    if shares is None:
        return {"unrecorded": "another version", "utilisation": None}
    busy = {"hdd": 0.9 if phase == "checkpoint" else 0.5, "ssd": 0.25, "wal": 0.001}
    return {"window_shares": dict(shares), "hangs_on_the_log": shares.get("WAL", 0.0) > WAL_BOUND, "utilisation": busy}
