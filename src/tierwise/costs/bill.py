"""What a year needs of each priced item. A cost is linear in every price, so that a price's limits are exact."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import inf

from pydantic import Field

from tierwise.core.dates import STALE_DAYS
from tierwise.core.text_template import render
from tierwise.core.toml import Strict
from tierwise.costs.book import Book, Quote


@dataclass(frozen=True)
class Bill:
    """`a_year`: item of the price book -> pieces, bytes, kWh, hours, byte-months, ... a year."""

    a_year: Mapping[str, float]

    def __add__(self, other: "Bill") -> "Bill":
        return Bill({item: self.a_year.get(item, 0.0) + other.a_year.get(item, 0.0) for item in {**self.a_year, **other.a_year}})

    def __mul__(self, factor: float) -> "Bill":
        return Bill({item: factor * amount for item, amount in self.a_year.items()})

    def cost(self, book: Book) -> float:
        return sum(self.parts(book).values())

    def parts(self, book: Book) -> dict[str, float]:
        """Return money a year by item; what is not needed is left out."""
        return {item: amount * book.quote(item).each for item, amount in self.a_year.items() if amount}

    def quotes(self, book: Book) -> dict[str, Quote]:
        return {item: book.quote(item) for item, amount in self.a_year.items() if amount}


NOTHING = Bill({})


def total(bills: Iterable[Bill]) -> Bill:
    return sum(bills, NOTHING)


def remarks(bills: Iterable[Bill], book: Book) -> list[str]:
    """Return whole sentences on the prices behind `bills`: which are old, guessed, converted, or of years that inflation drew apart."""
    quotes = {item: quote for bill in bills for item, quote in bill.quotes(book).items()}
    old = [f"{item} ({quote.price.date})" for item, quote in sorted(quotes.items()) if quote.stale]
    said = [phrase("prices.old", on=book.on, items=old)] if old else []
    guesses = [item for item, quote in sorted(quotes.items()) if quote.price.guess]
    said += [phrase("prices.guess", items=guesses)] if guesses else []
    said += [
        phrase("prices.converted", item=item, price=quote.price, rate=quote.rate) for item, quote in sorted(quotes.items()) if quote.rate
    ]
    days = sorted(quote.price.day for item, quote in quotes.items() if item not in book.given)
    if days and (days[-1] - days[0]).days > STALE_DAYS:
        said.append(phrase("prices.inflation", first=days[0].year, last=days[-1].year))
    return said


def phrase(key: str, /, **values: object) -> str:
    """Return the text of `key`, an entry of ``words.toml``."""
    return render(f"costs/words.toml:{key}", **values)


class Limits(Strict):
    """The prices of `item`, in its row's own currency and unit, between which a ranking by cost, or its first place, stays."""

    item: str
    now: float
    unit: str
    order_below: float | None = Field(description="none: the order stays at every lower price")
    order_above: float | None
    first_below: float | None
    first_above: float | None
    then_below: str | None = Field(description="the first in the order below")
    then_above: str | None


def limits(bills: Mapping[str, Bill], book: Book) -> list[Limits]:
    """Find for each price behind `bills` between which values the ranking, and its first place, stay as they are."""
    items = sorted({item for bill in bills.values() for item, amount in bill.a_year.items() if amount})
    return [_limits(item, bills, book) for item in items]


def rank(bills: Mapping[str, Bill], book: Book) -> list[str]:
    return sorted(bills, key=lambda name: bills[name].cost(book))


def crossing(cheaper: Bill, dearer: Bill, item: str, book: Book) -> float:
    """Return the factor on the price of `item` at which both bills cost the same; infinite where there is none."""
    quote = book.quote(item)
    gap = dearer.cost(book) - cheaper.cost(book)
    slope = (cheaper.a_year.get(item, 0.0) - dearer.a_year.get(item, 0.0)) * quote.each
    return 1 + gap / slope if slope else inf


def ratio_over_band(numerator: Bill, denominator: Bill, book: Book) -> tuple[float, float]:
    """Return the least and the greatest ratio of two costs over all price bands: each price moves it one way, so corners suffice."""
    items = sorted({item for bill in (numerator, denominator) for item, amount in bill.a_year.items() if amount})
    bands = [book.band(item) for item in items]
    corners = [dict(zip(items, corner, strict=True)) for corner in product(*({low, high} for low, high in bands))]
    ratios = [_at(numerator, corner) / _at(denominator, corner) for corner in corners]
    return min(ratios), max(ratios)


def read_once(bills: Iterable[Bill], book: Book) -> str:
    """Return which prices behind `bills` were read only once, as a condition of what is found over their bands; empty where none was."""
    lone = sorted({item for bill in bills for item, amount in bill.a_year.items() if amount and book.lone(item)})
    return phrase("prices.read_once", items=lone) if lone else ""


def turning_price(dearer: Bill, cheaper: Bill, item: str, book: Book) -> float | None:
    """Return the price of `item` at which both bills cost the same, in its row's own currency and unit; `None`: there is none."""
    price = book.price(item).price * crossing(cheaper, dearer, item, book)
    return price if 0 < price < inf else None


def turning(dearer: Bill, cheaper: Bill, item: str, book: Book) -> str:
    now = book.price(item)
    known = {"item": item, "now": now.price, "unit": f"{now.currency} per {now.unit}"}
    return phrase("band.turning", price=turning_price(dearer, cheaper, item, book), **known)


def _at(bill: Bill, each: Mapping[str, float]) -> float:
    return sum(amount * each[item] for item, amount in bill.a_year.items() if amount)


def _limits(item: str, bills: Mapping[str, Bill], book: Book) -> Limits:
    price = book.quote(item).price
    order = rank(bills, book)
    below, above, _, _ = _nearest(list(combinations(order, 2)), item, bills, book)
    first_below, first_above, then_below, then_above = _nearest([(order[0], name) for name in order[1:]], item, bills, book)
    factors = {"order_below": below, "order_above": above, "first_below": first_below, "first_above": first_above}
    ends = {name: price.price * factor if 0 < factor < inf else None for name, factor in factors.items()}
    unit = f"{price.currency} per {price.unit}"
    return Limits(item=item, now=price.price, unit=unit, **ends, then_below=then_below, then_above=then_above)


def _nearest(
    pairs: Sequence[tuple[str, str]], item: str, bills: Mapping[str, Bill], book: Book
) -> tuple[float, float, str | None, str | None]:
    below, above, who_below, who_above = 0.0, inf, None, None
    for cheaper, dearer in pairs:
        factor = crossing(bills[cheaper], bills[dearer], item, book)
        if 1 <= factor < above:
            above, who_above = factor, dearer
        elif below < factor < 1:
            below, who_below = factor, dearer
    return below, above, who_below, who_above
