"""A queueing model of a server's devices: how long a transaction takes where relations lie elsewhere.

Sessions compute, then wait at one station for each device. A station's time depends on how many requests it has. The model is fitted to
the watched time: what a read took there over what the device would take is the share of reads that reach the device.
Where flushes of the log are calibrated, sessions that commit together wait for one flush (group commit), which is one request.
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

    `flush`: what a flush of the log takes; without it, the log gets faster as reads do.
    `closed`: the sessions go on as soon as they have an answer, so that a faster device gets more requests; else the rate stays.
    """
    logs = {part.name for part in load.parts if part.is_log and flush is not None}
    curves = {(tier, False): latency[tier] for tier in TIERS} | {(tier, True): flush[tier] for tier in TIERS if logs and flush}
    waiting, transaction_s, rate = {part.name: part.waiting_s for part in load.parts}, 0.0, load.transactions_per_s

    def requests(tier: str, placed: Mapping[str, str]) -> float:
        """Return how many requests a tier has: one for each session that waits there, but one for all that wait for the log."""
        there = [name for name in waiting if placed[name] == tier]
        commits = rate * sum(waiting[name] for name in there if name in logs)
        return rate * sum(waiting[name] for name in there if name not in logs) + min(1.0, commits)

    depth = {tier: requests(tier, load.placement) for tier in TIERS}
    background = _background(load, load.placement, latency, 1.0)
    watched = {(tier, log): _seen(curve, depth[tier], load.sessions, background[tier]) for (tier, log), curve in curves.items()}
    for _ in range(ROUNDS):
        background = _background(load, placement, latency, rate / load.transactions_per_s)
        each = {(tier, log): _seen(curve, depth[tier], load.sessions, background[tier]) for (tier, log), curve in curves.items()}
        waiting = {
            part.name: part.waiting_s
            * each[placement[part.name], part.name in logs]
            / watched[load.placement[part.name], part.name in logs]
            for part in load.parts
        }
        transaction_s = load.elsewhere_s + sum(waiting.values())
        rate = load.sessions / transaction_s if closed else load.transactions_per_s
        for tier in TIERS:
            depth[tier] += DAMPING * (min(load.sessions, requests(tier, placement)) - depth[tier])
    return Predicted(transaction_s, waiting, {**depth, ELSEWHERE: rate * load.elsewhere_s})


def _background(load: Load, placement: Mapping[str, str], latency: Mapping[str, Latency], pace: float) -> dict[str, float]:
    """Return how many pages are being written on each device: one at a time, and more of them where transactions are more."""
    writes = {tier: sum(part.writes_per_s for part in load.parts if placement[part.name] == tier) for tier in TIERS}
    return {tier: min(1.0, pace * writes[tier] * latency[tier](1.0)) for tier in TIERS}


def _seen(latency: Latency, depth: float, sessions: float, background: float) -> float:
    """Return what a request takes that finds the others there: its own session has none before it."""
    others = depth * max(0.0, sessions - 1) / sessions if sessions > 1 else 0.0
    return latency(1.0 + others + background)
