"""The five-minute rule: after how long without an access does a page cost more in the upper store than fetching it from the lower one?

Jim Gray and Franco Putzolu, The 5 minute rule for trading memory for disc accesses (1987), renewed by Gray and Graefe (1997), Graefe (2007)
and Appuswamy and others (2017).
"""

from typing import Final

from pydantic import Field

from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.text_files import read_csv
from tierwise.core.toml import Strict, validate
from tierwise.core.vocabulary import Evidence
from tierwise.costs.bill import Bill
from tierwise.costs.book import Book
from tierwise.costs.hardware import RAM, capacity_bytes, device_bill, purchase, ram_bill
from tierwise.costs.iops import Iops

PLACE: Final = "data/published/break_evens.csv"


def break_even_s(*, page_bytes: float, accesses_per_s: float, device_cost: float, memory_cost_per_byte: float) -> float:
    """Return seconds between two accesses at which caching a page and fetching it cost the same.

    Both costs in the same money, both as purchases or both as rents of the same time.
    Gray and Putzolu write it (pages per MB / accesses per second) x (price of the disk / price of a MB of memory).
    """
    costs = {"device_cost": device_cost, "memory_cost_per_byte": memory_cost_per_byte}
    for field, value in {"page_bytes": page_bytes, "accesses_per_s": accesses_per_s, **costs}.items():
        if value <= 0:
            raise InputError("break-even", field=field, value=value, rule="must be above zero")
    return device_cost / (accesses_per_s * page_bytes * memory_cost_per_byte)


class BreakEven(Strict):
    """The time within which a page of `lower` must be read again to belong on `upper`, by purchase (`None`: rented) or yearly cost."""

    upper: str
    lower: str
    page_bytes: int
    by_purchase_s: float | None
    by_year_s: float
    iops_evidence: Evidence


def memory_over(name: str, page_bytes: int, rate: Iops, book: Book, *, life_years: float | None = None) -> BreakEven:
    bought = purchase(name, book)
    once = None if bought is None else _interval_s(bought, rate, Bill({RAM: 1.0}), page_bytes, book)
    a_year, byte = device_bill(name, book, life_years=life_years), ram_bill(1.0, life_years=life_years)
    by_year_s = _interval_s(a_year, rate, byte, page_bytes, book)
    return BreakEven(
        upper="memory", lower=name, page_bytes=page_bytes, by_purchase_s=once, by_year_s=by_year_s, iops_evidence=rate.evidence
    )


def device_over(upper: str, lower: str, page_bytes: int, rate: Iops, book: Book, *, life_years: float | None = None) -> BreakEven:
    """Return the device `upper` as a cache of the device `lower`; `rate` is that of `lower`."""
    bought, cache, share = purchase(lower, book), purchase(upper, book), 1 / capacity_bytes(upper)
    once = None if bought is None or cache is None else _interval_s(bought, rate, cache * share, page_bytes, book)
    a_year, byte = device_bill(lower, book, life_years=life_years), device_bill(upper, book, life_years=life_years) * share
    by_year_s = _interval_s(a_year, rate, byte, page_bytes, book)
    return BreakEven(upper=upper, lower=lower, page_bytes=page_bytes, by_purchase_s=once, by_year_s=by_year_s, iops_evidence=rate.evidence)


def _interval_s(device: Bill, rate: Iops, memory_byte: Bill, page_bytes: int, book: Book) -> float:
    costs = {"device_cost": device.cost(book), "memory_cost_per_byte": memory_byte.cost(book)}
    return break_even_s(page_bytes=page_bytes, accesses_per_s=rate.value, **costs)


class Published(Strict):
    year: int
    upper: str
    lower: str
    page_bytes: int = Field(gt=0)
    interval_s: float = Field(gt=0, allow_inf_nan=False)
    source: str


def published() -> list[Published]:
    header, *rows = list(read_csv(paths.home() / PLACE)) or [[]]
    return [validate(dict(zip(header, cells, strict=False)), Published, where=f"{PLACE} row {row}") for row, cells in enumerate(rows, 2)]
