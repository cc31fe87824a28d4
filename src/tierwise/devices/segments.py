"""The buffer of a disk drive: segments of what was read, which grow while the head passes, and of what was written."""

from dataclasses import dataclass

from tierwise.core.units import SECTOR_BYTES
from tierwise.devices.electronics import Electronics


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
        """Return the segment that holds `address` to `end`, if hits on it are allowed."""
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
