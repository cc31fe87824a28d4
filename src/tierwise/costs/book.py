"""The price book: ``data/prices/*.csv``, each price as it was read, with its place, its date and where it was read."""

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from math import inf
from pathlib import Path
from typing import Final

from pydantic import Field, ValidationError, field_validator

from tierwise.core import paths
from tierwise.core.dates import STALE_DAYS, Day, first_day
from tierwise.core.errors import InputError, MissingError, suggesting
from tierwise.core.text_files import read_csv
from tierwise.core.toml import Strict
from tierwise.costs.units import measure
from tierwise.devices.instances import load_instances, price_item

FIELDS: Final = ("item", "region", "currency", "date", "price", "unit", "source", "note")
LONE: Final = 2.0  # how far off a price may be that was read only once: assumed
WORLD: Final = "world"
GIVEN: Final = "given on the command line"
GUESS: Final = "guess"  # how the note of a price begins that is no offer

_REMEDIES: Final = {
    "source": "name the source of the price, or leave the price out",
    "date": "write YYYY, YYYY-MM or YYYY-MM-DD; if the page has no date, write the day on which you read it, and a note",
    "currency": "write three capital letters (USD), and a year after them for constant money of that year (USD2020)",
    "region": "write a country (US), a part of a country (US-VA), EU or world",
    "item": "use small letters, digits and hyphens",
}


class Price(Strict):
    """One row: `price` of one `unit` of `item`, in `currency` as it was worth on `date`."""

    item: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    region: str = Field(pattern=r"^([A-Z]{2}(-[A-Z0-9]+)?|world)$")
    currency: str = Field(pattern=r"^[A-Z]{3}([12][0-9]{3})?$", description="with a year: constant money of that year")
    date: Day
    price: float = Field(gt=0, allow_inf_nan=False)
    unit: str
    source: str = Field(pattern=r"\S")
    note: str = ""

    @field_validator("unit")
    @classmethod
    def _is_known(cls, unit: str) -> str:
        measure(unit)
        return unit

    @field_validator("source")
    @classmethod
    def _was_read(cls, source: str) -> str:
        if source.strip().lower() == "assumed":
            raise ValueError("a price must have been read somewhere: none may be assumed")
        return source

    @property
    def day(self) -> dt.date:
        return first_day(self.date)

    @property
    def guess(self) -> bool:
        """Return whether nobody offered it at this price: no claim may hang on it."""
        return self.note.startswith(GUESS)

    @property
    def dimension(self) -> str:
        """Return what it is a price of: ``piece``, ``byte``, ``kWh``, ..."""
        return measure(self.unit)[0]

    @property
    def each(self) -> float:
        """Return the price of one piece, byte, hour, ... in `currency`."""
        return self.price / measure(self.unit)[1]

    def __str__(self) -> str:
        return f"{self.price:g} {self.currency} per {self.unit} ({self.region}, {self.date})"


@dataclass(frozen=True)
class Quote:
    """A price as an answer uses it: `each` in the answer's currency, by `rate` where it was read in another."""

    price: Price
    rate: Price | None
    each: float
    age_days: int

    @property
    def stale(self) -> bool:
        return self.age_days > STALE_DAYS


@dataclass(frozen=True)
class Book:
    """The prices as they stood `on` a day: of each item the newest of `region`, else of the world, else the newest of all."""

    prices: tuple[Price, ...]
    on: dt.date
    currency: str = "USD"
    region: str = "US"
    given: Mapping[str, Price] = field(default_factory=dict)

    def quote(self, item: str) -> Quote:
        if item not in self._quoted:
            price = self.price(item)
            rate = None if price.currency == self.currency else self._rate(price)
            self._quoted[item] = Quote(price, rate, price.each * (rate.each if rate else 1.0), (self.on - price.day).days)
        return self._quoted[item]

    @cached_property
    def _quoted(self) -> dict[str, Quote]:
        """Quotes given before: a sweep over prices requests tens of thousands."""
        return {}

    @cached_property
    def _rows(self) -> dict[str, list[Price]]:
        found: dict[str, list[Price]] = {}
        for price in self.prices:
            found.setdefault(price.item, []).append(price)
        return found

    def priced(self, item: str) -> bool:
        return item in self.given or any(row.day <= self.on for row in self._rows.get(item, ()))

    def price(self, item: str) -> Price:
        if item in self.given:
            return self.given[item]
        rows = self._rows.get(item)
        if not rows:
            known = sorted(name for name, same in self._rows.items() if same[0].unit != "hour")
            remedy = suggesting(item, known, f"one of {', '.join(known)}")
            raise InputError("price book", field="item", value=item, rule="no such item", remedy=remedy)
        past = [price for price in rows if price.day <= self.on]
        if not past:
            why = f"the first price is dated {min(rows, key=lambda price: price.day).date}"
            raise MissingError(f"price of {item} on {self.on}", why=why, remedy="give a later day, or add a row with an older price")
        return max(past, key=lambda price: (self._nearness(price), price.day))

    def with_price(self, item: str, value: float) -> "Book":
        """Return the same book with `value` (in the currency and the unit of the row that stands there) as the price of `item`."""
        row = self.price(item)
        if not 0 < value < inf:
            raise InputError("--price", field=item, value=value, rule=f"must be a number above zero, in {row.currency} per {row.unit}")
        given = row.model_copy(update={"price": value, "date": self.on.isoformat(), "source": GIVEN, "note": ""})
        return replace(self, given={**self.given, item: given})

    def lone(self, item: str) -> bool:
        """Return whether the price of `item` was read only once within a year, so that its band is assumed."""
        return item not in self.given and len(self._near(item)) < 2

    def band(self, item: str) -> tuple[float, float]:
        """Return the lowest and the highest price of one piece, byte, ... of `item`, in the book's currency.

        What was read within a year of the price that is used; around a lone price half of it and twice it (assumed); a given price alone.
        """
        used, each = self.price(item), self.quote(item).each
        if item in self.given:
            return each, each
        if self.lone(item):
            return each / LONE, each * LONE
        near = [row.each * each / used.each for row in self._near(item)]
        return min(near), max(near)

    def _near(self, item: str) -> list[Price]:
        used = self.price(item)
        alike = (row for row in self._rows[item] if (row.region, row.currency) == (used.region, used.currency))
        return [row for row in alike if abs((row.day - used.day).days) <= STALE_DAYS]

    def _nearness(self, price: Price) -> int:
        return 2 if price.region.split("-")[0] == self.region.split("-")[0] else int(price.region == WORLD)

    def _rate(self, price: Price) -> Price:
        item = f"exchange-{price.currency.lower()}"
        rates = [row for row in self.prices if row.item == item and row.currency == self.currency]
        near = [row for row in rates if abs((row.day - price.day).days) <= STALE_DAYS]
        if not near:
            raise InputError(
                f"price of {price.item}",
                field="currency",
                value=price.currency,
                rule=f"cannot be converted to {self.currency}: there is no exchange rate dated within a year of {price.date}",
                remedy=f"add a row {item} in {self.currency} to data/prices",
            )
        return min(near, key=lambda row: abs((row.day - price.day).days))


def load_book(on: dt.date, *, currency: str = "USD", region: str = "US", folder: Path | None = None) -> Book:
    """Return every ``*.csv`` of ``data/prices`` (or `folder`) as the book of the day `on`."""
    files = sorted((folder or paths.data() / "prices").glob("*.csv"))
    rented = sorted((paths.data() / "instances").glob("*.toml")) if folder is None else []
    seen: dict[tuple[str, str, str, str], str] = {}
    dimensions: dict[str, str] = {}
    prices = []
    for where, price in (pair for file in files for pair in read_prices(file)):
        key = (price.item, price.region, price.currency, price.date)
        if key in seen:
            rule = f"the same item, region, currency and date as {seen[key]}"
            raise InputError(where, field="item", value=price.item, rule=rule, remedy="keep one of the two rows")
        if dimensions.setdefault(price.item, price.dimension) != price.dimension:
            rule = f"other rows of {price.item} are prices of a {dimensions[price.item]}"
            raise InputError(where, field="unit", value=price.unit, rule=rule, remedy="name another item")
        seen[key] = where
        prices.append(price)
    return Book((*prices, *(rent for path in rented for rent in _rents(path))), on, currency, region)


@cache
def _rents(path: Path) -> tuple[Price, ...]:
    """Return the rents of the machines in `path`, which, like `load_instances`, is read once."""
    there = load_instances(path.stem)
    if there is None or there.price is None:
        return ()
    read = {"unit": "hour", **there.price.model_dump(include={"region", "currency", "date", "source", "note"})}
    rents = [(price_item(path.stem, name), one.usd_hour) for name, one in there.instances.items() if one.usd_hour is not None]
    return tuple(Price.model_construct(item=item, price=price, **read) for item, price in rents)


def read_prices(file: Path) -> Iterator[tuple[str, Price]]:
    """Yield (``data/prices/x.csv row 7``, price) of each row; the header is row 1."""
    place = paths.short(file)
    rows = read_csv(file)
    header = next(rows, [])
    if tuple(header) != FIELDS:
        raise InputError(place, field="header", value=",".join(header), rule=f"must be {','.join(FIELDS)}")
    for number, cells in enumerate(rows, start=2):
        where = f"{place} row {number}"
        if len(cells) != len(FIELDS):
            rule = f"must have {len(FIELDS)} fields, not {len(cells)}"
            raise InputError(where, value=",".join(cells), rule=rule, remedy="put quotes around a text that contains a comma")
        yield where, _price(where, dict(zip(FIELDS, cells, strict=True)))


def _price(where: str, cells: Mapping[str, str]) -> Price:
    try:
        return Price.model_validate(cells)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0])
        unsourced = name == "source" and not cells[name].strip()
        rule = "a price without a source is refused" if unsourced else first["msg"].removeprefix("Value error, ")
        raise InputError(where, field=name, value=cells[name], rule=rule, remedy=_REMEDIES.get(name)) from error
