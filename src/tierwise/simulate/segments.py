"""The buffer of a specified drive: segments of what was read, which grow while the head passes, and of what was written."""

from dataclasses import dataclass

from tierwise.simulate.drive_files import SECTOR_BYTES
from tierwise.simulate.drive_specs import DriveSpecs


@dataclass(eq=False)
class Held:
    start: int
    end: int
    written: bool = False


class Segments:
    """Segments of a drive's buffer, as many as its `specs` say, of which the one that was used least recently makes space."""

    def __init__(self, specs: DriveSpecs):
        self._specs = specs
        self.segment_bytes = specs.segment_sectors * SECTOR_BYTES
        self._held: list[Held] = []  # the newest last

    def find(self, address: int, end: int) -> Held | None:
        """Return the segment that holds `address` to `end`, if hits on it are allowed."""
        if not self._specs.caching:
            return None
        for held in self._held:
            if held.start <= address and end <= held.end and (self._specs.written_data_hit or not held.written):
                return self._newest(held)
        return None

    def continued(self, address: int) -> Held:
        """Return the segment of reads that holds what lies before `address`, else a new one that begins there."""
        for held in self._held:
            if self._specs.caching and not held.written and held.start <= address <= held.end:
                return self._newest(held)
        return self._new(Held(address, address))

    def grow(self, held: Held, end: int) -> None:
        """Let `held` reach to `end` at least; a segment keeps its last bytes."""
        held.end = max(held.end, end)
        held.start = max(held.start, held.end - self.segment_bytes)

    def write(self, address: int, end: int) -> None:
        """Take what is written in the place of whatever was held of it: of a segment the part before it stays."""
        stream = next((held for held in self._held if held.written and held.end == address), None)
        for held in [held for held in self._held if held.start < end and address < held.end]:
            held.end = address
            if held.start >= address:
                self._held.remove(held)
        if stream is None:
            written = [held for held in self._held if held.written]
            if written and len(written) >= self._specs.write_segments:
                self._held.remove(written[0])
            stream = self._new(Held(address, address, written=True))
        self.grow(self._newest(stream), end)

    def _new(self, held: Held) -> Held:
        del self._held[: max(0, len(self._held) + 1 - self._specs.segments)]
        self._held.append(held)
        return held

    def _newest(self, held: Held) -> Held:
        self._held.remove(held)
        self._held.append(held)
        return held
