"""Replay of a recorded access trace through any placement on any devices: what the same queries would have taken there."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.devices.protocol import DeviceModel, Operation

__all__ = ["EXTENT_BYTES", "Access", "DeviceModel", "Operation", "Replayed", "TierUse", "Trace", "lay_out", "lay_out_tiers", "replay"]

EXTENT_BYTES: Final = 16 * MIB
"""What an emulated tier gives a file at a time (``tiers/nodes.py``): within an extent a relation is contiguous."""


@dataclass(frozen=True, slots=True)
class Access:
    """One request of the host, issued `think_s` after access number `after` of its trace is complete; None: after the beginning.

    `think_s` may lie a little below zero, because an emulator dates requests back by the time of their way to it.
    """

    relation: str
    page: int
    size_bytes: int
    operation: Operation
    think_s: float
    after: int | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """The requests of one query, in the order of issue; it ends `tail_s` after access `tail_after` (None: the beginning)."""

    accesses: Sequence[Access]
    tail_s: float = 0.0
    tail_after: int | None = None


@dataclass(slots=True)
class TierUse:
    """Requests of one tier. `service_s` sums their times, queueing included."""

    reads: int = 0
    read_bytes: int = 0
    writes: int = 0
    write_bytes: int = 0
    service_s: float = 0.0

    def issued(self, access: Access) -> None:
        if access.operation is Operation.READ:
            self.reads += 1
            self.read_bytes += access.size_bytes
        elif access.operation is Operation.WRITE:
            self.writes += 1
            self.write_bytes += access.size_bytes


@dataclass(frozen=True, slots=True)
class Replayed:
    """`elapsed_s` of the query; use of each tier; time from issue to completion of each access, in the trace's order."""

    elapsed_s: float
    tiers: dict[str, TierUse]
    latencies_s: list[float]


def lay_out(sizes_bytes: Mapping[str, int]) -> dict[str, list[int]]:
    """Return the addresses of each relation's extents on a device that holds these: one after the other, the largest (the table) first."""
    addresses: dict[str, list[int]] = {}
    given = 0
    for relation, size_bytes in sorted(sizes_bytes.items(), key=lambda item: (-item[1], item[0])):
        first, given = given, given + max(1, math.ceil(size_bytes / EXTENT_BYTES))
        addresses[relation] = [number * EXTENT_BYTES for number in range(first, given)]
    return addresses


def lay_out_tiers(sizes_bytes: Mapping[str, int], placement: Mapping[str, str]) -> dict[str, list[int]]:
    """Return `lay_out` on each tier of the relations that `placement` puts there."""
    laid: dict[str, list[int]] = {}
    for tier in set(placement.values()):
        laid |= lay_out({name: size for name, size in sizes_bytes.items() if placement[name] == tier})
    return laid


def replay(
    trace: Trace,
    placement: Mapping[str, str],
    devices: Mapping[str, DeviceModel],
    addresses: Mapping[str, Sequence[int]],
    *,
    started_s: float = 0.0,
) -> Replayed:
    """Run `trace` on `devices` (by tier, with nothing outstanding), from `started_s` of their clock on, which is after their last event.

    `placement`: the tier of each relation. `addresses`: of each extent (`EXTENT_BYTES`) of a relation on its tier's device, in order.
    """
    use = {tier: TierUse() for tier in devices}
    issued_s, done_s = [math.nan] * len(trace.accesses), [math.nan] * len(trace.accesses)
    followers: dict[int, list[int]] = {}
    due: list[tuple[float, int]] = []  # a heap of (issue, access)
    for number, access in enumerate(trace.accesses):
        if access.after is None:
            heappush(due, (started_s + access.think_s, number))
        else:
            followers.setdefault(access.after, []).append(number)
    left = len(trace.accesses)
    while left:
        event_s = min(device.next_event_s() for device in devices.values())
        if due and due[0][0] <= event_s:
            issue_s, number = heappop(due)
            access = trace.accesses[number]
            tier, issued_s[number] = placement[access.relation], issue_s
            use[tier].issued(access)
            extent, rest = divmod(access.page * PAGE_BYTES, EXTENT_BYTES)
            address = addresses[access.relation][extent] + rest
            devices[tier].submit(issue_s, number, access.operation, address, access.size_bytes)
            continue
        for tier, device in devices.items():
            for number, finished_s in device.advance(event_s):
                left -= 1
                done_s[number] = finished_s
                use[tier].service_s += finished_s - issued_s[number]
                for follower in followers.get(number, ()):
                    heappush(due, (finished_s + trace.accesses[follower].think_s, follower))
    ended_s = (started_s if trace.tail_after is None else done_s[trace.tail_after]) + trace.tail_s
    return Replayed(ended_s - started_s, use, [done - issued for done, issued in zip(done_s, issued_s, strict=True)])
