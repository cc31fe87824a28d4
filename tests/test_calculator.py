"""The calculator's grid against simulations, and its arithmetic against the price book's."""

from datetime import date
from itertools import product
from math import inf

import numpy as np
import pytest

from tierwise.calculator import axes
from tierwise.calculator.answer import Load, Synthetic, chosen_volumes, solve
from tierwise.calculator.grid import whole
from tierwise.calculator.market import listed, read_market
from tierwise.calculator.shape import Shape
from tierwise.core.errors import InputError
from tierwise.core.units import GIB
from tierwise.core.vocabulary import Layout
from tierwise.costs.book import load_book
from tierwise.costs.fitting import VolumeLoad, cheapest_fit
from tierwise.costs.volume_offers import PIECES
from tierwise.devices.spec import load_device
from tierwise.devices.volume import CloudSpec

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
