"""Dates of what was read: a day, a month or a year, which count from their first day."""

import datetime as dt

import pytest

from tierwise.core.dates import first_day, is_stale
from tierwise.devices.parameter import Parameter
from tierwise.report.exhibits.tables.parameters import band_of, source_of

ON = dt.date(2026, 11, 23)


@pytest.mark.parametrize(
    ("text", "stale"), [("2026", False), ("2025-12", False), ("2025-11-23", False), ("2025-11-22", True), ("2025", True)]
)
def test_what_is_older_than_a_year_is_stale(text: str, stale: bool) -> None:
    assert is_stale(text, ON) is stale


def test_a_period_counts_from_its_first_day() -> None:
    assert [first_day(text).isoformat() for text in ("2026", "2026-07", "2026-07-28")] == ["2026-01-01", "2026-07-01", "2026-07-28"]


def test_a_parameter_of_no_day_is_refused() -> None:
    with pytest.raises(ValueError, match="month must be in"):
        Parameter(value=1.0, unit="ms", source="a page", date="2026-13")


def test_a_table_of_parameters_says_band_and_day_and_what_is_old() -> None:
    assumed = {"value": 1.0, "unit": "ms", "source": "assumed", "low": 0.5, "high": 2.0}
    assert source_of(assumed, ON).replace("\N{NO-BREAK SPACE}", " ") == "**assumed**"
    assert band_of(assumed).replace("\N{NO-BREAK SPACE}", " ") == " (0.5 to 2 ms)"
    assert source_of({"value": 1.0, "unit": "ms", "source": "a page", "date": "2023-06-15"}, ON) == "a page, 2023-06-15, older than a year"
    assert source_of({"value": 1.0, "unit": "ms", "source": "a page", "date": "2026-10-05"}, ON) == "a page, 2026-10-05"
