"""Runs with chosen heat for tests of the advisor: rows of the real schema, and a manifest that fits them."""

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import polars as pl

from report_run import pair_as_recorded, rich_run
from rows import STARTED, make_manifest, study_record
from survey_rows import RELATION_BYTES, placement_rows, save_survey
from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.core.vocabulary import Cache, Evidence, IoMode
from tierwise.timings.references import MANIFEST
from tierwise.timings.schema import Origin, RelationIo, TierIo, Timing, frame
from tierwise.timings.trial_files import TRACE, TrialKey, write_trace

TRANSACTIONS: Final = {"all_hdd": ("hdd", "hdd", 400), "table_ssd": ("ssd", "hdd", 1700), "all_ssd": ("ssd", "ssd", 2200)}
"""Tier of the tables, tier of the indexes, transactions of a window."""
SIZES: Final = {"pgbench_accounts": 400 * MIB, "pgbench_accounts_pkey": 60 * MIB, "pgbench_tellers": 1 * MIB}
WAL_BYTES: Final = 256 * MIB


def counts_run(raw: Path, **facts: Any) -> Path:
    """Return the census study's counts on its own pair of tiers; `facts` take the place of the study's."""
    folder = rich_run(raw)
    if facts:
        change_manifest(folder, lambda manifest: manifest["studies"][0]["facts"].update(facts))
    return folder


def change_manifest(folder: Path, change: Any) -> None:
    """Have `change` alter the manifest's JSON."""
    path = folder / MANIFEST
    manifest = json.loads(path.read_text(encoding="utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")


def record_counts(folder: Path, pages: Mapping[str, list[int]]) -> None:
    """Traces of the counts with everything on ssd: for each state the same `pages` of each relation are read, in order."""
    sizes = {"census": 106_000_000, "pob": 5_400_000, "census_pkey": 5_400_000}
    reads = [(relation, page) for relation, of in pages.items() for page in of]
    rows: list[dict[str, Any]] = [
        {
            "step": 0,
            "cache": "cold",
            "operation": "read",
            "relation": relation,
            "tier": "ssd",
            "relation_pages": sizes.get(relation, PAGE_BYTES) // PAGE_BYTES,
            "page": page,
            "size_bytes": PAGE_BYTES,
            "after": number - 1 if number else None,
            "think_s": 1e-5,
        }
        for number, (relation, page) in enumerate(reads)
    ]
    end: dict[str, Any] = {"step": 0, "cache": "cold", "operation": "end", "after": len(rows) - 1, "think_s": 1e-5}
    trace = pl.DataFrame([{column: row.get(column) for column in TRACE} for row in (*rows, end)], schema=TRACE)
    for state in ("FL", "PR", "NV"):
        trial = f"index=ssd/io_mode=buffered/start={state}/table=ssd/variant=published"
        write_trace(folder, TrialKey("index_placement", "source-m", trial), trace)


def transactions_run(raw: Path, *, run_id: str = "20260102-030405-abcd", replicates: int = 5, slowdown: float = 1.0) -> Path:
    """Return the pgbench study's transactions with their own log: each reads one random page of accounts and writes the log twice."""
    rows = pl.concat(
        frame(_origin(run_id, placement, replicate, number), [_window(tables, indexes, done, replicate, slowdown)])
        for replicate in range(replicates)
        for number, (placement, (tables, indexes, done)) in enumerate(TRANSACTIONS.items())
    )
    folder = raw / run_id
    folder.mkdir(parents=True)
    rows.write_parquet(folder / "timings.parquet")
    record = study_record("pgbench_placement", "source-v", replicates=replicates, size_bytes={"large": SIZES}, seek_stretch=80.0)
    logged = record.model_copy(update={"settings": {"max_wal_size": f"{WAL_BYTES // MIB}MB"}})
    make_manifest(rows).model_copy(update={"pairs": {"source-v": pair_as_recorded("source-v")}, "studies": (logged,)}).save(folder)
    return folder


def survey_run(raw: Path) -> Path:
    """Return the survey's queries on its four placements; nobody asks for anything of MergeLog."""
    return save_survey(raw, placement_rows(), sizes=RELATION_BYTES, stretch=1000.0)


def _origin(run_id: str, placement: str, replicate: int, sequence: int) -> Origin:
    return Origin(run_id, "pgbench_placement", "source-v", Evidence.EMULATED, IoMode.DIRECT, f"large/{placement}", replicate, sequence)


def _window(tables: str, indexes: str, done: int, replicate: int, slowdown: float) -> Timing:
    files = {
        "pgbench_accounts": _requests(tables, reads=done, sequential_reads=done // 100, writes=done // 2),
        "pgbench_accounts_pkey": _requests(indexes, reads=done // 20),
        "wal": _requests("wal", writes=2 * done),
        "other": _requests("hdd", writes=3),
    }
    return Timing(
        cell={
            "size": "large",
            "table": tables,
            "index": indexes,
            "clients": 8,
            "script": "tpcb-like",
            "io_mode": "direct",
            "slowdown": slowdown,
            "memory": 1.0,
            "phase": "before",
        },
        cache=Cache.NONE,
        operation="tpcb-like",
        started_at=STARTED + timedelta(seconds=replicate),
        elapsed_s=10.0 + replicate / 100,
        result_rows=done,
        relation_io=(
            RelationIo("pgbench_accounts", "table", tables, 120, done),
            RelationIo("pgbench_accounts_pkey", "index", indexes, 390, done // 20),
            RelationIo("pgbench_tellers", "table", tables, 1000, 0),
        ),
        tier_io=(TierIo(tables, Evidence.EMULATED, "disk", intended_s=40.0),),
        proof={"files": files},
    )


def _requests(tier: str, *, reads: int = 0, sequential_reads: int = 0, writes: int = 0) -> dict[str, Any]:
    sizes = {"read_bytes": PAGE_BYTES * reads, "write_bytes": PAGE_BYTES * writes}
    return {"tier": tier, "reads": reads, "sequential_reads": sequential_reads, "writes": writes, **sizes, "intended_s": 1.0}
