"""From an activity file to the answer."""

from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Final

from tierwise.core.activity import Activity, Band, IoWorkers
from tierwise.postgres.wait_events import READS
from tierwise.watch import activity_file as kept
from tierwise.watch.causes import Time, causes, client_time
from tierwise.watch.relation_loads import each_second, pages_written, relation_loads
from tierwise.watch.sampling import AGES, CLIENTS, SLEEPS
from tierwise.watch.service_times import ServiceTimes
from tierwise.watch.shares import Division
from tierwise.watch.slowest import percentile_99
from tierwise.watch.statements import DATABASE, RELATION
from tierwise.watch.statements import WAL as WAL_VIEW
from tierwise.watch.steadiness import judge, windows
from tierwise.watch.totals import Totals, totals

STARTUP: Final = "startup"
READ_AHEAD: Final = "IO:AioIoCompletion"
LEAST_LOG_BYTES_PER_S: Final = 10_000  # below this much log a load writes too little for checkpoints to matter (chosen)


def answer(path: Path, service: ServiceTimes) -> Activity:
    """Return what the watched server waits for."""
    found = totals(kept.read_activity(path))
    time, server = client_time(found), found.server
    parts, each = causes(time), windows(found)
    by_cause = {part.cause: part.time_s for part in parts}
    seconds, log_s = found.seconds(DATABASE), found.seconds(WAL_VIEW)
    logged = (found.total(WAL_VIEW, "wal_bytes") or 0.0) / log_s if log_s else 0.0
    verdict = judge(found, time, each, writes=logged > LEAST_LOG_BYTES_PER_S)
    known_s = by_cause.get(READS, 0.0) if parts else None
    division = Division(found, time, known_s, service)
    relations = relation_loads(division, by_cause)
    events = found.rest.filter(view=kept.EVENT)
    gaps, spans = events.filter(entity="gap"), found.rest.filter(view=kept.SPAN, entity=RELATION)
    promoted = "promotion" in events["entity"]
    cleaned = found.io("read_pages", "^autovacuum worker/relation/")
    return Activity(
        server=server["version_text"],
        version=found.version,
        database=server["name"],
        standby=server["standby"] == "True" and not promoted,
        promoted=promoted,
        began=str(datetime.fromisoformat(str(spans["text"].min())).strftime("%Y-%m-%d %H:%M UTC")),
        watched_s=found.seconds(RELATION),
        gaps_s=float(gaps["value"].sum()),
        gaps=gaps.height,
        clock_back_s=float(events.filter(entity="clock")["value"].sum()),
        resets=events.filter(entity="reset")["window"].n_unique(),
        window_s=median(spans["value"].to_list() or [0.0]),
        windows=each,
        transactions_per_s=each_second(time.transactions, seconds),
        transaction_s=time.transaction_s,
        percentile_99_s=_percentile_99(found, time),
        **verdict._asdict(),
        sessions=sum(time.sampled.values()) / found.own("taken") if found.own("taken") else 0.0,
        samples=int(found.own("taken")),
        timed=found.timed,
        causes=tuple(parts),
        relations=tuple(relations),
        reads_per_s=sum(load.reads_per_s for load in relations if str(load.database) == found.database),
        depth=division.depth,
        page_writes_per_s=None if (written := pages_written(found)) is None or not seconds else written / seconds,
        wal_bytes_per_s=logged,
        background_transactions_per_s=_elsewhere(found, "transactions"),
        background_reads_per_s=_elsewhere(found, "read_pages"),
        autovacuum_reads_per_s=None if cleaned is None or not seconds else cleaned / seconds,
        replay_share=_replay(found),
        statements=None if (chosen := found.statements()) is None else tuple(chosen),
        placements_changed=int(sum(float(text) for text in events.filter(entity="placement")["text"])),
        replicas=int(server["replicas"]),
        service=server.get("service", ""),
        superuser=server.get("superuser") == "True",
        system=server.get("system", ""),
        buffer_bytes=float(server["shared_buffers"]),
        host=server.get("host", ""),
        io_workers=_io_workers(found),
        counted_days=None if (days := server.get("counted_days", "None")) == "None" else float(days),
        unknown=tuple(_unknown(found, service, places=len(division.places))),
    )


def _io_workers(found: Totals) -> IoWorkers | None:
    count, taken = found.server.get("io_workers", "None"), found.own("taken")
    waiting, busy = found.waits(CLIENTS).get(READ_AHEAD, 0.0), sum(found.waits("io worker").values())
    return IoWorkers(count=int(count), busy=busy / taken, waiting=waiting / taken) if count != "None" and waiting and busy else None


def _percentile_99(found: Totals, time: Time) -> Band | None:
    ages, taken, watched_s = found.waits(AGES), found.own("taken"), found.seconds(DATABASE)
    if not ages or not watched_s or time.transaction_s is None:
        return None
    counts = {int(number): count for number, count in ages.items()}
    return percentile_99(counts, samples=taken, transactions=time.transactions.high, mean_s=time.transaction_s, watched_s=watched_s)


def _elsewhere(found: Totals, counter: str) -> float:
    """Return what other databases did a second."""
    seconds = found.seconds(DATABASE)
    ours = found.total(DATABASE, counter, f"^{found.database}$") or 0.0
    return ((found.total(DATABASE, counter) or 0.0) - ours) / seconds if seconds else 0.0


def _replay(found: Totals) -> float | None:
    """Return the share of samples in which a standby replayed the log."""
    if found.server["standby"] != "True" or not found.own("taken"):
        return None
    return sum(weight for event, weight in found.waits(STARTUP).items() if event.split(":")[0] not in SLEEPS) / found.own("taken")


def _unknown(found: Totals, service: ServiceTimes, *, places: int) -> list[str]:
    """Return what is not known, as key words of the text."""
    words = []
    if not found.timed:
        words.append("read times")
    if service.trace is None and not service.points:
        words.append("device reads")
        if places > 1:
            words.append("tablespaces")
    if found.version < 16:
        words.append("autovacuum")
    if found.statements() is None:
        words.append("statements")
    if found.waits("parallel workers"):
        words.append("parallel workers")
    return words if found.waits(CLIENTS) else [*words, "waits"]
