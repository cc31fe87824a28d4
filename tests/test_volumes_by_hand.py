"""``tierwise volumes`` against sums done by hand, from the limits and prices that the files have of November 2026."""

import datetime as dt
from functools import cache

import pytest

from tierwise.costs.book import load_book
from tierwise.costs.volumes import Offer, Volumes, Wanted, volumes

BOOK = load_book(dt.date(2026, 11, 22))
HOURS = 8766 / 12
"""Hours of a month."""
AZURE_MIB = 2**20 / 1e6
"""A MiB/s in the MB/s that Azure sells."""


@cache
def found(gib: float, iops: float, mib_s: float, read_kib: float = 16) -> Volumes:
    return volumes(BOOK, Wanted(gib=gib, iops=iops, mib_s=mib_s, read_kib=read_kib))


def offer(name: str, *requested: float) -> Offer:
    (one,) = [each for each in found(*requested).offers if each.volume == name]
    return one


Case = tuple[str, tuple[float, ...], tuple[int, float, float], float]
CASES: dict[str, Case] = {
    "all that is included": ("aws-gp3", (500, 3000, 125), (1, 500, 3000), 500 * 0.08),
    "IOPS and throughput above it": ("aws-gp3", (500, 6000, 200), (1, 500, 6000), 40 + 3000 * 0.005 + 75 * 0.04),
    "reads of 16 KiB need a throughput of their own: 10,000 take 156.25 MiB/s": (
        "aws-gp3",
        (1000, 10_000, 1),
        (1, 1000, 10_000),
        80 + 7000 * 0.005 + 31.25 * 0.04,
    ),
    "500 IOPS a GiB, and GiB are sold whole: 6,100 need 13 of them": ("aws-gp3", (1, 6100, 1), (1, 13, 6100), 13 * 0.08 + 3100 * 0.005),
    "a quarter of a MiB/s an IOPS: 1,000 MiB/s need 4,000": ("aws-gp3", (100, 1000, 1000), (1, 100, 4000), 8 + 5 + 875 * 0.04),
    "2,000 MiB/s a volume: 3,000 need two, each with 6,000 IOPS": ("aws-gp3", (100, 1000, 3000), (2, 50, 6000), 2 * (4 + 15 + 1375 * 0.04)),
    "io2 pays each of its IOPS, whatever throughput comes along": ("aws-io2", (100, 5000, 10), (1, 100, 5000), 12.5 + 5000 * 0.065),
    "io2 in three steps": ("aws-io2", (100, 100_000, 10), (1, 100, 100_000), 12.5 + 32_000 * 0.065 + 32_000 * 0.0455 + 36_000 * 0.03185),
    "st1 sustains 40 MiB/s a TiB": ("aws-st1", (2048, 10, 100), (1, 2560, 500), 2560 * 0.045),
    "st1: each small read costs a whole MiB, 200 of them 200 MiB/s": ("aws-st1", (500, 200, 10), (1, 5120, 500), 5120 * 0.045),
    "st1, at least 125 GiB": ("aws-st1", (1, 1, 1), (1, 125, 500), 125 * 0.045),
    "Azure's included throughput is 125 MB/s, not MiB/s": (
        "azure-premium-ssd-v2",
        (500, 3000, 125),
        (1, 500, 3000),
        500 * 0.081 + 125 * (AZURE_MIB - 1) * 0.04015,
    ),
    "Azure, 80,000 IOPS a volume and 160 GiB for them": (
        "azure-premium-ssd-v2",
        (100, 80_000, 1),
        (1, 160, 80_000),
        160 * 0.081 + 77_000 * 0.00511 + (1250 * AZURE_MIB - 125) * 0.04015,
    ),
    "Hyperdisk has 140 MiB/s included and at least 4 GiB": ("gcp-hyperdisk-balanced", (1, 3000, 140), (1, 4, 3000), 4 * 0.08),
    "Hyperdisk, 160,000 IOPS from 320 GiB on": (
        "gcp-hyperdisk-balanced",
        (10, 160_000, 10),
        (2, 160, 80_000),  # one has 2,400 MiB/s, which 153,600 reads of 16 KiB take
        2 * (160 * 0.08 + 77_000 * 0.005 + (1250 - 140) * 0.04),
    ),
    "reads of 512 KiB cost two requests of 256 KiB": ("aws-gp3", (500, 2000, 1), (1, 500, 4000), 40 + 1000 * 0.005 + (1000 - 125) * 0.04),
    "whole disks": ("gcp-local-ssd", (500, 6000, 200), (2, 375, 170_000), 60),
}


@pytest.mark.parametrize("case", CASES)
def test_pieces_size_iops_and_rent_are_those_of_a_sum_by_hand(case: str) -> None:
    name, requested, (count, gib, iops), per_month = CASES[case]
    one = offer(name, *requested, 512) if "512 KiB" in case else offer(name, *requested)
    assert one.count == count
    assert (one.gib, one.iops) == pytest.approx((gib, iops))
    assert one.per_month == pytest.approx(per_month)


@pytest.mark.parametrize(
    ("name", "requested", "machine", "an_hour", "binds"),
    [
        ("aws-gp3", (500, 3600, 60), "m7i.large", 0.1008, "3,600 IOPS of m7i.large"),
        ("aws-gp3", (500, 3601, 60), "m7i.xlarge", 0.2016, "6,000 IOPS of m7i.xlarge"),
        ("aws-gp3", (500, 3000, 78), "m7i.xlarge", 0.2016, "149 MiB/s of m7i.xlarge"),  # 81.25 MB/s are 77.5 MiB/s
        ("aws-io2", (500, 240_000, 10), "m7i.48xlarge", 9.6768, "240,000 IOPS of m7i.48xlarge"),
        ("azure-premium-ssd-v2", (500, 3750, 50), "D2s_v6", 0.101, "3,750 IOPS of D2s_v6"),
        ("azure-premium-ssd-v2", (500, 3000, 102), "D4s_v6", 0.202, "202 MiB/s of D4s_v6"),
        ("gcp-hyperdisk-balanced", (500, 22_500, 360), "c4d-standard-2", 0.089876, "22,500 IOPS of c4d-standard-2"),
        ("gcp-hyperdisk-balanced", (500, 22_501, 360), "c4d-standard-4", 0.183248, "400 MiB/s of c4d-standard-4"),
    ],
)
def test_the_cheapest_machine_that_takes_it_and_what_it_binds(
    name: str, requested: tuple[float, ...], machine: str, an_hour: float, binds: str
) -> None:
    one = offer(name, *requested)
    assert one.machine is not None
    assert (one.machine.name, one.binds) == (machine, binds)
    assert one.machine.per_month == pytest.approx(an_hour * HOURS)


@pytest.mark.parametrize(
    ("name", "requested", "gib_month", "read_month"),
    [
        ("aws-gp3", (500, 6000, 200), (0.5292 - 0.4032) / 32, 0.005),
        ("aws-io2", (500, 6000, 200), (0.5292 - 0.4032) / 32, 0.065),
        ("aws-io2", (500, 40_000, 200), (2.1168 - 1.6128) / 128, 0.0455),
        ("azure-premium-ssd-v2", (500, 6000, 200), (0.265 - 0.202) / 16, 0.00511),
        ("gcp-hyperdisk-balanced", (500, 6000, 200), (0.117841 - 0.089876) / 8, 0.005),
        # 20,000 reads of 16 KiB a second pay for their throughput too, a 64th of a MiB/s each
        ("aws-gp3", (500, 20_000, 1), (1.0584 - 0.8064) / 64, 0.005 + 0.04 / 64),
        # on a volume no larger than its IOPS need, a read has 1/500 GiB beside it: whole GiB are given back, so that it is 1 % at most
        ("aws-gp3", (1, 50_000, 1), (3.1752 - 2.4192) / 192, 0.005 + 0.04 / 64 + 0.08 / 500),
        # D192s_v6 has no twin with more memory: machines of four processors tell the price
        ("azure-premium-ssd-v2", (800, 250_000, 1), (0.265 - 0.202) / 16, 0.00511 + 0.04015 * AZURE_MIB / 64),
    ],
)
def test_memory_pays_from_its_price_over_that_of_a_read(
    name: str, requested: tuple[float, ...], gib_month: float, read_month: float
) -> None:
    memory = offer(name, *requested).memory
    assert memory is not None
    assert memory.gib_month == pytest.approx(gib_month * HOURS)
    assert memory.reads_per_s == pytest.approx(gib_month * HOURS / read_month, rel=0.01)


def test_where_two_volumes_are_bought_memory_is_not_held_against_one_that_includes_less() -> None:
    """One volume would do from 1,000 reads fewer on, and cost more: it includes 3,000 IOPS, and two of them 6,000."""
    one = offer("aws-gp3", 500, 81_000, 200)
    assert one.count == 2
    assert one.memory is not None
    assert one.memory.reads_per_s == pytest.approx((6.3504 - 4.8384) / 384 * HOURS / (0.005 + 0.04 / 64))
    saved = [volumes(BOOK, Wanted(gib=500, iops=81_000, mib_s=200, reads_per_gib=reads)) for reads in (600, 1100, 5000)]
    assert all(each.memory and each.memory.cheaper for answer in saved for each in answer.offers if each.volume == "aws-gp3")
