"""A limit of so much a second: what a controller takes, or what was paid for of a volume."""

import math


class RateLimit:
    """Lets `rate` units a second through, one after the other; what was not used is saved up to `saved` units."""

    def __init__(self, rate: float, *, saved: float = 0.0):
        self._rate, self._saved_s = rate, saved / rate
        self._paid_s = -math.inf  # what has gone through is paid for at this time

    def enter(self, now_s: float, amount: float = 1.0) -> float:
        """Return when `amount` units that come at `now_s` may go on."""
        enter_s = max(now_s, self._paid_s - self._saved_s)
        self._paid_s = max(now_s, self._paid_s) + amount / self._rate
        return enter_s
