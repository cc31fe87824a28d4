"""Dates of what was read, as sources have them: a day, a month or a year."""

import datetime as dt
from typing import Annotated, Final

from pydantic import AfterValidator, Field

STALE_DAYS: Final = 365  # what was read more than this long before a given day is stale


def first_day(text: str) -> dt.date:
    """Return the first day of the year, the month or the day that `text` names."""
    return dt.date.fromisoformat(text + "-01-01"[len(text) - 4 :])


def _checked(text: str) -> str:
    first_day(text)
    return text


Day = Annotated[str, Field(pattern=r"^[12][0-9]{3}(-[01][0-9](-[0-3][0-9])?)?$"), AfterValidator(_checked)]
"""A field with such a date; a month or a year counts from its first day."""


def is_stale(text: str, on: dt.date) -> bool:
    return (on - first_day(text)).days > STALE_DAYS
