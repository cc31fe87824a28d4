"""Equal drives behind one controller: striping with or without redundancy, and the limits of the controller."""

import math
from collections import deque
from collections.abc import Sequence

from tierwise.devices.gate import Gate
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import ArraySpec
from tierwise.devices.stripes import Part, Stripes


class Array:
    """The array of `spec`, without its write cache, over `members`, which queue and move independently of each other.

    A request completes with the last of its parts. A write with parity that does not fill its row first reads what it replaces.
    """

    def __init__(self, spec: ArraySpec, members: Sequence[DeviceModel]):
        self._members = members
        smallest = min(member.capacity_bytes for member in members)
        stripe = int(spec.stripe.base) if spec.stripe else None
        self._stripes = Stripes(spec.level.value, len(members), smallest, stripe)
        self.capacity_bytes, self.row_bytes = self._stripes.capacity_bytes, self._stripes.row_bytes
        self._iops = Gate(spec.max_iops.base) if spec.max_iops else None
        self._rate = Gate(spec.max_rate.base) if spec.max_rate else None
        self.reset()

    def reset(self) -> None:
        for resettable in (*self._members, self._iops, self._rate):
            if resettable:
                resettable.reset()
        self._event_s = [math.inf] * len(self._members)  # next of each member
        self._load = [0] * len(self._members)  # parts that each member has
        self._parts = 0  # numbers the parts
        self._tag_of: dict[int, int] = {}  # part -> request
        self._left: dict[int, int] = {}  # parts of a request still out
        self._then: dict[int, list[Part]] = {}  # what a request does once its first parts are through
        self._held: deque[tuple[float, int, Operation, int, int]] = deque()  # requests that the controller has not let through yet

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        enter_s = now_s
        if operation is not Operation.FLUSH:
            if self._iops:
                enter_s = self._iops.enter(now_s)
            if self._rate:
                enter_s = max(enter_s, self._rate.enter(now_s, size_bytes))
        if self._held:
            enter_s = max(enter_s, self._held[-1][0])
        if enter_s > now_s:
            self._held.append((enter_s, tag, operation, address_bytes, size_bytes))
        else:
            self._begin(now_s, tag, operation, address_bytes, size_bytes)

    def next_event_s(self) -> float:
        event_s = min(self._event_s)
        return min(event_s, self._held[0][0]) if self._held else event_s

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        done: list[tuple[int, float]] = []
        # One event at a time: what it sets free may begin at once, before the next one.
        while (event_s := self.next_event_s()) <= now_s and event_s < math.inf:
            if self._held and self._held[0][0] == event_s:
                self._begin(*self._held.popleft())
                continue
            number = self._event_s.index(event_s)
            member = self._members[number]
            for part, done_s in member.advance(event_s):
                self._load[number] -= 1
                self._part_done(part, done_s, done)
            self._event_s[number] = member.next_event_s()
        return done

    def _begin(self, now_s: float, tag: int, operation: Operation, address: int, size: int) -> None:
        if operation is Operation.READ:
            self._send(now_s, tag, self._stripes.reads(address, size, self._load))
        elif operation is Operation.WRITE:
            before, parts = self._stripes.writes(address, size)
            if before:
                self._then[tag] = parts
            self._send(now_s, tag, before or parts)
        else:
            self._send(now_s, tag, [(operation, member, 0, 0) for member in range(len(self._members))])

    def _send(self, now_s: float, tag: int, parts: list[Part]) -> None:
        self._left[tag] = len(parts)
        for operation, number, where, length in parts:
            self._parts += 1
            self._tag_of[self._parts] = tag
            self._load[number] += 1
            member = self._members[number]
            member.submit(now_s, self._parts, operation, where, length)
            self._event_s[number] = member.next_event_s()

    def _part_done(self, part: int, done_s: float, done: list[tuple[int, float]]) -> None:
        tag = self._tag_of.pop(part)
        self._left[tag] -= 1
        if self._left[tag]:
            return
        del self._left[tag]
        if parts := self._then.pop(tag, None):
            self._send(done_s, tag, parts)
        else:
            done.append((tag, done_s))
