"""Volumes that are paid for by the request and by the byte."""

import pytest

from drives import anywhere, drive, in_order, iops
from tierwise.core.units import GIB, KIB, MIB, PAGE_BYTES
from tierwise.devices.model import build
from tierwise.devices.protocol import Operation
from tierwise.devices.spec import load_device

READ, WRITE, FLUSH = Operation


@pytest.mark.parametrize("depth", [1, 2, 8, 64])
def test_gp3_gives_3000_requests_a_second_and_no_more(depth: int) -> None:
    model = build(load_device("aws-gp3"))
    assert iops(model, anywhere(model, 4_000), depth=depth) == pytest.approx(min(3_000, depth / 1e-3), rel=0.02)


@pytest.mark.parametrize("size", [256 * KIB, MIB])
def test_gp3_gives_125_mib_a_second_and_no_more(size: int) -> None:
    took = drive(build(load_device("aws-gp3")), in_order(size, 512 * MIB), depth=8)
    assert 8 * 512 / sum(took) == pytest.approx(125, rel=0.02)


def test_requests_in_order_are_counted_together() -> None:
    model = build(load_device("aws-gp3"))
    in_order_s = sum(drive(model, in_order(PAGE_BYTES, 256 * MIB), depth=32)) / 32
    assert 256 / in_order_s == pytest.approx(125, rel=0.02), "3,000 requests of 8 KiB would be 23 MiB/s"


def test_a_request_alone_takes_the_latency() -> None:
    model = build(load_device("aws-io2"))
    assert drive(model, anywhere(model, 100)) == pytest.approx([0.5e-3] * 100)


def test_st1_bursts_until_its_credits_are_spent() -> None:
    model = build(load_device("aws-st1"))
    took = drive(model, in_order(64 * MIB, 2_500 * GIB), depth=4)
    done_s = sum(took) / 4
    burst_s = 2 * 1024**2 / (500 - 80)  # the credits of 2 TiB last so long, for 80 MiB come in each second
    rest = 2_500 * 1024 - burst_s * 500
    assert done_s == pytest.approx(burst_s + rest / 80, rel=0.01)


def test_on_st1_a_small_request_costs_as_much_as_a_large_one() -> None:
    model = build(load_device("aws-st1"))
    assert iops(model, anywhere(model, 5_000), depth=32) == pytest.approx(500, rel=0.02)
