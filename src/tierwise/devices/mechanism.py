"""The moving parts of a disk drive at work: how the arm seeks, where the head is, what it reads on for, and its buffer."""

import math
import random
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tierwise.core.units import SECTOR_BYTES
from tierwise.devices.electronics import Electronics, ReadAhead
from tierwise.devices.geometry import Geometry, Spot
from tierwise.devices.spec import HddSpec

SeekCurve = Callable[[float], float]  # cylinders (a positive distance) -> seconds


def datasheet_curve(spec: HddSpec, cylinders: float) -> SeekCurve:
    """Lay ``a + b sqrt(x) + c x`` through the data sheet's three times, x the share of the `cylinders`; the settling time is on top."""
    fixed_s, root_s, linear_s = spec.curve_s
    fixed_s += spec.settle.base

    def seek_s(distance: float) -> float:
        share = distance / cylinders if distance < cylinders else 1.0
        return fixed_s + root_s * math.sqrt(share) + linear_s * share

    return seek_s


def measured_curve(points: Sequence[tuple[float, float]]) -> SeekCurve:
    """Lay a curve through (cylinders, seconds), rising distances, straight between them; the last slope goes on beyond, if it rises."""
    distances, times_s = [distance for distance, _ in points], [time_s for _, time_s in points]
    last = len(points) - 1

    def seek_s(distance: float) -> float:
        after = min(bisect_left(distances, distance), last)
        if after == 0 or distances[after] == distance:
            return times_s[after]
        slope = (times_s[after] - times_s[after - 1]) / (distances[after] - distances[after - 1])
        if distance > distances[after]:
            return times_s[after] + max(0.0, slope) * (distance - distances[after])
        return times_s[after - 1] + slope * (distance - distances[after - 1])

    return seek_s


@dataclass(eq=False, slots=True)
class Held:
    start: int
    end: int  # the first address behind it
    written: bool = False


class Segments:
    """Segments of a drive's buffer, as many as its `electronics` say; the one that was used least recently gives way to a new one."""

    def __init__(self, electronics: Electronics):
        self._caching, self._written_data_hit = electronics.caching, electronics.written_data_hit
        self._most, self._most_written = electronics.segments, electronics.write_segments
        self.segment_bytes = electronics.segment_sectors * SECTOR_BYTES
        self.reset()

    def reset(self) -> None:
        self._held: list[Held] = []  # the newest last

    def find(self, address: int, end: int) -> Held | None:
        if self._caching:
            for held in self._held:
                if held.start <= address and end <= held.end and (self._written_data_hit or not held.written):
                    return self._newest(held)
        return None

    def continued(self, address: int) -> Held:
        """Return the segment of reads that holds what lies before `address`, else a new one that begins there."""
        if self._caching:
            for held in self._held:
                if held.start <= address <= held.end and not held.written:
                    return self._newest(held)
        return self._new(Held(address, address))

    def grow(self, held: Held, end: int) -> None:
        """Let `held` reach to `end` at least; a segment keeps its last bytes."""
        if end > held.end:
            held.end = end
            held.start = max(held.start, end - self.segment_bytes)

    def write(self, address: int, end: int) -> None:
        """Take what is written in the place of whatever was held of it: of a segment the part before it stays."""
        stream = next((held for held in self._held if held.written and held.end == address), None)
        for held in [held for held in self._held if held.start < end and address < held.end]:
            held.end = address
            if held.start >= address:
                self._held.remove(held)
        if stream is None:
            written = [held for held in self._held if held.written]
            if written and len(written) >= self._most_written:
                self._held.remove(written[0])
            stream = self._new(Held(address, address, written=True))
        self.grow(self._newest(stream), end)

    def _new(self, held: Held) -> Held:
        if len(self._held) == self._most:
            del self._held[0]
        self._held.append(held)
        return held

    def _newest(self, held: Held) -> Held:
        if self._held[-1] is not held:
            self._held.remove(held)
            self._held.append(held)
        return held


ROUNDING_TURNS: Final = 1e-7


@dataclass(frozen=True)
class Mechanics:
    geometry: Geometry
    seek: SeekCurve
    turn_s: float
    head_switch_s: float = 0.0  # to another track of the cylinder
    write_settle_s: float = 0.0  # below zero: a write begins so much sooner than a read, though never before the arm sets off


@dataclass(slots=True)
class Pass:
    """The head reads into `held`: it is at the place `turns` at `from_s` and goes on until what lies before `limit` is read."""

    held: Held
    from_s: float
    turns: float
    seen_s: float  # what it has read until then is in the buffer
    least: int = 0  # nothing calls it away before it has read up to here
    least_s: float = -math.inf
    limit: int = 0


class Mechanism:
    """The head of a drive and its buffer; the seed decides where the platter stands at time 0, `stretch` multiplies seek distances."""

    def __init__(self, mechanics: Mechanics, electronics: Electronics, *, seed: int, stretch: float):
        self._geometry, self._seek, self._turn_s = mechanics.geometry, mechanics.seek, mechanics.turn_s
        self._head_switch_s, self._settle_s = mechanics.head_switch_s, mechanics.write_settle_s
        self._electronics = electronics
        self._phase = random.Random(seed).random()
        self._stretch = stretch
        self.capacity_bytes = self._geometry.capacity_bytes
        self._ahead_bytes: int | None = None  # where no more decides how far the head reads on
        far = electronics.caching and electronics.read_ahead is ReadAhead.MAXIMUM and electronics.over_requested
        if far and electronics.most_ahead_sectors is not None and not electronics.least_ahead_sectors:
            self._ahead_bytes = min(electronics.most_ahead_sectors, electronics.segment_sectors) * SECTOR_BYTES
        self._buffer = Segments(electronics)

    def _reset_head(self) -> None:
        self._buffer.reset()
        self._pass: Pass | None = None
        self._free_s = -math.inf  # when the arm is or was free
        self._at = 0  # the head stands where what lies before ends
        self._head: Spot = (0.0, 0.0)

    def _arrive_s(self, start_s: float, spot: Spot, settle_s: float) -> float:
        """Return when the arm, which sets off at `start_s`, is at the track of `spot`; a write settles on top, or so much sooner."""
        head_turns, head_cylinder = self._head
        if self._geometry.comes_by(head_turns, spot[0]):
            return start_s
        distance = abs(spot[1] - head_cylinder) * self._stretch
        seek_s = self._seek(distance) if distance >= 1 else 0.0
        move_s = seek_s if seek_s > self._head_switch_s else self._head_switch_s
        return start_s + (max(0.0, move_s + settle_s) if settle_s else move_s)

    def _begin_s(self, arrival_s: float, turns: float) -> float:
        wait = (turns - arrival_s / self._turn_s - self._phase) % 1.0
        return arrival_s if wait > 1 - ROUNDING_TURNS else arrival_s + wait * self._turn_s

    def _there_s(self, passing: Pass, until: int) -> float:
        return passing.from_s + (self._geometry.end(until)[0] - passing.turns) * self._turn_s

    def _catch_up(self, now_s: float) -> None:
        passing = self._pass
        if passing is None or now_s <= passing.seen_s or passing.held.end >= passing.limit:
            return
        passing.seen_s = now_s
        end = self._geometry.address(passing.turns + (now_s - passing.from_s) / self._turn_s + ROUNDING_TURNS)
        self._buffer.grow(passing.held, min(passing.limit, end))
        self._at = passing.held.end

    def _call_away(self, now_s: float) -> float:
        """End what the head is reading on for, once it has read `least`; return when the arm can set off."""
        if passing := self._pass:
            self._free_s = max(self._free_s, passing.least_s)
            self._catch_up(now_s if now_s > passing.least_s else passing.least_s)
            self._pass, self._head = None, self._geometry.end(self._at)
        return now_s if now_s > self._free_s else self._free_s

    def _begun(self, passing: Pass, now_s: float, address: int, *, waits: bool = False) -> bool:
        """Whether the head, which reads on, has just passed the first sector at `address`; or will do so, for a read that `waits`."""
        self._catch_up(now_s)
        held, electronics = passing.held, self._electronics
        last = passing.limit if waits else held.end - (0 if electronics.almost_hits else SECTOR_BYTES)
        return held.end < passing.limit and held.start <= address <= last

    def _move_on(self, held: Held, spot: Spot, start_s: float) -> tuple[Pass, float]:
        arrival_s = self._arrive_s(start_s, spot, 0.0)
        from_s = self._begin_s(arrival_s, spot[0])
        self._pass = passing = Pass(held, from_s, spot[0], from_s)
        return passing, arrival_s

    def _limits(self, address: int, end: int) -> tuple[int, int]:
        electronics, kind = self._electronics, self._electronics.read_ahead
        if not electronics.caching or kind is ReadAhead.NONE:
            return end, end
        space = (end if electronics.over_requested else address) + self._buffer.segment_bytes
        space = max(end, min(space, self.capacity_bytes))
        until = space
        if kind is ReadAhead.TRACK:
            until = self._geometry.track(end - SECTOR_BYTES)[1]
        elif kind is ReadAhead.CYLINDER:
            until = self._geometry.cylinder(end - SECTOR_BYTES)[1]
        elif kind is ReadAhead.MAXIMUM and electronics.most_ahead_sectors is not None:
            until = end + electronics.most_ahead_sectors * SECTOR_BYTES
        least = min(space, end + electronics.least_ahead_sectors * SECTOR_BYTES)
        return least, max(least, min(space, until))

    def _set_limit(self, passing: Pass, address: int, end: int) -> None:
        if self._ahead_bytes is None:
            least, limit = self._limits(address, end)
        else:
            least, limit = end, end + self._ahead_bytes
            limit = limit if limit < self.capacity_bytes else self.capacity_bytes
        if least > passing.least:
            passing.least, passing.least_s = least, self._there_s(passing, least)
        passing.limit = max(passing.limit, limit)
