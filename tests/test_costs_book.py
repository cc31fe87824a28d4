"""The price book: what may stand in it, which price is taken, and that nothing is mixed silently."""

import datetime as dt
from pathlib import Path

import pytest

from prices import TODAY, book, price, write
from tierwise.core.errors import InputError
from tierwise.costs.bill import Bill, remarks
from tierwise.costs.book import load_book
from tierwise.costs.units import measure

GOOD = "ram,US,USD,2026-01,240,32 GiB,a page that was read,two modules"


def changed(field: str, value: str) -> str:
    fields = ("item", "region", "currency", "date", "price", "unit", "source", "note")
    return ",".join(value if name == field else old for name, old in zip(fields, GOOD.split(","), strict=True))


def test_the_projects_own_book_is_valid_and_every_price_says_where_it_was_read() -> None:
    prices = load_book(TODAY).prices
    assert len({row.item for row in prices}) > 20
    assert all(len(row.source) > 10 for row in prices)


def test_the_sources_own_prices_stand_in_it() -> None:
    mine = {(row.item, row.price, row.currency, row.unit) for row in load_book(TODAY).prices}
    assert ("ssd-source-h", 500, "GBP", "TB") in mine
    assert ("hdd-1tb-source-h", 87, "GBP", "TB") in mine
    assert ("ssd-x25-e", 1000, "EUR", "piece") in mine


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("source", "", "a price without a source is refused"),
        ("source", "assumed", "none may be assumed"),
        ("price", "0", "greater than 0"),
        ("price", "-1", "greater than 0"),
        ("price", "nan", "finite"),
        ("price", "cheap", "valid number"),
        ("unit", "bushel", "must be one of piece"),
        ("currency", "dollars", "pattern"),
        ("date", "2026-13", "month"),
        ("date", "yesterday", "pattern"),
        ("region", "Mars", "pattern"),
        ("item", "Ram", "pattern"),
    ],
)
def test_a_row_that_breaks_a_rule_is_named_with_file_row_field_and_value(tmp_path: Path, field: str, value: str, rule: str) -> None:
    with pytest.raises(InputError) as caught:
        load_book(TODAY, folder=write(tmp_path, GOOD, changed(field, value)))
    assert str(caught.value).startswith(f"test.csv row 3: {field} is {value!r}: ")
    assert rule in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "reported"),
    [
        ((GOOD, GOOD), "row 3: item is 'ram': the same item, region, currency and date as test.csv row 2"),
        ((GOOD, changed("unit", "piece").replace("2026-01", "2025")), "row 3: unit is 'piece': other rows of ram are prices of a byte"),
        (("ram,US,USD",), "row 2 is 'ram,US,USD': must have 8 fields, not 3"),
    ],
)
def test_rows_must_agree_with_each_other(tmp_path: Path, rows: tuple[str, ...], reported: str) -> None:
    with pytest.raises(InputError) as caught:
        load_book(TODAY, folder=write(tmp_path, *rows))
    assert reported in str(caught.value)


@pytest.mark.parametrize(
    ("unit", "dimension", "worth"),
    [
        ("piece", "piece", 1),
        ("GB", "byte", 1e9),
        ("8 GiB", "byte", 2**33),
        ("200 GiB-month", "byte-month", 200 * 2**30),
        ("GiB/s-month", "byte/s-month", 2**30),
        ("IOPS-month", "IOPS-month", 1),
        ("EUR", "EUR", 1),
    ],
)
def test_a_unit_says_what_is_measured_and_decimal_is_not_binary(unit: str, dimension: str, worth: float) -> None:
    assert measure(unit) == (dimension, worth)


def test_the_newest_price_by_then_is_taken() -> None:
    prices = (
        price("ram", 75, "8 GiB", date="2013-11"),
        price("ram", 32, "4 GiB", date="2014-07"),
        price("ram", 450, "64 GiB", date="2025-10"),
    )
    assert book(*prices, on=dt.date(2014, 7, 11)).quote("ram").each == 32 / 2**32
    assert book(*prices, on=dt.date(2014, 6, 30)).quote("ram").each == 75 / 2**33


def test_an_unknown_item_names_those_that_are_there() -> None:
    with pytest.raises(InputError, match=r"item is 'rum': no such item\. Remedy: did you mean ram\? one of disk, ram"):
        book(price("ram", 1, "GiB"), price("disk", 1)).quote("rum")


def test_the_readers_region_comes_before_the_world_and_the_world_before_other_regions() -> None:
    german, world, virginian = (
        price("x", 1, region="DE", date="2026-05"),
        price("x", 2, region="world"),
        price("x", 3, region="US-VA", date="2025"),
    )
    assert book(german, world, virginian).quote("x").each == 3
    assert book(german, world).quote("x").each == 2
    assert book(german).quote("x").each == 1


def test_a_price_older_than_a_year_warns() -> None:
    old, young = price("old", 1, date="2025-06-30"), price("young", 1, date="2025-07-01")
    assert remarks([Bill({"old": 1, "young": 1})], book(old, young)) == [
        "These prices are older than a year on 2026-07-01: old (2025-06-30)"
    ]


def test_currencies_mix_only_by_a_dated_rate_and_it_is_said() -> None:
    pounds, rate = price("ssd", 500, "TB", currency="GBP", region="GB"), price("exchange-gbp", 1.3, "GBP", date="2025-12")
    with pytest.raises(InputError, match=r"currency is 'GBP': cannot be converted to USD: .* within a year of 2026-01"):
        book(pounds).quote("ssd")
    mixed = book(pounds, rate)
    assert mixed.quote("ssd").each == pytest.approx(650e-12)
    assert remarks([Bill({"ssd": 1e12})], mixed) == [
        "The price of ssd is 500 GBP per TB (GB, 2026-01) at 1.3 USD for 1 GBP (2025-12; read in a test)"
    ]


def test_a_price_given_by_the_reader_stands_in_the_unit_of_the_row() -> None:
    given = book(price("ram", 240, "32 GiB", date="2020")).with_price("ram", 320)
    assert given.quote("ram").each == 10 / 2**30
    assert given.quote("ram").price.source == "given on the command line"
    assert not given.quote("ram").stale


def test_the_band_of_a_price_is_what_was_read_within_a_year_of_it() -> None:
    prices = [price("ram", value, date=date) for value, date in ((9, "2023"), (2, "2025-03"), (7, "2026-01"))]
    assert book(*prices).band("ram") == (2, 7)


def test_a_lone_price_may_be_half_or_twice_of_what_it_says_and_a_given_one_is_meant() -> None:
    lone = book(price("ram", 4))
    assert lone.band("ram") == (2, 8)
    assert lone.with_price("ram", 5).band("ram") == (5, 5)
