"""What a year needs of each priced item. A cost is linear in every price, so that a price's limits are exact."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tierwise.core.dates import STALE_DAYS
from tierwise.core.text_template import render
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
