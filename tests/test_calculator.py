"""The calculator's grid against simulations, and its arithmetic against the price book's."""

from datetime import date

import numpy as np
import pytest

from tierwise.calculator import axes
from tierwise.calculator.answer import Load, Synthetic, solve, volume_cost
from tierwise.calculator.grid import whole
from tierwise.calculator.market import listed, read_market
from tierwise.calculator.shape import Shape
from tierwise.core.errors import InputError
from tierwise.core.units import GIB
from tierwise.core.vocabulary import Layout
from tierwise.costs.book import load_book
from tierwise.costs.fitting import VolumeLoad, cheapest_fit
from tierwise.devices.spec import load_device

BOOK = load_book(date(2026, 11, 28))
WORKLOAD = {"table_pages": 2**23, "index_pages": 2**20, "requests_s": 3000.0, "writes": 0.2, "skew": 0.9, "layout": "strewn", "clients": 16}


def test_twenty_nodes_are_what_the_command_makes() -> None:
    kept = whole()["nodes"]
    names = [name for name in sorted(kept) if name.endswith(" 0")]
    for name in np.random.default_rng(7).choice(names, 20, replace=False).tolist():
        layout, skew, ratio, size = name.split()
        assert axes.kept(Shape(float(ratio), float(skew), Layout(layout)), int(size), whole()["seed"]) == kept[name], name


@pytest.mark.parametrize("market", listed())
def test_the_cheapest_ram_is_no_dearer_than_any_other(market: str) -> None:
    found = solve(Synthetic.model_validate(WORKLOAD), read_market(market, BOOK))
    assert found.best is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.best.cost <= found.high
    assert found.best.cost == min(choice.cost for choice in found.by_ram)


@pytest.mark.parametrize(("volume", "iops"), [("aws-gp3", 500.0), ("aws-gp3", 40_000.0), ("aws-io2", 100_000.0), ("azure-ultra-disk", 9e3)])
def test_a_volume_costs_what_the_price_book_says(volume: str, iops: float) -> None:
    market = read_market(volume.split("-", maxsplit=1)[0], BOOK)
    sold, prices = market.devices[volume].volume, {name: item.each for name, item in market.items.items()}
    assert sold is not None
    ours = volume_cost(sold, Load(200.5 * GIB, iops, iops * 8192), prices)
    fit = cheapest_fit(volume, load_device(volume), VolumeLoad(200.5 * GIB, iops, 0.0, 8192.0), BOOK, [1])  # type: ignore[arg-type]
    assert fit is not None
    assert fit.bill is not None
    assert ours == pytest.approx(fit.bill.cost(BOOK) / 12)


@pytest.mark.parametrize("changed", [{"skew": 2.5}, {"index_pages": 2**14}, {"ram_pages": 99}, {"writes": 1.5}, {"clients": 0}])
def test_outside_the_grid_nothing_is_computed(changed: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"not computed|must be above zero"):
        solve(Synthetic.model_validate(WORKLOAD | changed), read_market("aws", BOOK))
