"""Where the time of a process goes, by part: what the last lines of a report tell."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum


class Part(StrEnum):
    """What `make report` does, as its last lines call it."""

    MEASURING = "measuring"
    LOADING = "data and loading"
    SERVERS = "servers and mounts"
    RECORDS = "records"
    PREDICTIONS = "predictions"
    KERNELS = "kernels and imports"
    CHAPTERS = "chapters"
    RENDERING = "rendering"


_spent_s: defaultdict[Part, float] = defaultdict(float)
_inner_s: list[float] = []


@contextmanager
def spending(part: Part) -> Iterator[None]:
    """Count the real time in the block as that of `part`, but for what blocks inside it count as theirs."""
    begun_s = time.monotonic()
    _inner_s.append(0.0)
    try:
        yield
    finally:
        took_s = time.monotonic() - begun_s
        _spent_s[part] += took_s - _inner_s.pop()
        if _inner_s:
            _inner_s[-1] += took_s


def take_spent() -> dict[Part, float]:
    """Return the seconds that this process has spent by part, and begin to count anew."""
    spent_s = dict(_spent_s)
    _spent_s.clear()
    return spent_s
