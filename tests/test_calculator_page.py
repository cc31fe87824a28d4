"""The calculator's page in a real browser: it answers as the command does, by keyboard, on a phone, and from an address."""

import json
from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from browsing import browsing, chromium, recalculate, violations  # noqa: F401  a fixture
from tierwise.calculator.answer import Synthetic, solve
from tierwise.calculator.market import read_market
from tierwise.calculator.write_page import write_page
from tierwise.costs.book import load_book

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

BOOK = load_book(date(2026, 11, 28))
PHONE_PX = 360


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page(tmp_path_factory.mktemp("page") / "calculator.html", BOOK).as_uri()


@pytest.fixture
def page(chromium: "Browser", address: str) -> Iterator["Page"]:  # noqa: F811
    with browsing(chromium, address, PHONE_PX, "light") as opened:
        yield opened


def answered(page: "Page") -> Any:
    return json.loads(page.locator("#calculator-answer").get_attribute("data-answer") or "null")


@pytest.mark.parametrize(
    ("market", "skew", "layout", "ram", "requests", "writes"),
    [
        ("server", 0.9, "strewn", None, 1000, 0.1),
        ("aws", 0.0, "recent", None, 30000, 0.0),
        ("azure", 1.1, "random-keys", 16, 300, 1.0),
        ("gcp", 0.7, "recent", None, 5000, 0.3),
        ("aws", 2.9, "strewn", None, 10, 0.5),
    ],
)
def test_the_page_answers_as_the_command(  # noqa: PLR0917
    page: "Page", address: str, market: str, skew: float, layout: str, ram: int | None, requests: float, writes: float
) -> None:
    inputs = f"market={market}&skew={skew}&layout={layout}&ram_gib={ram or ''}&requests={requests}&writes={writes}"
    page.goto(f"{address}#{inputs}&table_gib=40&index_gib=8&clients=32")
    ours, gib = answered(page), 2**17
    if skew > 2:
        assert ours is None
        assert "Not computed" in page.locator("#calculator-answer").inner_text()
        return
    workload = {"table_pages": 40 * gib, "index_pages": 8 * gib, "ram_pages": ram and ram * gib, "requests_s": requests, "clients": 32}
    found = solve(Synthetic.model_validate(workload | {"skew": skew, "layout": layout, "writes": writes}), read_market(market, BOOK))
    assert found.best is not None
    assert (ours["on"], ours["ram"]) == ([found.best.table, found.best.index, found.best.log], found.best.ram_pages)
    numbers = (ours["time"], *ours["times"], ours["cost"], ours["low"], ours["high"])
    assert numbers == pytest.approx((found.best.time_s, found.time_low_s, found.time_high_s, found.best.cost, found.low, found.high))
    volumes = {name: (one.count, one.size_bytes, one.iops, one.bytes_per_s) for name, one in found.volumes.items()}
    assert ours["volumes"] == {name: pytest.approx(one) for name, one in volumes.items()}
    assert bool(volumes) == (market != "server")
    assert [turn["requests"] for turn in ours["turns"]] == pytest.approx([turn.requests_s for turn in found.turns], rel=1e-3)


def test_keyboard_phone_and_address(page: "Page", address: str) -> None:
    assert "--requests 25000" in recalculate(page, address)
    assert violations(page) == []


def test_prices_of_ones_own_are_in_the_command_and_the_answer(page: "Page", address: str) -> None:
    page.goto(f"{address}#market=aws&requests=20000")
    before = answered(page)["cost"]
    page.locator("#calculator summary").press("Enter")
    page.locator("[name='price-aws-local-ssd-size']").fill("1000")
    assert answered(page)["cost"] > before
    assert "--price aws-local-ssd-size=1000" in page.locator("#calculator-command").inner_text()


def test_prices_that_make_ram_cost_less_than_nothing_give_no_answer(page: "Page", address: str) -> None:
    page.goto(f"{address}#market=aws&requests=20000&price-aws-m6g-medium=0.01")
    assert "Not computed: RAM costs the difference of" in page.locator("#calculator-answer").inner_text()
