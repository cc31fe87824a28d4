"""A queueing model of a server's devices: how long a transaction takes where relations lie elsewhere.

Sessions compute, then wait at one station for each device. A station's time depends on how many requests it has. The model is fitted to
the watched time: what a read took there over what the device would take is the share of reads that reach the device.
Where flushes of the log are calibrated, sessions that commit together wait for one flush (group commit), which is one request.
Such a flush never waits for another one, so that a log alone on its device is as fast as a flush alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tierwise.advisor.server_tiers import FAST, SLOW, Latency

ROUNDS: Final = 300
DAMPING: Final = 0.3
TIERS: Final = (SLOW, FAST)
ELSEWHERE: Final = "elsewhere"


@dataclass(frozen=True)
class Part:
    """What a transaction waited for on one relation, or on the log, and the pages of it that were written each second."""

    name: str
    waiting_s: float
    writes_per_s: float = 0.0
    is_log: bool = False


@dataclass(frozen=True)
class Load:
    """A watched load: `elsewhere_s` of a transaction is spent at no device, `sessions` are in a transaction at a time."""

    parts: tuple[Part, ...]
    placement: Mapping[str, str]
    elsewhere_s: float
    sessions: float
    transactions_per_s: float


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

    def requests(tier: str, placed: Mapping[str, str]) -> tuple[float, float]:
        """Return how many reads a tier has, one for each session that waits, and how many flushes: one for all that wait for the log."""
        there = [name for name in waiting if placed[name] == tier]
        reads = rate * sum(waiting[name] for name in there if name not in logs)
        return reads, min(1.0, rate * sum(waiting[name] for name in there if name in logs))

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
        waiting = {
            part.name: part.waiting_s
            * each[placement[part.name], part.name in logs]
            / watched[load.placement[part.name], part.name in logs]
            for part in load.parts
        }
        transaction_s = load.elsewhere_s + sum(waiting.values())
        rate = load.sessions / transaction_s if closed else load.transactions_per_s
        for tier in TIERS:
            (reads, flushes), (old_reads, old_flushes) = requests(tier, placement), depth[tier]
            reads = old_reads + DAMPING * (min(load.sessions, reads) - old_reads)
            depth[tier] = reads, old_flushes + DAMPING * (flushes - old_flushes)
    return Predicted(transaction_s, waiting, {**{tier: sum(depth[tier]) for tier in TIERS}, ELSEWHERE: rate * load.elsewhere_s})


def _background(load: Load, placement: Mapping[str, str], latency: Mapping[str, Latency], pace: float) -> dict[str, float]:
    """Return how many pages are being written on each device: one at a time, and more of them where transactions are more."""
    writes = {tier: sum(part.writes_per_s for part in load.parts if placement[part.name] == tier) for tier in TIERS}
    return {tier: min(1.0, pace * writes[tier] * latency[tier](1.0)) for tier in TIERS}


def _seen(latency: Latency, depth: float, sessions: float, background: float) -> float:
    """Return what a request takes that finds the others there: its own session has none before it."""
    others = depth * max(0.0, sessions - 1) / sessions if sessions > 1 else 0.0
    return latency(1.0 + others + background)
