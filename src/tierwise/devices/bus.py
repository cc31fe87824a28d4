"""The bus between a disk drive's buffer and its host."""

import math
from collections.abc import Callable

from tierwise.devices.electronics import Electronics
from tierwise.devices.protocol import Operation


class Bus:
    """The bus of one drive. It carries the data of one command at a time, as they come; times are in seconds."""

    def __init__(self, electronics: Electronics, *, one_rate: bool):
        self._electronics, self.is_plain = electronics, one_rate and electronics.is_plain
        self._work, self._sector_s = electronics.scale / 1e3, electronics.bus_ms_per_sector / 1e3
        self._read_end_s = self._work * electronics.read_end_ms
        self._taken_s, self._free_s = -math.inf, -math.inf  # when the latest transfers begin, one after the other, and when they have ended
        self._gap_s = -math.inf  # when those before them have ended

    def from_buffer(self, begin_s: float, sectors: int, before: Operation) -> float:
        """Return when `sectors` that the buffer holds have gone to the host."""
        if self.is_plain:
            return self.reserve(begin_s, sectors) + self._read_end_s
        return self.to_host(begin_s, lambda _: begin_s, sectors, before)

    def from_medium(self, begin_s: float, sectors: int, from_s: float, last_s: float, coming: int) -> float:
        """Return when `sectors` have gone over a plain bus; the last `coming` of them come from the medium, from `from_s` to `last_s`."""
        took_s = sectors * self._sector_s
        done_s = max(begin_s + took_s, from_s + coming * self._sector_s, last_s)
        if done_s - took_s < self._free_s:
            return self.reserve(done_s - took_s, sectors) + self._read_end_s
        self._gap_s, self._taken_s, self._free_s = self._free_s, done_s - took_s, done_s
        return done_s + self._read_end_s

    def to_host(self, begin_s: float, there_s: Callable[[int], float], sectors: int, before: Operation) -> float:
        """Return when `sectors` have gone to the host, of which this number is in the buffer at ``there_s(sectors)``."""
        electronics, work = self._electronics, self._work
        mark = max(1, math.ceil(electronics.watermark * (sectors if electronics.watermark_of_request else electronics.segment_sectors)))
        after_read = before is Operation.READ
        disconnect_ms = electronics.read_disconnect_after_read_ms if after_read else electronics.read_disconnect_after_write_ms
        now_s, sent, reselect_ms = begin_s, 0, electronics.first_reselect_ms
        while sent < sectors:
            ready_s = there_s(min(sectors, sent + mark))
            if ready_s > now_s and not electronics.never_disconnects:
                now_s = max(ready_s, now_s + work * disconnect_ms) + work * reselect_ms
                reselect_ms = electronics.other_reselect_ms
            now_s = max(ready_s, max(now_s, ready_s) + work * electronics.prepare_ms)
            now_s = self.reserve(now_s, 0)
            while sent < sectors and (there_s(sent + 1) <= now_s or electronics.holds_bus or electronics.never_disconnects):
                sent += 1
                now_s = max(now_s, there_s(sent)) + self._sector_s
        self._free_s = max(self._free_s, now_s)
        return now_s + self._read_end_s

    def again_s(self, filled_s: float, written_s: float, *, extra: bool) -> float:
        """Return when a write can be reported: it is on the medium at `written_s`, and its data were in the buffer at `filled_s`."""
        electronics, work = self._electronics, self._work
        if electronics.never_disconnects:
            return max(filled_s, written_s)
        disconnect_ms = electronics.extra_second_disconnect_ms if extra else electronics.write_disconnect_ms
        reselect_ms = electronics.other_reselect_ms if extra else electronics.first_reselect_ms
        return max(written_s, filled_s + work * disconnect_ms) + work * reselect_ms

    def reserve(self, begin_s: float, sectors: int) -> float:
        """Take the bus from `begin_s` on or when it is free, or in the gap before; return when `sectors` have gone over it."""
        took_s = sectors * self._sector_s
        start_s = max(begin_s, self._gap_s)
        if start_s + took_s <= self._taken_s:
            self._gap_s = start_s + took_s
            return self._gap_s
        start_s = max(begin_s, self._free_s)
        if start_s > self._free_s:
            self._gap_s, self._taken_s = self._free_s, start_s
        self._free_s = start_s + took_s
        return self._free_s
