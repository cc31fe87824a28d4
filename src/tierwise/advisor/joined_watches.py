"""Several watches of one server as one."""

from collections.abc import Sequence

from tierwise.core.activity import Activity, Band, Cause, RelationLoad, Steadiness
from tierwise.core.errors import InputError


def joined(watches: Sequence[Activity]) -> Activity:
    """Return several watches of one server as one: waits by transactions, rates by seconds, and what else advice reads as it was last."""
    unsteady = next((one for one in watches if one.steadiness is not Steadiness.STEADY or not one.transaction_s), None)
    if unsteady or len(watches) == 1:
        return unsteady or watches[0]
    watches = sorted(watches, key=lambda one: one.began)
    last = watches[-1]
    if len({(one.database, one.version, one.host, one.service, one.superuser) for one in watches}) > 1:
        raise InputError("--activity", rule="must be watches of one database by one role", remedy="leave out files of other servers")
    seconds = [one.watched_s for one in watches]
    done = [one.transactions_per_s.high * one.watched_s for one in watches]
    whole_s, rate = _mean([one.transaction_s for one in watches], done), sum(done) / sum(seconds)
    found: dict[tuple[int, int, str, str], list[RelationLoad | None]] = {}
    for number, one in enumerate(watches):
        for load in one.relations:
            found.setdefault((load.database, load.relation, load.name, load.tablespace), [None] * len(watches))[number] = load
    if len({key[:-1] for key in found}) < len(found):
        raise InputError("--activity", rule="must be watches between which no relation moved", remedy="leave out older files")
    causes = {
        part.cause: _mean([next((c.time_s for c in one.causes if c.cause == part.cause), 0.0) for one in watches], done)
        for one in watches
        for part in one.causes
    }
    known = [one.percentile_99_s for one in watches if one.percentile_99_s]
    slowest = Band(low=min(one.low for one in known), high=max(one.high for one in known)) if len(known) == len(watches) else None
    return last.model_copy(
        update={
            "watched_s": sum(seconds),
            "windows": tuple(window for one in watches for window in one.windows),
            "transaction_s": whole_s,
            "transactions_per_s": Band(low=rate, high=rate),
            "percentile_99_s": slowest,
            "causes": tuple(Cause(cause=name, time_s=time_s, measured=last.timed) for name, time_s in causes.items()),
            "relations": tuple(_joined(each, done, seconds, whole_s) for each in found.values()),
            "reads_per_s": _mean([one.reads_per_s for one in watches], seconds),
            "page_writes_per_s": _mean([one.page_writes_per_s for one in watches], seconds),
            "unknown": tuple(dict.fromkeys(word for one in watches for word in one.unknown)),
        }
    )


def _joined(each: Sequence[RelationLoad | None], done: Sequence[float], seconds: Sequence[float], whole_s: float) -> RelationLoad:
    loads = [load for load in each if load]
    numbers = [
        (load.waiting_s, load.reads_per_s, load.writes_per_s and load.writes_per_s.high) if load else (0.0, 0.0, 0.0) for load in each
    ]
    waits, reads, writes = zip(*numbers, strict=True)
    waiting_s = _mean(waits, done)
    scans = [load.all_scans for load in loads if load.all_scans is not None]
    new = {
        "reads_per_s": _mean(reads, seconds),
        "waiting_s": waiting_s,
        "share": waiting_s / whole_s,
        "writes_per_s": Band(low=0.0, high=_mean(writes, seconds)),
        "scans": sum(load.scans for load in loads),
        "all_scans": max(scans, default=None),
        "scan_share": max(load.scan_share for load in loads),
        "size_bytes": loads[-1].size_bytes if loads[-1].relation else sum(load.size_bytes or 0 for load in loads),
    }
    return loads[-1].model_copy(update=new)


def _mean(values: Sequence[float | None], weights: Sequence[float]) -> float:
    return sum(weight * (value or 0.0) for value, weight in zip(values, weights, strict=True)) / sum(weights)
