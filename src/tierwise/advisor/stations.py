"""A queueing model of a server's devices: how long a transaction takes where relations lie elsewhere.

Sessions compute, then wait at one station for each device. A station's time depends on how many requests it has. The model is fitted to
the watched time: what a read took there over what the device would take is the share of reads that reach the device.
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


def predict(load: Load, placement: Mapping[str, str], latency: Mapping[str, Latency], *, closed: bool, queues: bool = True) -> Predicted:
    """Return how long a transaction takes with `placement`.

    `closed`: the sessions go on as soon as they have an answer, so that a faster device gets more requests; else the rate stays.
    `queues`: without, no request finds another one, which bounds what the relations that stay can gain.
    """
    depth = dict.fromkeys(TIERS, 0.0)
    for part in load.parts:
        depth[load.placement[part.name]] += load.transactions_per_s * part.waiting_s
    background = _background(load, load.placement, latency, 1.0)
    watched = {tier: _seen(latency[tier], depth[tier], load.sessions, background[tier]) for tier in TIERS}
    waiting, transaction_s, rate = {part.name: part.waiting_s for part in load.parts}, 0.0, load.transactions_per_s
    for _ in range(ROUNDS):
        background = _background(load, placement, latency, rate / load.transactions_per_s)
        each = {
            tier: _seen(latency[tier], depth[tier], load.sessions, background[tier]) if queues else latency[tier](1.0) for tier in TIERS
        }
        waiting = {part.name: part.waiting_s * each[placement[part.name]] / watched[load.placement[part.name]] for part in load.parts}
        transaction_s = load.elsewhere_s + sum(waiting.values())
        rate = load.sessions / transaction_s if closed else load.transactions_per_s
        for tier in TIERS:
            there = rate * sum(time_s for name, time_s in waiting.items() if placement[name] == tier)
            depth[tier] += DAMPING * (min(load.sessions, there) - depth[tier])
    return Predicted(transaction_s, waiting, {**depth, ELSEWHERE: rate * load.elsewhere_s})


def _background(load: Load, placement: Mapping[str, str], latency: Mapping[str, Latency], pace: float) -> dict[str, float]:
    """Return how many pages are being written on each device: one at a time, and more of them where transactions are more."""
    writes = {tier: sum(part.writes_per_s for part in load.parts if placement[part.name] == tier) for tier in TIERS}
    return {tier: min(1.0, pace * writes[tier] * latency[tier](1.0)) for tier in TIERS}


def _seen(latency: Latency, depth: float, sessions: float, background: float) -> float:
    """Return what a request takes that finds the others there: its own session has none before it."""
    others = depth * max(0.0, sessions - 1) / sessions if sessions > 1 else 0.0
    return latency(1.0 + others + background)
