"""``tierwise volumes`` against the test's search: every type, number of pieces and machine, for requirements that a seed draws."""

import datetime as dt
import random
from math import ceil

import pytest

from tierwise.costs.book import Book, load_book
from tierwise.costs.volume_offers import Wanted
from tierwise.costs.volumes import volumes
from tierwise.devices.instances import load_instances, price_item

DAY = dt.date(2026, 11, 28)
BOOK: Book = load_book(DAY)
MB, MIB = 1e6, 2.0**20
TYPES = {  # what the providers' pages say, written down again by hand
    # prices of a GiB, IOPS, MiB/s, with what is included; least and most GiB, IOPS and bytes a second; IOPS a GiB; bytes an IOPS
    "aws-gp3": (0.08, 0.005, 3000, 0.04, 125 * MIB, (1, 65_536), (3000, 80_000), (125 * MIB, 2000 * MIB), 500, 0.25 * MIB, MIB),
    "azure-premium-ssd-v2": (
        0.081,
        0.00511,
        3000,
        0.04015,
        125 * MB,
        (1, 65_536),
        (3000, 80_000),
        (125 * MB, 2000 * MB),
        500,
        0.25 * MB,
        MB,
    ),
    "gcp-hyperdisk-balanced": (
        0.08,
        0.005,
        3000,
        0.04,
        140 * MIB,
        (4, 65_536),
        (3000, 160_000),
        (140 * MIB, 2400 * MIB),
        500,
        0.25 * MIB,
        MIB,
    ),
    "azure-ultra-disk": (0.11972, 0.04964, 0, 0.34967, 0, (4, 65_536), (100, 400_000), (MB, 10_000 * MB), 1000, 0.25 * MB, MB),
}


def by_search(volume: str, wanted: Wanted) -> float:
    """Return the least money a month of any number of pieces of any size, with any machine."""
    gib_price, iops_price, free_iops, rate_price, free_rate, sizes, many, rates, per_gib, per_iops, unit = TYPES[volume]
    best = float("inf")
    for pieces in range(1, wanted.pieces + 1):
        iops = max(wanted.iops / pieces, many[0] if volume != "gcp-hyperdisk-balanced" else 0)
        rate = max(wanted.mib_s * MIB / pieces, wanted.iops * wanted.read_kib * 1024 / pieces, rates[0])
        iops = max(iops, rate / per_iops)
        for gib in range(max(sizes[0], ceil(wanted.gib / pieces)), max(sizes[0], ceil(wanted.gib / pieces)) + 400):
            most = gib * per_gib if volume == "gcp-hyperdisk-balanced" else max(many[0], gib * per_gib)
            if iops > min(most, many[1]) * (1 + 1e-12) or rate > rates[1] or gib > sizes[1]:
                continue
            volume_month = gib * gib_price + max(0.0, iops - free_iops) * iops_price + max(0.0, rate - free_rate) / unit * rate_price
            best = min(best, pieces * volume_month + machine(volume, pieces, wanted))
            break
    return best


def machine(volume: str, pieces: int, wanted: Wanted) -> float:
    provider = volume.partition("-")[0]
    there = load_instances(provider)
    assert there is not None
    second = volume in ("azure-premium-ssd-v2", "azure-ultra-disk")
    fitting = [
        730 * one.usd_hour
        for name, one in there.instances.items()
        if one.usd_hour
        and not one.kind
        and (one.v2_iops if second else one.iops or 0) is not None
        and ((one.v2_iops if second else one.iops) or 0) >= wanted.iops
        and ((one.v2_rate if second else one.rate) or 0) * (MIB if provider == "gcp" else MB)
        >= max(wanted.mib_s * MIB, wanted.iops * wanted.read_kib * 1024)
        and one.vcpus >= wanted.vcpus
        and one.ram_gib >= wanted.memory_gib
        and (one.volumes or pieces) >= pieces
        and BOOK.priced(price_item(provider, name))
    ]
    return min(fitting, default=float("inf"))


def drawn(seed: int) -> Wanted:
    chance = random.Random(seed)
    return Wanted(
        gib=round(2 ** chance.uniform(1, 14)),
        iops=round(10 ** chance.uniform(2, 5.2)),
        mib_s=round(10 ** chance.uniform(0, 3.3)),
        read_kib=chance.choice([4, 8, 16, 64]),
        pieces=chance.choice([1, 4, 16]),
        vcpus=chance.choice([0, 2, 16]),
        memory_gib=chance.choice([0, 32, 200]),
    )


@pytest.mark.parametrize("seed", range(30))
def test_no_other_pieces_or_machine_are_cheaper(seed: int) -> None:
    wanted = drawn(seed)
    answer = volumes(BOOK, wanted)
    found = {offer.volume: offer.total for offer in answer.offers}
    for volume in TYPES:
        assert found.get(volume, float("inf")) == pytest.approx(by_search(volume, wanted), rel=1e-6), (volume, wanted)
    totals = [offer.total for offer in answer.offers if offer.total is not None]
    assert totals == sorted(totals)
