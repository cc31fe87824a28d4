"""A disk drive whose electronics are written down in full, with one request at a time: what of a command overlaps what.

A command begins with the drive's own work. Then the arm sets off, while the bus carries a write's data into the buffer, or is given
back until a read's first sectors are there; each sector goes over the bus when it is in the buffer. A write does not begin on the
medium before the bus can keep ahead of the head. After a read the head reads on, until a command needs it elsewhere.
"""

import math
import random
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from tierwise.devices.protocol import Operation
from tierwise.simulate.drive_files import SECTOR_BYTES, RealMechanics
from tierwise.simulate.drive_specs import DriveSpecs, EarlyWrite, ReadAhead
from tierwise.simulate.segments import Held, Segments

ROUNDING_TURNS: Final = 1e-9
READ, WRITE = Operation.READ, Operation.WRITE


@dataclass
class _Pass:
    """The head reads into `held`: it is at the place `turns` at `from_s` and goes on until what lies before `limit` is read."""

    held: Held
    from_s: float
    turns: float
    least: int = 0  # nothing calls it away before it has read up to here
    limit: int = 0


class SpecifiedDrive:
    """The drive of `mechanics` with the electronics `specs`; the seed decides where the platter stands at time 0.

    A command is a hit, for its overhead, where the buffer holds all its sectors, and so is any write that is reported early on a drive
    that does so with every write.
    """

    def __init__(self, mechanics: RealMechanics, specs: DriveSpecs, *, seed: int = 0):
        self._mechanics, self._geometry, self._specs = mechanics, mechanics.geometry, specs
        self._turn_s, self._sector_s = mechanics.turn_s, specs.bus_ms_per_sector / 1e3
        self._phase = random.Random(seed).random()
        self._before, self._last_end = READ, -1  # of the command before
        self._buffer = Segments(specs)
        self._pass: _Pass | None = None
        self._at = 0  # the head stands where what lies before ends
        self._free_s = -math.inf  # when the arm is or was free
        self._early: deque[tuple[float, int]] = deque()  # (on the medium, bytes) of writes that were reported before

    def serve(self, now_s: float, operation: Operation, address: int, size: int) -> float:
        """Return when the read or write that is issued at `now_s` is reported done; the next one may be issued from then on."""
        done_s = (self._read if operation is READ else self._write)(now_s, address, address + size)
        self._before, self._last_end = operation, address + size
        return max(now_s, done_s)

    def _work_s(self, milliseconds: float) -> float:
        return milliseconds * self._specs.scale / 1e3

    def _command_s(self, operation: Operation, *, hit: bool) -> float:
        specs = self._specs
        return self._work_s(specs.every_request_ms + specs.command_ms(operation, hit=hit, before=self._before))

    def _read(self, now_s: float, address: int, end: int) -> float:
        self._catch_up(now_s)
        if held := self._buffer.find(address, end):
            begin_s = now_s + self._command_s(READ, hit=True)
            self._read_on(begin_s, held, address, end)
            return self._to_host(begin_s, lambda _: begin_s, (end - address) // SECTOR_BYTES)
        begin_s = now_s + self._command_s(READ, hit=False)
        self._catch_up(begin_s)
        passing = self._pass
        soonest_s = math.inf
        if passing and self._begun(passing, begin_s, address):
            self._set_limit(passing, address, end)
        else:
            passing, soonest_s = self._fetch(begin_s, address, end)
        self._pass, known = passing, passing.held.end

        def there_s(sectors: int) -> float:
            until = address + sectors * SECTOR_BYTES
            return begin_s if until <= known else min(soonest_s, self._there_s(passing, until))

        return self._to_host(begin_s, there_s, (end - address) // SECTOR_BYTES)

    def _begun(self, passing: _Pass, now_s: float, address: int) -> bool:
        """Whether the head, which reads on, has just passed the first sector at `address`, or is about to where that is enough."""
        held, missing = passing.held, 0 if self._specs.almost_hits else SECTOR_BYTES
        return now_s < self._there_s(passing, passing.limit) and held.start <= address <= held.end - missing

    def _fetch(self, begin_s: float, address: int, end: int) -> tuple[_Pass, float]:
        """Send the arm for what the buffer does not hold of `address` to `end`; also, when all of it has come by at the latest."""
        start_s = self._call_away(begin_s)
        held = self._buffer.continued(address)
        turns = self._geometry.spot(held.end)[0]
        arrival_s = start_s + self._move_s(held.end)
        wait_s = self._wait_s(arrival_s, turns)
        passing = _Pass(held, arrival_s + wait_s, turns)
        self._set_limit(passing, address, end)
        first, track_end = self._geometry.track(held.end)
        if self._specs.free_blocks and held.start == held.end:
            passed = min(wait_s / self._turn_s, turns - self._geometry.spot(first)[0])
            held.start = max(first, held.end - int(passed * (track_end - first)) // SECTOR_BYTES * SECTOR_BYTES)
        at_once = self._specs.reads_on_arrival and end <= track_end
        return passing, arrival_s + self._turn_s if at_once else math.inf

    def _to_host(self, begin_s: float, there_s: Callable[[int], float], sectors: int) -> float:
        """When `sectors` have gone over the bus, of which so many are in the buffer at `there_s`."""
        specs = self._specs
        mark = max(1, math.ceil(specs.watermark * (sectors if specs.watermark_of_request else specs.segment_sectors)))
        disconnect_ms = specs.read_disconnect_after_read_ms if self._before is READ else specs.read_disconnect_after_write_ms
        now_s, sent, reselect_ms = begin_s, 0, specs.first_reselect_ms
        while sent < sectors:
            ready_s = there_s(min(sectors, sent + mark))
            if ready_s > now_s and not specs.never_disconnects:
                now_s = max(ready_s, now_s + self._work_s(disconnect_ms)) + self._work_s(reselect_ms)
                reselect_ms = specs.other_reselect_ms
            now_s = max(ready_s, max(now_s, ready_s) + self._work_s(specs.prepare_ms))
            while sent < sectors and (there_s(sent + 1) <= now_s or specs.holds_bus or specs.never_disconnects):
                sent += 1
                now_s = max(now_s, there_s(sent)) + self._sector_s
        return now_s + self._work_s(specs.read_end_ms)

    def _read_on(self, now_s: float, held: Held, address: int, end: int) -> None:
        """Let the read-ahead into `held` go on after a hit, as far as it would behind this request; a new one begins if it may."""
        passing = self._pass
        busy = now_s < self._free_s or (passing is not None and now_s < self._there_s(passing, passing.limit))
        if busy and passing and passing.held is held:
            self._set_limit(passing, address, end)
        elif not busy and self._specs.ahead_on_hit and not held.written and self._limits(address, end)[1] > held.end:
            arrival_s = self._call_away(now_s) + self._move_s(held.end)
            turns = self._geometry.spot(held.end)[0]
            self._pass = _Pass(held, arrival_s + self._wait_s(arrival_s, turns), turns)
            self._set_limit(self._pass, address, end)

    def _limits(self, address: int, end: int) -> tuple[int, int]:
        """How far the head reads on after `address` to `end` at least, and how far at most."""
        specs, most = self._specs, self._specs.most_ahead_sectors
        space = (end if specs.over_requested else address) + self._buffer.segment_bytes
        until = {
            ReadAhead.NONE: lambda: end,
            ReadAhead.TRACK: lambda: self._geometry.track(end - SECTOR_BYTES)[1],
            ReadAhead.CYLINDER: lambda: self._geometry.cylinder(end - SECTOR_BYTES)[1],
            ReadAhead.SEGMENT: lambda: space,
            ReadAhead.MAXIMUM: lambda: space if most is None else end + most * SECTOR_BYTES,
        }[specs.read_ahead]()
        if not specs.caching or specs.read_ahead is ReadAhead.NONE:
            return end, end
        space = max(end, min(space, self._geometry.capacity_bytes))
        least = min(space, end + specs.least_ahead_sectors * SECTOR_BYTES)
        return least, max(least, min(space, until))

    def _set_limit(self, passing: _Pass, address: int, end: int) -> None:
        least, limit = self._limits(address, end)
        passing.least, passing.limit = max(passing.least, least), max(passing.limit, limit)

    def _write(self, now_s: float, address: int, end: int) -> float:
        specs, turns = self._specs, self._geometry.spot(address)[0]
        follows = self._before is WRITE and self._last_end == address
        early = self._reported_early(now_s, end - address, follows=follows)
        hit = (early and specs.early_write is EarlyWrite.ALL) or self._buffer.find(address, end) is not None
        begin_s, data_s = self._write_command(now_s, hit=hit, extra=specs.extra_disconnect and not follows)
        data_s = max(data_s, self._space_s(end - address))
        start_s = self._call_away(begin_s)
        move_s = self._move_s(address)
        arrival_s = start_s + (max(0.0, move_s + self._mechanics.write_settle_s) if move_s else 0.0)
        if not follows:
            least_ms = specs.extra_least_seek_ms if specs.extra_disconnect else specs.least_write_seek_ms
            arrival_s = max(arrival_s, begin_s + self._work_s(least_ms))
        filled_s = data_s + (end - address) // SECTOR_BYTES * self._sector_s
        last_s = (self._geometry.spot(end - SECTOR_BYTES)[0] - turns) * self._turn_s
        arrival_s = max(arrival_s, data_s + self._sector_s, filled_s - last_s)
        written_s = arrival_s + self._wait_s(arrival_s, turns) + (self._geometry.end(end)[0] - turns) * self._turn_s
        if specs.writes_on_arrival and end <= self._geometry.track(address)[1]:
            written_s = min(written_s, max(arrival_s, filled_s) + self._turn_s)
        self._free_s, self._at = written_s, end
        self._buffer.write(address, end)
        if early:
            self._early.append((written_s, end - address))
            return filled_s + self._work_s(specs.write_end_ms)
        return self._back_on_bus_s(filled_s, written_s, again=specs.extra_disconnect and not follows) + self._work_s(specs.write_end_ms)

    def _write_command(self, now_s: float, *, hit: bool, extra: bool) -> tuple[float, float]:
        """When the arm may set off, and when the first of the data may go over the bus."""
        specs = self._specs
        if not extra:
            begin_s = now_s + self._command_s(WRITE, hit=hit)
            return begin_s, begin_s + self._work_s(specs.prepare_ms)
        begin_s = now_s + self._work_s(specs.every_request_ms + specs.extra_command_ms)
        return begin_s, begin_s + self._work_s(
            specs.extra_disconnect_ms + specs.extra_pause_ms + specs.first_reselect_ms + specs.prepare_ms
        )

    def _reported_early(self, now_s: float, size: int, *, follows: bool) -> bool:
        """Whether a write is done once it is in the buffer: where only some are, when it follows the one before or none waits."""
        while self._early and self._early[0][0] <= now_s:
            self._early.popleft()
        level = self._specs.early_write
        allowed = level is EarlyWrite.ALL or (level is EarlyWrite.LIMITED and (follows or not self._early))
        return allowed and size <= self._write_bytes

    @property
    def _write_bytes(self) -> int:
        return max(1, self._specs.write_segments) * self._buffer.segment_bytes

    def _space_s(self, size: int) -> float:
        """When so much of what was reported early is on the medium that `size` more find space."""
        space_s, waiting = -math.inf, sum(early for _, early in self._early)
        for on_medium_s, early in self._early:
            if waiting + size > self._write_bytes:
                space_s, waiting = on_medium_s, waiting - early
        return space_s

    def _back_on_bus_s(self, filled_s: float, written_s: float, *, again: bool) -> float:
        """When a write that is on the medium at `written_s` can be reported over the bus, which had brought its data at `filled_s`."""
        specs = self._specs
        if specs.never_disconnects:
            return max(filled_s, written_s)
        disconnect_ms = specs.extra_second_disconnect_ms if again else specs.write_disconnect_ms
        reselect_ms = specs.other_reselect_ms if again else specs.first_reselect_ms
        return max(written_s, filled_s + self._work_s(disconnect_ms)) + self._work_s(reselect_ms)

    def _move_s(self, address: int) -> float:
        before = max(0, self._at - SECTOR_BYTES)
        distance = abs(self._geometry.spot(address)[1] - self._geometry.spot(before)[1])
        if distance >= 1:
            return max(self._mechanics.seek(distance), self._mechanics.head_switch_s)
        return 0.0 if self._geometry.track(address) == self._geometry.track(before) else self._mechanics.head_switch_s

    def _wait_s(self, now_s: float, turns: float) -> float:
        wait = (turns - now_s / self._turn_s - self._phase) % 1.0
        return 0.0 if wait > 1 - ROUNDING_TURNS else wait * self._turn_s

    def _there_s(self, passing: _Pass, until: int) -> float:
        """When what lies before `until` is in the buffer, if nothing calls the head away."""
        return passing.from_s + (self._geometry.end(until)[0] - passing.turns) * self._turn_s

    def _catch_up(self, now_s: float) -> None:
        passing = self._pass
        if passing is None or now_s <= passing.from_s:
            return
        ends = range(passing.held.end + SECTOR_BYTES, passing.limit + SECTOR_BYTES, SECTOR_BYTES)
        read = bisect_right(ends, now_s, key=partial(self._there_s, passing))
        self._buffer.grow(passing.held, passing.held.end + read * SECTOR_BYTES)
        self._at = passing.held.end

    def _call_away(self, now_s: float) -> float:
        if passing := self._pass:
            now_s = max(now_s, self._there_s(passing, passing.least))
            self._catch_up(now_s)
            self._pass = None
        return max(now_s, self._free_s)
