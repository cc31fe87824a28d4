"""Dates of what was read, as sources have them: a day, a month or a year."""

import datetime as dt
from typing import Final

STALE_DAYS: Final = 365  # what was read more than this long before a given day is stale


def first_day(text: str) -> dt.date:
    """Return the first day of the year, the month or the day that `text` names."""
    return dt.date.fromisoformat(text + "-01-01"[len(text) - 4 :])


def is_stale(text: str, on: dt.date) -> bool:
    return (on - first_day(text)).days > STALE_DAYS
