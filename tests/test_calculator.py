"""The calculator: its grid against simulations, its arithmetic against the price book's, and its page in a real browser."""

import json
from collections.abc import Iterator
from datetime import date
from itertools import product
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import grid_nodes
from browsing import browsing, chromium, recalculate, violations  # noqa: F401  a fixture
from tierwise.calculator.answer import Load, Synthetic, chosen_volumes, solve
from tierwise.calculator.grid import whole
from tierwise.calculator.market import listed, read_market
from tierwise.calculator.shape import Shape
from tierwise.calculator.write_page import write_page
from tierwise.core.errors import InputError
from tierwise.core.units import GIB
from tierwise.core.vocabulary import Layout
from tierwise.costs.book import load_book
from tierwise.costs.fitting import VolumeLoad, cheapest_fit
from tierwise.costs.volume_offers import PIECES
from tierwise.devices.spec import load_device
from tierwise.devices.volume import CloudSpec

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


BOOK = load_book(date(2026, 11, 28))
WORKLOAD = {"table_pages": 2**23, "index_pages": 2**20, "requests_s": 3000.0, "writes": 0.2, "skew": 0.9, "layout": "strewn", "clients": 16}


def test_twenty_nodes_are_what_the_command_makes() -> None:
    kept = whole()["nodes"]
    names = [name for name in sorted(kept) if name.endswith(" 0")]
    for name in np.random.default_rng(7).choice(names, 20, replace=False).tolist():
        layout, skew, ratio, size = name.split()
        assert grid_nodes.kept(Shape(float(ratio), float(skew), Layout(layout)), int(size), whole()["seed"]) == kept[name], name


@pytest.mark.parametrize("market", listed())
def test_the_cheapest_ram_is_no_dearer_than_any_other(market: str) -> None:
    found = solve(Synthetic.model_validate(WORKLOAD), read_market(market, BOOK))
    assert found.best is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.best.cost <= found.high
    assert found.best.cost == pytest.approx(min(choice.cost for choice in found.by_ram))


@pytest.mark.parametrize("volume", ["aws-gp3", "aws-io2", "azure-premium-ssd-v2", "azure-ultra-disk", "gcp-hyperdisk-balanced"])
def test_volumes_are_chosen_and_cost_as_tierwise_volumes_does(volume: str) -> None:
    market, spec = read_market(volume.split("-", maxsplit=1)[0], BOOK), load_device(volume)
    sold, prices = market.devices[volume].volume, {name: item.each for name, item in market.items.items()}
    assert isinstance(spec, CloudSpec)
    assert sold is not None
    for gib, iops, size in product((3.0, 200.5, 70_000.0), (500.0, 40_000.0, 1e6), (300.0, 8192.0)):
        ours = chosen_volumes(sold, Load(gib * GIB, iops, iops * size), prices)[0]
        fit = cheapest_fit(volume, spec.as_of(BOOK.on)[0], VolumeLoad(gib * GIB, iops, 0.0, size), BOOK, range(1, PIECES + 1))
        assert ours == (pytest.approx(fit.bill.cost(BOOK) / 12) if fit and fit.bill else inf), (gib, iops, size)


@pytest.mark.parametrize("changed", [{"skew": 2.5}, {"index_pages": 2**14}, {"ram_pages": 99}, {"writes": 1.5}, {"clients": 0}])
def test_outside_the_grid_nothing_is_computed(changed: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"not computed|must be above zero"):
        solve(Synthetic.model_validate(WORKLOAD | changed), read_market("aws", BOOK))


PHONE_PX, PHONE_HEIGHT_PX = 360, 844


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
    local = writes == 0.0
    inputs = f"market={market}&skew={skew}&layout={layout}&ram_gib={ram or ''}&requests={requests}&writes={writes}"
    inputs += "&local_ssd=yes" if local else ""
    page.goto(f"{address}#{inputs}&table_gib=40&index_gib=8&clients=32")
    ours, gib = answered(page), 2**17
    if skew > 2:
        assert ours is None
        assert "the skew must be 0 to 1.1" in page.locator("#calculator-summary").inner_text()
        return
    workload = {"table_pages": 40 * gib, "index_pages": 8 * gib, "ram_pages": ram and ram * gib, "requests_s": requests, "clients": 32}
    sold = read_market(market, BOOK) if local else read_market(market, BOOK).lasting()
    found = solve(Synthetic.model_validate(workload | {"skew": skew, "layout": layout, "writes": writes}), sold)
    assert found.best is not None
    assert (ours["on"], ours["ram"]) == ([found.best.table, found.best.index, found.best.log], found.best.ram_pages)
    numbers = (ours["time"], *ours["times"], ours["cost"], ours["low"], ours["high"])
    assert numbers == pytest.approx((found.best.time_s, found.time_low_s, found.time_high_s, found.best.cost, found.low, found.high))
    volumes = {name: (one.count, one.size_bytes, one.iops, one.bytes_per_s) for name, one in found.volumes.items()}
    assert ours["volumes"] == {name: pytest.approx(one) for name, one in volumes.items()}
    assert bool(volumes) == (market != "server")
    assert ours["shares"] == [[name, pytest.approx(one.space), pytest.approx(one.time)] for name, one in found.drives.items()]
    assert bool(found.drives) == (market == "server" or "local" in found.best.table + found.best.index + found.best.log)
    shown = page.locator("#calculator table").inner_text()
    assert found.next_low is None or f"{found.next_low:,.2f} (" in shown
    assert [turn["requests"] for turn in ours["turns"]] == pytest.approx([turn.requests_s for turn in found.turns], rel=1e-3)
    others = [
        (ours["next"], found.next),
        *zip((turn["choice"] for turn in ours["turns"]), (turn.choice for turn in found.turns), strict=True),
    ]
    for one, other in others:
        assert (one and (one["on"], one["ram"])) == (other and ([other.table, other.index, other.log], other.ram_pages))
        assert (one and one["cost"]) == (other and pytest.approx(other.cost, rel=1e-3))


def test_keyboard_phone_and_address(page: "Page", address: str) -> None:
    assert "--requests 25000" in recalculate(page, address)
    assert violations(page) == []


@pytest.mark.parametrize("market", ["server", "aws"])
def test_on_a_phone_the_answer_is_in_view_beside_every_field(page: "Page", address: str, market: str) -> None:
    page.goto(f"{address}#market={market}")
    page.locator("#calculator summary").press("Enter")
    fields = [field for field in page.locator("#calculator :is(input, select)").all() if field.is_visible()]
    assert (len(fields) > 12, page.locator("[name='local_ssd']").is_visible()) == (True, market == "aws")
    for field in fields:
        field.focus()
        one, answer = field.bounding_box(), page.locator("#calculator-summary").bounding_box()
        assert one is not None
        assert answer is not None
        assert 0 <= one["y"] <= one["y"] + one["height"] <= answer["y"] <= answer["y"] + answer["height"] <= PHONE_HEIGHT_PX


@pytest.mark.parametrize("inputs", ["market=server", "market=aws", "market=gcp&ram_price=0.001", "market=azure&requests=20000&ram_price=9"])
def test_both_axes_of_the_chart_have_ticks_and_every_price_a_name(page: "Page", address: str, inputs: str) -> None:
    page.goto(f"{address}#{inputs}")
    texts = page.locator("#calculator-chart text").all_text_contents()
    ends = [page.locator(f"#calculator-chart text[text-anchor='{anchor}']").count() for anchor in ("middle", "end")]
    assert (min(ends) >= 3, "USD per month" in texts) == (True, True), texts
    prices = page.locator("#calculator-prices label").evaluate_all(
        "(all) => all.map((one) => [one.textContent, one.firstElementChild.name])"
    )
    assert prices
    assert all(item.removeprefix("price-") not in text for text, item in prices)


def test_prices_of_ones_own_are_in_the_command_and_the_answer(page: "Page", address: str) -> None:
    page.goto(f"{address}#market=aws&requests=20000&local_ssd=yes")
    before = answered(page)["cost"]
    page.locator("#calculator summary").press("Enter")
    page.locator("[name='price-aws-local-ssd-size']").fill("1000")
    assert answered(page)["cost"] > before
    assert "--price aws-local-ssd-size=1000" in page.locator("#calculator-command").inner_text()


@pytest.mark.parametrize("market", ["server", "aws"])
def test_a_price_of_ram_is_taken_as_the_command_takes_it(page: "Page", address: str, market: str) -> None:
    page.goto(f"{address}#market={market}&requests=20000&ram_price=1.5")
    gib = 2**17
    workload = {"table_pages": 100 * gib, "index_pages": 15 * gib, "requests_s": 20000, "clients": 16, "skew": 0.9, "layout": "strewn"}
    found = solve(Synthetic.model_validate(workload | {"writes": 0.1}), read_market(market, BOOK).lasting().with_ram_price(1.5))
    assert found.best is not None
    assert (answered(page)["ram"], answered(page)["cost"]) == (found.best.ram_pages, pytest.approx(found.best.cost))
    assert "--ram-price 1.5" in page.locator("#calculator-command").inner_text()
    page.locator("[name='market']").select_option("gcp")
    assert "--ram-price" not in page.locator("#calculator-command").inner_text(), "a price is of one market"
    assert "local-ssd" not in page.locator("#calculator-answer").inner_text()
