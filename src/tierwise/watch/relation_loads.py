"""The rows of the answer: each relation's reads, waiting and writes, the log, and temporary files."""

import math
from collections.abc import Iterable
from typing import Any, Final

from tierwise.core.activity import Band, RelationLoad
from tierwise.postgres.wait_events import READS, WAL
from tierwise.watch.sampling import TEMPORARY
from tierwise.watch.service_times import CACHED_S
from tierwise.watch.shares import Division, Part
from tierwise.watch.statements import CHECKPOINTER, DATABASE, IO, WRITER
from tierwise.watch.statements import WAL as WAL_VIEW
from tierwise.watch.totals import FIRST_OWN, Totals

KINDS: Final = {"r": "table", "i": "index", "t": "toast", "m": "materialized view"}
CATALOG: Final = "catalog"
WAL_NAME, TEMPORARY_NAME = "write-ahead log", "temporary files"
ESTIMATE: Final = 1.25
"""The factor by which reads that reached a device, from waiting and service time, are uncertain on both sides (seen: up to 1.25)."""


def relation_loads(division: Division, by_cause: dict[str, float]) -> list[RelationLoad]:
    """Return every relation, the log and temporary files, by waiting."""
    writes = _writes(division)
    found = [_load(division, part, written) for part, written in zip(division.parts, writes, strict=True)]
    found += _others(division, by_cause)
    return sorted(found, key=lambda load: (-(load.waiting_s or 0.0), -load.reads_per_s, load.name))


def _load(division: Division, part: Part, written: Band | None) -> RelationLoad:
    row, seconds, waiting = part.row, division.seconds, division.waiting(part)
    middle = division.likely_s(part)
    waits = None if middle is None else middle * division.transactions_per_s * seconds
    return RelationLoad(
        database=row["database"],
        relation=row["relation"],
        schema_name=row["schema"],
        name=row["name"],
        kind=CATALOG if row["relation"] < FIRST_OWN else KINDS[row["kind"]],
        owner=row["owner"],
        parent=row["parent"],
        tablespace=row["tablespace"],
        location=row["location"],
        size_bytes=int(row["size"]) if row["size"] is not None else None,
        reads_per_s=part.reads / seconds if seconds else 0.0,
        client_reads_per_s=each_second(part.clients, seconds),
        device_reads_per_s=_device_reads(division, part, waiting),
        read_s=waits / part.reads if waits is not None and part.reads else None,
        waiting_s=middle,
        low_s=None if waiting is None else waiting.low,
        high_s=None if waiting is None else waiting.high,
        share=_share(division, middle),
        writes_per_s=written,
        scans=row["scans"],
        all_scans=None if row["all_scans"] is None else max(row["all_scans"], row["scans"]),
        scan_share=part.scanned,
        droppable=row["kind"] == "i" and row["relation"] >= FIRST_OWN and not row["kept"] and not row["parent"],
    )


def _device_reads(division: Division, part: Part, waiting: Band | None) -> Band:
    """Return the reads a second that reached a device: of a trace, or waiting over service time, else from none to all."""
    every = part.reads / division.seconds if division.seconds else 0.0
    if division.service.trace is not None:
        seen = division.service.trace.filter(file=part.file)
        reads, device = int(seen["reads"].sum()), int(seen["device"].sum())
        exact = every * device / reads if reads else 0.0
        return Band(low=exact, high=exact)
    each = division.service_s(part)
    if each is None or waiting is None:
        return Band(low=0.0, high=every)
    noise = min(1.0, 2 / math.sqrt(division.time.sampled[READS])) if division.time.sampled[READS] else 1.0
    spent, most = (edge * division.transactions_per_s for edge in (waiting.low, waiting.high))
    low, high = max(0.0, spent - every * CACHED_S) / each, most / each  # the page cache of the system takes its time too
    return Band(low=min(every, low / ESTIMATE * (1 - noise)), high=min(every, high * ESTIMATE * (1 + noise) + 1 / division.seconds))


def _writes(division: Division) -> list[Band | None]:
    """Return pages written by relation. At most what its rows changed, and all that was written; at least what the others cannot be."""
    every = pages_written(division.totals)
    tables = {(part.row["database"], part.row["relation"]): part.row for part in division.parts}
    most = []
    for part in division.parts:
        row = part.row if part.row["kind"] != "i" else tables.get((part.row["database"], part.row["owner"]), part.row)
        if part.row["kind"] == "i":
            changed = 2 * (row["inserted"] + row["updated"] - row["hot_updated"])  # a new entry may split its page
        else:
            changed = row["inserted"] + 2 * row["updated"] + row["deleted"]
        if row["vacuums"] and every is not None:
            changed = every  # a vacuum may write any page
        most.append(float(changed) if every is None else min(every, float(changed)))
    total = sum(most)
    low = [0.0 if every is None else max(0.0, min(one, every - (total - one))) for one in most]
    return [each_second(Band(low=least, high=one), division.seconds) for least, one in zip(low, most, strict=True)]


def pages_written(totals: Totals) -> float | None:
    """Return the pages of relations that were written, where counters show them: a checkpointer behind its schedule shows nothing."""
    if totals.version >= 16:
        checkpoints, found = totals.io("write_pages", "^checkpointer/relation/"), totals.io("write_pages", "/relation/")
    else:
        checkpoints = totals.total(CHECKPOINTER, "write_pages")
        others = (totals.total(WRITER, counter) for counter in ("write_pages", "backend_write_pages"))
        found = sum((one or 0.0 for one in others), checkpoints or 0.0)
    writing = any(event.endswith(":DataFileWrite") for event in totals.waits("checkpointer"))
    return None if writing and not checkpoints else found


def _others(division: Division, by_cause: dict[str, float]) -> Iterable[RelationLoad]:
    """Yield the log, and temporary files where there were any."""
    totals, seconds = division.totals, division.totals.seconds(WAL_VIEW)
    logged = totals.total(IO, "write_operations", "/wal/") if totals.version >= 18 else totals.total(WAL_VIEW, "wal_writes")
    if totals.total(WAL_VIEW, "wal_bytes"):
        written = None if logged is None else each_second(Band(low=logged, high=logged), seconds)
        yield _without_reads(division, WAL_NAME, "wal", by_cause.get(WAL, 0.0), writes_per_s=written)
    if size := totals.total(DATABASE, "temporary_bytes", f"^{totals.database}$"):
        yield _without_reads(division, TEMPORARY_NAME, "temporary", by_cause.get(TEMPORARY, 0.0), size_bytes=int(size), writes_per_s=None)


def _without_reads(division: Division, name: str, kind: str, waiting_s: float, **known: Any) -> RelationLoad:
    share = _share(division, waiting_s)
    return RelationLoad(name=name, kind=kind, waiting_s=waiting_s, low_s=waiting_s, high_s=waiting_s, share=share, **known)


def _share(division: Division, waiting_s: float | None) -> float | None:
    whole = division.time.transaction_s
    return waiting_s / whole if waiting_s is not None and whole else None


def each_second(value: Band, seconds: float) -> Band:
    return Band(low=value.low / seconds, high=value.high / seconds) if seconds else Band(low=0.0, high=0.0)
