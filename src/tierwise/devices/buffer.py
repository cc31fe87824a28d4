"""A drive's buffer: which addresses it holds, in a few segments, of which the oldest makes space for a new one."""

from dataclasses import dataclass


@dataclass
class Segment:
    """Addresses `start` to `end`, one stream's share of the buffer."""

    start: int
    end: int


class Buffer:
    """A drive's buffer of at most `segments` segments of `segment_bytes` each."""

    def __init__(self, segments: int, segment_bytes: int):
        self._most, self._segment_bytes = segments, segment_bytes
        self._held: list[Segment] = []  # the newest last

    def find(self, address: int, end: int) -> bool:
        for segment in self._held:
            if segment.start <= address and end <= segment.end:
                self._held.remove(segment)
                self._held.append(segment)
                return True
        return False

    def put(self, address: int, end: int) -> Segment:
        """Keep `address` to `end`: in the segment whose stream it continues, else in one of its own. A segment keeps its last bytes."""
        for segment in self._held:
            if segment.start <= address <= segment.end:
                self._held.remove(segment)
                segment.end = max(segment.end, end)
                break
        else:
            segment = Segment(address, end)
            del self._held[: max(0, len(self._held) + 1 - self._most)]
        segment.start = max(segment.start, segment.end - self._segment_bytes)
        self._held.append(segment)
        return segment

    def written(self, address: int, end: int) -> None:
        """Forget what was held from `address` to `end`, which is stale: of a segment the part before it stays."""
        for segment in [held for held in self._held if held.start < end and address < held.end]:
            if segment.start < address:
                segment.end = address
            else:
                self._held.remove(segment)
