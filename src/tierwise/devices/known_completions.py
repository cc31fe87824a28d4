"""Devices that know when a request will be through as soon as it comes."""

import math
from heapq import heappop, heappush


class KnownCompletions:
    def reset(self) -> None:
        self._done: list[tuple[float, int]] = []  # a heap of (completion, tag)

    def next_event_s(self) -> float:
        return self._done[0][0] if self._done else math.inf

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        done = []
        while self._done and self._done[0][0] <= now_s:
            done_s, tag = heappop(self._done)
            done.append((tag, done_s))
        return done

    def _will_be_done(self, done_s: float, tag: int) -> None:
        heappush(self._done, (done_s, tag))
