"""From the options of ``tierwise cost`` and ``tierwise volumes`` to an answer."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

from tierwise.core.errors import InputError
from tierwise.core.units import GIB
from tierwise.core.words import Substrate
from tierwise.costs.answer import Answer, answer
from tierwise.costs.book import Book, load_book
from tierwise.costs.delivered import Load, published_load
from tierwise.costs.volumes import Volumes, Wanted, volumes


def cost_answer(
    *,
    on: date,
    prices: Sequence[str],
    devices: Sequence[str],
    load: Mapping[str, float | None],
    life_years: float | None,
    iops: str,
    currency: str,
    region: str,
) -> Answer:
    """`prices`: ``ITEM=VALUE`` in place of the book's; `load`: what is asked in place of the published load, by option."""
    book = load_book(on, currency=currency, region=region)
    for given in prices:
        book = with_given(book, given)
    return answer(book, asked_load(load), devices=devices, substrate=Substrate(iops), life_years=life_years)


def with_given(book: Book, given: str) -> Book:
    """`book` with ``ITEM=VALUE``."""
    item, equals, text = given.partition("=")
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not equals or value != value:  # noqa: PLR0124  not a number
        raise InputError("--price", value=given, rule="must be ITEM=VALUE, an item of the price book and a number")
    return book.with_price(item, value)


def asked_load(options: Mapping[str, float | None]) -> Load:
    """The published load with what `options` (by name, in GiB) say instead."""
    given = {name: value for name, value in options.items() if value is not None}
    sizes = {name.replace("_gib", "_bytes"): value * GIB for name, value in given.items() if name.endswith("_gib")}
    return replace(published_load().load, **sizes, **{name: value for name, value in given.items() if not name.endswith("_gib")})


def volumes_answer(on: date, wanted: Mapping[str, float | None], *, currency: str, region: str) -> Volumes:
    """`wanted`: the fields of `Wanted` by name."""
    return volumes(load_book(on, currency=currency, region=region), Wanted.model_validate(dict(wanted)))
