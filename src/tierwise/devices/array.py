"""Equal drives side by side: striping with or without redundancy."""

import math
from collections.abc import Sequence

from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import ArraySpec
from tierwise.devices.stripes import Part, Stripes


class Array:
    """The array of `spec`, without its controller, over independent `members`; a write of a part of a parity row reads what it replaces."""

    def __init__(self, spec: ArraySpec, members: Sequence[DeviceModel]):
        self._members = members
        smallest = min(member.capacity_bytes for member in members)
        stripe = int(spec.stripe.base) if spec.stripe else None
        self._stripes = Stripes(spec.level.value, len(members), smallest, stripe)
        self.capacity_bytes, self.row_bytes = self._stripes.capacity_bytes, self._stripes.row_bytes
        self.reset()

    def reset(self) -> None:
        for member in self._members:
            member.reset()
        self._event_s = [math.inf] * len(self._members)  # next of each member
        self._load = [0] * len(self._members)  # parts that each member has
        self._parts = 0  # numbers the parts
        self._tag_of: dict[int, int] = {}  # part -> request
        self._left: dict[int, int] = {}  # parts of a request still out
        self._then: dict[int, list[Part]] = {}  # what a request does once its first parts are through

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        if operation is Operation.READ:
            self._send(now_s, tag, self._stripes.reads(address_bytes, size_bytes, self._load))
        elif operation is Operation.WRITE:
            before, parts = self._stripes.writes(address_bytes, size_bytes)
            if before:
                self._then[tag] = parts
            self._send(now_s, tag, before or parts)
        else:
            self._send(now_s, tag, [(operation, member, 0, 0) for member in range(len(self._members))])

    def next_event_s(self) -> float:
        return min(self._event_s)

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        done: list[tuple[int, float]] = []
        # One event at a time: what it sets free may begin at once, before the next one.
        while (event_s := self.next_event_s()) <= now_s and event_s < math.inf:
            number = self._event_s.index(event_s)
            member = self._members[number]
            for part, done_s in member.advance(event_s):
                self._load[number] -= 1
                self._part_done(part, done_s, done)
            self._event_s[number] = member.next_event_s()
        return done

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
