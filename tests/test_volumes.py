"""``tierwise volumes`` against sums by hand and a search of everything, and its answer in the shell with the project's own prices."""

import datetime as dt
import random
from functools import cache, partial
from math import ceil
from typing import Any

import pytest
from typer.testing import CliRunner

from support import said, said_as_json
from tierwise.cli import app
from tierwise.core.errors import InputError
from tierwise.core.text_table import WIDTH
from tierwise.core.units import GIB, MIB
from tierwise.costs.bill import Bill
from tierwise.costs.book import load_book
from tierwise.costs.volume_offers import Offer, Volumes, Wanted
from tierwise.costs.volumes import volumes
from tierwise.devices.instances import load_instances, price_item
from tierwise.devices.spec import load_device
from tierwise.devices.volume import CloudSpec, VolumeLimits

BOOK = load_book(dt.date(2026, 11, 28))
AZURE_MIB = 2**20 / 1e6  # a MiB/s in the MB/s that Azure sells


@cache
def found(gib: float, iops: float, mib_s: float, read_kib: float = 16, *, pieces: int = 1) -> Volumes:
    return volumes(BOOK, Wanted(gib=gib, iops=iops, mib_s=mib_s, read_kib=read_kib, pieces=pieces))


def offer(name: str, *requested: float, pieces: int = 1) -> Offer:
    (one,) = [each for each in found(*requested, pieces=pieces).offers if each.volume == name]
    return one


Case = tuple[str, tuple[float, ...], tuple[int, float, float], float]
CASES: dict[str, Case] = {
    "all that is included": ("aws-gp3", (500, 3000, 125), (1, 500, 3000), 500 * 0.08),
    "IOPS and throughput above it": ("aws-gp3", (500, 6000, 200), (1, 500, 6000), 40 + 3000 * 0.005 + 75 * 0.04),
    "reads of 16 KiB need their own throughput: 10,000 take 156.25 MiB/s": (
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
    "Hyperdisk has 140 MiB/s included, and 500 IOPS a GiB at every size": (
        "gcp-hyperdisk-balanced",
        (1, 3000, 140),
        (1, 6, 3000),
        6 * 0.08,
    ),
    "Hyperdisk, 160,000 IOPS from 320 GiB on": (
        "gcp-hyperdisk-balanced",
        (10, 160_000, 10),
        (2, 160, 80_000),  # one has 2,400 MiB/s, which 153,600 reads of 16 KiB take
        2 * (160 * 0.08 + 77_000 * 0.005 + (1250 - 140) * 0.04),
    ),
    "reads of 512 KiB cost two requests of 256 KiB": ("aws-gp3", (500, 2000, 1), (1, 500, 4000), 40 + 1000 * 0.005 + (1000 - 125) * 0.04),
}


@pytest.mark.parametrize("case", CASES)
def test_pieces_size_iops_and_rent_are_those_of_a_sum_by_hand(case: str) -> None:
    name, requested, (count, gib, iops), per_month = CASES[case]
    one = offer(name, *requested, 512 if "512 KiB" in case else 16, pieces=count)
    assert one.count == count
    assert (one.gib, one.iops) == pytest.approx((gib, iops))
    assert one.per_month == pytest.approx(per_month)


@pytest.mark.parametrize(
    ("name", "iops", "mib_s", "per_month", "gib"),
    [("aws-gp3", 12_000, 500, 80, 250), ("azure-premium-ssd-v2", 12_000, 400, 81, 250), ("gcp-hyperdisk-balanced", 12_000, 560, 80, 250)],
)
def test_striped_volumes_pay_nothing_for_what_each_includes(name: str, iops: float, mib_s: float, per_month: float, gib: float) -> None:
    one = offer(name, 1000, iops, mib_s, 4, pieces=16)
    assert (one.count, one.gib) == (4, gib)
    assert one.per_month == pytest.approx(per_month)
    assert one.total == pytest.approx((one.per_month or 0) + (one.machine.per_month or 0))


@pytest.mark.parametrize(
    ("device", "iops", "mb_s"),
    [
        ("premium-ssd-v2:200GiB,20000IOPS,900MB/s@D4s_v6", 8333, 248),
        ("premium-ssd:8192GiB@D4s_v6", 6400, 212),
        ("ultra-disk:200GiB,20000IOPS,900MB/s@E8bs_v5", 20_000, 900),
        ("premium-ssd:8192GiB@E8bs_v5", 16_000, 500),
        ("premium-ssd-v2:200GiB,20000IOPS,900MB/s@F4als_v6", 15_200, 180),
        ("gp3:200GiB,20000IOPS,900MB/s@c6g.xlarge", 6000, 148.5),
        ("gp3:200GiB,20000IOPS,900MB/s@i7i.2xlarge", 10_000, 312.5),
    ],
)
def test_a_machine_has_the_limits_of_the_volumes_type(device: str, iops: float, mb_s: float) -> None:
    spec = load_device(device)
    assert isinstance(spec, CloudSpec)
    assert (spec.iops, spec.rate / 1e6) == pytest.approx((iops, mb_s))


def test_limits_that_no_page_gives_are_not_known() -> None:
    with pytest.raises(InputError, match="limits for azure-premium-ssd-v2 are not known"):
        load_device("premium-ssd-v2@D4s_v5")


@pytest.mark.parametrize(
    ("device", "sold"),
    [
        ("hyperdisk-balanced:4GiB,3000IOPS", False),
        ("hyperdisk-balanced:4GiB,2000IOPS", True),
        ("hyperdisk-balanced:5GiB,2500IOPS", True),
        ("hyperdisk-balanced:6GiB,3000IOPS", True),
        ("hyperdisk-balanced:6GiB,2500IOPS", False),
        ("hyperdisk-balanced:3GiB", False),
        ("premium-ssd-v2:1GiB,3000IOPS", True),
        ("premium-ssd-v2:5GiB,3500IOPS", False),
        ("ultra-disk:4GiB,4000IOPS", True),
        ("ultra-disk:3GiB", False),
        ("gp3:1GiB,3000IOPS", True),
        ("gp2:20000GiB", False),
        ("io2:65TiB", False),
    ],
)
def test_the_limits_hold_at_every_size(device: str, sold: bool) -> None:
    if sold:
        load_device(device)
    else:
        with pytest.raises(InputError, match="is not sold"):
            load_device(device)


def test_gp3_of_an_earlier_day_has_the_limits_of_that_day() -> None:
    old, known = limits_on(dt.date(2025, 1, 15))
    assert (old.iops.base, old.rate.base / MIB, old.largest.base / GIB, known) == (16_000, 1000, 16_384, True)
    new, known = limits_on(dt.date(2026, 1, 1))
    assert (new.iops.base, known) == (80_000, True)
    assert not limits_on(dt.date(2025, 9, 15))[1], "no page that was read gives the day in September 2025"
    assert not limits_on(dt.date(2019, 1, 1))[1]
    then = volumes(load_book(dt.date(2025, 1, 15)), Wanted(gib=1000, iops=20_000, mib_s=500, pieces=4))
    shown = {each.volume: each for each in then.offers}
    assert shown["aws-gp3"].count >= 2
    assert shown["aws-gp3"].limits_known
    assert not shown["aws-io2"].limits_known
    assert "not known" in shown["aws-io2"].note


def limits_on(day: dt.date) -> tuple[VolumeLimits, bool]:
    spec = load_device("gp3")
    assert isinstance(spec, CloudSpec)
    then, known = spec.as_of(day)
    return then.limits, known


@pytest.mark.parametrize(
    ("gib", "iops", "sustained", "lasts_s"),
    [(30, 3000, 100, 1862), (100, 3000, 300, 2000), (334, 3000, 1002, 2703), (750, 3000, 2250, 7200), (100, 1300, 300, 5400)],
)
def test_gp2_bursts_as_long_as_its_guide_says(gib: float, iops: float, sustained: float, lasts_s: float) -> None:
    """The first four are the table of the Amazon EC2 user guide."""
    one = offer("aws-gp2", gib, iops, 10, 4)
    assert one.burst is not None
    assert (one.burst.sustained_iops, round(one.burst.lasts_s)) == (sustained, lasts_s)
    assert offer("aws-gp2", 1000, 3000, 10, 4).burst is None, "1,000 GiB sustain it"


def test_writes_count_beside_reads() -> None:
    both = volumes(BOOK, Wanted(gib=500, iops=4000, mib_s=100, write_iops=2000, pieces=1))
    (gp3,) = [each for each in both.offers if each.volume == "aws-gp3"]
    assert gp3.iops == 6000
    assert gp3.per_month == pytest.approx(40 + 3000 * 0.005)
    local = next(each for each in both.offers if each.volume == "aws-local-ssd")
    there = load_instances("aws")
    assert there is not None
    assert (there.instances[local.machine.name].local_write_iops or 0) >= 2000


def test_managed_storage_at_its_own_prices_and_what_is_not_known() -> None:
    found = {each.storage: each for each in volumes(BOOK, Wanted(gib=500, iops=12_000, mib_s=300, read_kib=8, managed=True)).managed}
    assert found["rds-gp3"].per_month == pytest.approx(500 * 0.115)
    assert found["rds-io2"].per_month == pytest.approx(500 * 0.125 + 12_000 * 0.1)
    assert found["aurora-io-optimized"].per_month == pytest.approx(500 * 0.225)
    assert found["aurora-standard"].per_month == pytest.approx(500 * 0.1 + 12_000 * 3600 * 730 / 1e6 * 0.2)
    assert found["azure-flexible-server"].per_month == pytest.approx(8192 * 0.138), "IOPS come with P60"
    assert (found["azure-flexible-server-v2"].per_month, found["cloud-sql-ssd"].iops) == (None, None)
    assert all(each.unknown and each.source and each.date for each in found.values())


@pytest.mark.parametrize(
    ("bill", "share", "charged"),
    [
        # aws.eu/ebs/pricing, example 1 (undated, read 2026-11-28): gp3 of 2,000 GB with 10,000 IOPS for 12 hours of a month of 30 days
        ({"aws-gp3-size": 2000 * GIB}, 0.5 / 30, 3.13133),
        ({"aws-gp3-iops": 10_000 - 3000}, 0.5 / 30, 0.69067),
    ],
)
def test_the_providers_example_of_a_bill_in_euros(bill: dict[str, float], share: float, charged: float) -> None:
    book = load_book(dt.date(2026, 11, 28), currency="EUR", region="EU")
    assert Bill(bill).cost(book) * share == pytest.approx(charged, abs=0.005)


@pytest.mark.parametrize(
    ("item", "month", "charged"), [("gcp-pd-standard", 1, 8), ("gcp-pd-standard", 0.5, 4), ("gcp-pd-ssd", 1, 34), ("gcp-pd-ssd", 0.5, 17)]
)
def test_googles_example_of_a_bill_for_200_gib(item: str, month: float, charged: float) -> None:
    """Google Cloud, disk and image pricing (undated, read 2026-11-28). Microsoft's stored pages have examples without money."""
    assert Bill({item: 200 * GIB}).cost(BOOK) * month == pytest.approx(charged, abs=0.005)


def test_memory_pays_exactly_from_the_break_even_on() -> None:
    memory = offer("aws-gp2", 500, 6000, 50, pieces=1).memory
    assert memory is not None
    assert memory.reads_per_s is not None
    for reads, cheaper in ((memory.reads_per_s * 0.99, False), (memory.reads_per_s * 1.01, True)):
        again = volumes(BOOK, Wanted(gib=500, iops=6000, mib_s=50, reads_per_gib=reads, pieces=1))
        (one,) = [each for each in again.offers if each.volume == "aws-gp2"]
        assert one.memory is not None
        assert one.memory.cheaper is cheaper


MB = 1e6
HYPERDISK = (140 * MIB, 2400 * MIB)
TYPES = {  # what the providers' pages say, written down again by hand
    # prices of a GiB, IOPS, MiB/s, with what is included; least and most GiB, IOPS and bytes a second; IOPS a GiB; bytes an IOPS
    "aws-gp3": (0.08, 0.005, 3000, 0.04, 125 * MIB, (1, 65_536), (3000, 80_000), (125 * MIB, 2000 * MIB), 500, 0.25 * MIB, MIB),
    "azure-premium-ssd-v2": (0.081, 0.00511, 3000, 0.04015, 125 * MB, (1, 65_536), (3000, 80_000), (125 * MB, 2e9), 500, 0.25 * MB, MB),
    "gcp-hyperdisk-balanced": (0.08, 0.005, 3000, 0.04, 140 * MIB, (4, 65_536), (3000, 160_000), HYPERDISK, 500, 0.25 * MIB, MIB),
    "azure-ultra-disk": (0.11972, 0.04964, 0, 0.34967, 0, (4, 65_536), (100, 400_000), (MB, 1e10), 1000, 0.25 * MB, MB),
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


DAY = ("--on", "2026-11-22")
WISH = ("--gib", "500", "--iops", "6000", "--mibs", "200")

run = partial(said, "volumes", *DAY)
requested = partial(said_as_json, "volumes", *DAY)


def by(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {offer["volume"]: offer for offer in found["offers"]}


@pytest.fixture(scope="module")
def wish() -> dict[str, Any]:
    return requested(*WISH, "--latency-ms", "2")


def test_each_provider_offers_and_the_cheapest_total_comes_first(wish: dict[str, Any]) -> None:
    assert {offer["provider"] for offer in wish["offers"]} == {"aws", "azure", "gcp"}
    for offer in wish["offers"]:
        assert offer["total"] == pytest.approx(offer["per_month"] + offer["machine"]["per_month"])
    shown = run(*WISH).splitlines()
    assert wish["offers"][0]["machine"]["name"] in shown[0]
    assert max(map(len, shown)) <= WIDTH


def test_requirements_that_nothing_meets_end_with_exit_code_2_and_a_next_step() -> None:
    done = CliRunner().invoke(app, ["volumes", *DAY, *WISH, "--vcpus", "9000"])
    assert done.exit_code == 2
    assert "Next step: " in done.output
    assert "has the requested vCPUs" in done.output


def test_local_disks_are_ranked_with_the_machine_that_has_them(wish: dict[str, Any]) -> None:
    local = by(wish)["aws-local-ssd"]
    there = load_instances("aws")
    assert there is not None
    machine = there.instances[local["machine"]["name"]]
    assert machine.local_count * there.local_bytes(local["machine"]["name"]) >= 500 * 2**30
    assert (machine.local_read_iops or 0) >= 6000
    assert (local["per_month"], local["total"]) == (0, local["machine"]["per_month"])


def test_the_band_of_a_latency_reaches_the_answer() -> None:
    strict = requested(*WISH, "--latency-ms", "0.7")
    assert by(strict)["aws-gp3"]["latency"]["meets"] == "open: within the band"
    assert by(strict)["aws-io2"]["latency"]["meets"] == "yes"
    assert by(strict)["gcp-hyperdisk-balanced"]["latency"]["low_ms"] == pytest.approx(0.2)
    hard = requested(*WISH, "--latency-ms", "0.3")
    gone = {each["volume"]: each["why"] for each in hard["refused"]}
    assert gone["aws-gp3"] == "a read takes 0.5 to 2 ms, assumed"
    assert gone["aws-io2"] == "a read takes 0.5 ms"
    assert "assumed" in run(*WISH)


def test_what_was_read_more_than_a_year_before_is_stamped(wish: dict[str, Any]) -> None:
    warnings = "\n".join(requested(*WISH)["warnings"])
    assert "older than a year on 2026-11-22: aws-st1" not in warnings
    assert "aws-st1: 11 of its values are older than a year on 2026-11-22: read of 2023-06-15" in warnings
    assert "gcp-c4d-standard-2 (2025-06)" in warnings, "the price of the machine is stamped too"
    assert "azure-premium-ssd-v2:" not in warnings, "its page is of August 2026"


@pytest.mark.parametrize("option", ["--gib", "--iops", "--mibs", "--latency-ms", "--read-kib", "--reads-per-gib", "--pieces"])
def test_what_cannot_be_is_refused(option: str) -> None:
    with pytest.raises(InputError, match=f"{option} is 0(.0)?: must be above zero"):
        run(*WISH, option, "0")
