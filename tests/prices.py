"""Price books for tests: small ones made here, and the project's own."""

import datetime as dt
from pathlib import Path

from tierwise.costs.book import FIELDS, Book, Price

TODAY = dt.date(2026, 7, 1)


def price(item: str, value: float, unit: str = "piece", *, currency: str = "USD", date: str = "2026-01", region: str = "US") -> Price:
    return Price(item=item, region=region, currency=currency, date=date, price=value, unit=unit, source="read in a test")


def book(*prices: Price, on: dt.date = TODAY, currency: str = "USD", region: str = "US") -> Book:
    return Book(prices, on, currency, region)


def write(folder: Path, *rows: str, header: str = ",".join(FIELDS)) -> Path:
    (folder / "test.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return folder
