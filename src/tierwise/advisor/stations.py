"""A queueing model of a server's devices: how long a transaction takes where relations lie elsewhere.

Sessions compute, then wait at one station for each device. A station's time depends on how many requests it has. The model is fitted to
the watched time: what a read took there over what the device would take is the share of reads that reach the device.
Where flushes of the log are calibrated, sessions that commit together wait for one flush (group commit), which is one request.
Such a flush never waits for another one, so that a log alone on its device is as fast as a flush alone.
PostgreSQL 18 reads ahead by a few I/O workers: such a read first waits for a worker, and a device has as many of them as are busy.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tierwise.advisor.server_tiers import FAST, SLOW, Latency
from tierwise.core.activity import IoWorkers

ROUNDS: Final = 300
DAMPING: Final = 0.3
TIERS: Final = (SLOW, FAST)
ELSEWHERE: Final = "elsewhere"
NO_WORKERS: Final = IoWorkers(count=0, busy=0.0, waiting=0.0)


@dataclass(frozen=True)
class Part:
    """What a transaction waited for on one relation, or on the log, and the pages of it that were written each second.

    `by_workers`: the share of its waiting that is for reads of I/O workers.
    """

    name: str
    waiting_s: float
    writes_per_s: float = 0.0
    is_log: bool = False
    by_workers: float = 0.0


@dataclass(frozen=True)
class Load:
    """A watched load: `elsewhere_s` of a transaction is spent at no device, `sessions` are in a transaction at a time."""

    parts: tuple[Part, ...]
    placement: Mapping[str, str]
    elsewhere_s: float
    sessions: float
    transactions_per_s: float
    workers: IoWorkers | None = None


@dataclass(frozen=True)
class Predicted:
    """A transaction's time after a move, and what each part then waits for."""

    transaction_s: float
    waiting_s: Mapping[str, float]
    depth: Mapping[str, float]

    @property
    def binds(self) -> str:
        """Where most sessions are: at a device, or elsewhere."""
        return max(self.depth, key=lambda name: self.depth[name])


def predict(
    load: Load,
    placement: Mapping[str, str],
    latency: Mapping[str, Latency],
    flush: Mapping[str, Latency] | None = None,
    *,
    closed: bool,
) -> Predicted:
    """Return how long a transaction takes with `placement`.

    `flush`: what a flush of the log takes, by the number of requests with it (reads but one); without it, the log gets faster as reads do.
    `closed`: the sessions go on as soon as they have an answer, so that a faster device gets more requests; else the rate stays.
    """
    logs = {part.name for part in load.parts if part.is_log and flush is not None}
    curves = {(tier, False): latency[tier] for tier in TIERS} | {(tier, True): flush[tier] for tier in TIERS if logs and flush}
    waiting, transaction_s, rate = {part.name: part.waiting_s for part in load.parts}, 0.0, load.transactions_per_s
    workers = load.workers or NO_WORKERS
    slower = dict.fromkeys(waiting, 1.0)  # what a request takes over what it took in the watch
    queue = watched_queue = _queue(workers, load.sessions)

    def requests(tier: str, placed: Mapping[str, str]) -> tuple[float, float]:
        """Return how many reads a tier has, one for each session that waits or worker that is busy, and how many flushes: one for all that
        wait for the log.
        """
        there = [part for part in load.parts if placed[part.name] == tier]
        reads = rate * sum(part.waiting_s * slower[part.name] * _held(part, workers) for part in there if part.name not in logs)
        return reads, min(1.0, rate * sum(waiting[part.name] for part in there if part.name in logs))

    def times(depth: Mapping[str, tuple[float, float]], background: Mapping[str, float]) -> dict[tuple[str, bool], float]:
        """Return what a read takes beside the others and a flush, and what a flush takes beside reads."""
        return {
            (tier, log): _seen(curve, depth[tier][0] if log else sum(depth[tier]), load.sessions, background[tier])
            for (tier, log), curve in curves.items()
        }

    depth = {tier: requests(tier, load.placement) for tier in TIERS}
    watched = times(depth, _background(load, load.placement, latency, 1.0))
    for _ in range(ROUNDS):
        each = times(depth, _background(load, placement, latency, rate / load.transactions_per_s))
        slower = {
            part.name: each[placement[part.name], part.name in logs] / watched[load.placement[part.name], part.name in logs]
            for part in load.parts
        }
        behind = {part.name: 1.0 + part.by_workers * (queue / watched_queue - 1.0) for part in load.parts}
        waiting = {part.name: part.waiting_s * slower[part.name] * behind[part.name] for part in load.parts}
        transaction_s = load.elsewhere_s + sum(waiting.values())
        rate = load.sessions / transaction_s if closed else load.transactions_per_s
        for tier in TIERS:
            (reads, flushes), (old_reads, old_flushes) = requests(tier, placement), depth[tier]
            reads = old_reads + DAMPING * (min(load.sessions, reads) - old_reads)
            depth[tier] = reads, old_flushes + DAMPING * (flushes - old_flushes)
        now = IoWorkers(
            count=workers.count,
            busy=rate * sum(part.waiting_s * slower[part.name] * part.by_workers for part in load.parts) * _held_by(workers),
            waiting=min(load.sessions, rate * sum(waiting[part.name] * part.by_workers for part in load.parts)),
        )
        queue += DAMPING * (_queue(now, load.sessions) - queue)
    return Predicted(transaction_s, waiting, {**{tier: sum(depth[tier]) for tier in TIERS}, ELSEWHERE: rate * load.elsewhere_s})


def _held_by(workers: IoWorkers) -> float:
    """Return how many workers are busy for each session that waits for them."""
    return workers.busy / workers.waiting if workers.waiting else 1.0


def _held(part: Part, workers: IoWorkers) -> float:
    """Return how many requests a device has for each session that waits for `part`."""
    return 1.0 + part.by_workers * (_held_by(workers) - 1.0)


def _queue(workers: IoWorkers, sessions: float) -> float:
    """Return by which factor reads wait longer for a worker: others' reads are before them where the workers are busy (chosen)."""
    return 1.0 + min(1.0, workers.busy / workers.count) * _others(workers.waiting, sessions) if workers.count else 1.0


def _others(depth: float, sessions: float) -> float:
    """Return how many of `depth` a session finds there: its own requests are not before it."""
    return depth * max(0.0, sessions - 1) / sessions if sessions > 1 else 0.0


def _background(load: Load, placement: Mapping[str, str], latency: Mapping[str, Latency], pace: float) -> dict[str, float]:
    """Return how many pages are being written on each device: one at a time, and more of them where transactions are more."""
    writes = {tier: sum(part.writes_per_s for part in load.parts if placement[part.name] == tier) for tier in TIERS}
    return {tier: min(1.0, pace * writes[tier] * latency[tier](1.0)) for tier in TIERS}


def _seen(latency: Latency, depth: float, sessions: float, background: float) -> float:
    return latency(1.0 + _others(depth, sessions) + background)
