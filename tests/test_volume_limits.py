"""Limits bind: IOPS per GiB, per volume and per instance, in the emulator, in the simulator, on the bill, and on each pair of today."""

import mmap
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

from emulation import emulated
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.pairs import TODAY, load_pair
from tierwise.core.paths import data
from tierwise.core.units import GIB, MIB, PAGE_BYTES
from tierwise.core.vocabulary import Evidence
from tierwise.costs.bill import Bill
from tierwise.costs.book import Book, Price
from tierwise.costs.delivered import Load, plan_on
from tierwise.costs.hardware import device_bill, load_hardware
from tierwise.costs.iops import Iops, simulated_iops
from tierwise.devices.instances import load_instances
from tierwise.devices.spec import load_device
from tierwise.devices.volume import CloudSpec
from tierwise.simulate.machine import Costs
from tierwise.simulate.zipf import Benchmark
from tierwise.tiers.emulated import Emulated

MOST = 200  # what each rule leaves of that

FILE = """
kind = "cloud"
name = "a volume"
description = "of a test"
capacity = { value = 20, unit = "GiB", source = "a test" }
read_latency = { value = 1, unit = "ms", source = "a test" }
write_latency = { value = 1, unit = "ms", source = "a test" }
max_iops = { value = 11000, unit = "IOPS", source = "a test" }
max_rate = { value = 1000, unit = "MiB/s", source = "a test" }
io_size = { value = 256, unit = "KiB", source = "a test" }
[limits]
smallest = { value = 1, unit = "GiB", source = "a test" }
largest = { value = 1, unit = "TiB", source = "a test" }
rate = { value = 1000, unit = "MiB/s", source = "a test" }
iops = { value = ONE, unit = "IOPS", source = "a test" }
iops_per_gib = { value = EACH, unit = "IOPS/GiB", source = "a test" }
"""
MACHINES = """
source = "a test"
date = "2026"
rate_unit = "MiB/s"
[instances]
"small" = { vcpus = 1, ram_gib = 64, iops = 200, rate = 100 }
"""
RULES = {"per GiB": (80_000, 10, ""), "per volume": (MOST, 1000, ""), "per instance": (80_000, 1000, "@small")}
"""Rule -> IOPS of a volume, IOPS of a GiB, and where the volume hangs: each leaves `MOST` of what is requested."""
NONE = (80_000, 1000, "")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Provide a separate checkout, for a volume and a machine of this test."""
    there = tmp_path / "home"
    for name in ("devices", "costs", "prices"):
        shutil.copytree(paths.data() / name, there / "data" / name)
    (there / "data" / "instances").mkdir()
    (there / "data" / "instances" / "mine.toml").write_text(MACHINES, encoding="utf-8")
    hardware = (there / "data" / "costs" / "hardware.toml").read_text(encoding="utf-8")
    mine = [
        "[volumes.mine-volume]",
        'medium = "ssd"',
        'size = "mine-size"',
        'iops = [{ above = 0, price = "mine-iops" }]',
        'source = "a test"',
    ]
    steps = "\n".join([*mine, "", "[servers."])
    (there / "data" / "costs" / "hardware.toml").write_text(hardware.replace("[servers.", steps, 1), encoding="utf-8")
    monkeypatch.setenv("TIERWISE_HOME", str(there))
    load_hardware.cache_clear()
    simulated_iops.cache_clear()
    yield there
    load_hardware.cache_clear()
    simulated_iops.cache_clear()


def volume(home: Path, rule: tuple[int, int, str]) -> str:
    one, each, machine = rule
    text = FILE.replace("ONE", str(one)).replace("EACH", str(each))
    (home / "data" / "devices" / "mine-volume.toml").write_text(text, encoding="utf-8")
    return f"mine-volume{machine}"


BOOK = Book(
    tuple(
        Price(item=item, region="US", currency="USD", date="2026", price=price, unit=unit, source="a test")
        for item, price, unit in (("mine-size", 0.1, "GiB-month"), ("mine-iops", 0.01, "IOPS-month"), ("mine-small", 1.0, "hour"))
    ),
    Price(item="x", region="US", currency="USD", date="2026-11-22", price=1, unit="hour", source="a test").day,
)


def read_page(path: Path, number: int) -> None:
    """One page past the kernel's cache; no two in order, which would count as one request."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
    with mmap.mmap(-1, PAGE_BYTES) as buffer:
        os.preadv(descriptor, [buffer], (number * 37) % 128 * PAGE_BYTES)
    os.close(descriptor)


def reads(tier: Emulated, sessions: int, count: int, slowdown: float) -> pl.DataFrame:
    path = tier.directory / "data"
    path.write_bytes(bytes(MIB))
    tier.delays(True, slowdown=slowdown)
    tier.reset_io()
    with ThreadPoolExecutor(sessions) as pool:
        list(pool.map(lambda number: read_page(path, number), range(count)))
    log = tier.requests()
    tier.delays(False)
    return log


def rate(log: pl.DataFrame, sessions: int, slowdown: float) -> float:
    """Return requests a second between the first `sessions` and the last, by what the daemon meant to answer."""
    ends_s = (log["time_s"] + log["intended_s"]).sort()
    return slowdown * (len(log) - sessions) / float(ends_s[len(log) - 1] - ends_s[sessions - 1])


@pytest.mark.parametrize("rule", RULES)
def test_the_emulator_lets_no_more_requests_through(home: Path, rule: str) -> None:
    """The daemon's log says when requests came, and when it meant to answer."""
    with emulated(home.parent, volume(home, RULES[rule])) as tier:
        log = reads(tier, 16, 48, slowdown=4)
    assert rate(log, 16, slowdown=4) == pytest.approx(MOST, rel=0.1)


@pytest.mark.parametrize("rule", RULES)
def test_the_simulator_lets_no_more_requests_through(home: Path, rule: str) -> None:
    def device_iops(device: str) -> float:
        return Benchmark(load_device(device), 4 * GIB, 2 * GIB, Costs(1e-6), threads=32, scale=512).rates(1).device_iops

    assert device_iops(volume(home, NONE)) > 5 * MOST
    assert device_iops(volume(home, RULES[rule])) == pytest.approx(MOST, rel=0.1)
    assert simulated_iops(volume(home, RULES[rule])) == pytest.approx(MOST, rel=0.02)


@pytest.mark.parametrize("rule", ["per GiB", "per volume"])
def test_the_bill_has_no_more_iops_than_are_sold(home: Path, rule: str) -> None:
    bill = device_bill(volume(home, RULES[rule]), BOOK)
    assert bill == Bill({"mine-size": 12 * 20 * GIB, "mine-iops": 12 * MOST})


LOAD = Load(data_bytes=10 * GIB, ram_bytes=16 * GIB, reads_per_s=2000, misses_per_read=0.5)


def bought(name: str) -> tuple[int, int, Bill]:
    """(volumes, machines, rent) of `LOAD`."""
    plan = plan_on(name, LOAD, BOOK, Iops(1.0, Evidence.SIMULATED), server=None)
    return plan.devices, plan.machines, plan.bill


def test_a_volume_is_bought_as_large_as_its_iops_need(home: Path) -> None:
    volume(home, (80_000, 10, ""))
    devices, machines, bill = bought("mine-volume")
    assert (devices, machines) == (5, 5)  # by the machines, at 200 each
    assert bill.a_year["mine-size"] == pytest.approx(12 * 1000 / 10 * GIB)
    assert bill.a_year["mine-iops"] == pytest.approx(12 * 1000)


def test_as_many_machines_are_rented_as_take_the_requests(home: Path) -> None:
    volume(home, NONE)
    devices, machines, bill = bought("mine-volume")
    assert (devices, machines) == (5, 5)
    assert bill.a_year["mine-small"] == pytest.approx(5 * 8760)


CLOUD = [path.stem for path in sorted((paths.data() / "devices").glob("*.toml")) if isinstance(load_device(path.stem), CloudSpec)]


@pytest.mark.parametrize("rule", ["smallest", "largest", "rate", "iops"])
def test_a_volume_without_a_limit_is_refused(home: Path, rule: str) -> None:
    name = volume(home, NONE)
    file = home / "data" / "devices" / f"{name}.toml"
    file.write_text(
        "".join(line for line in file.read_text(encoding="utf-8").splitlines(keepends=True) if not line.startswith(f"{rule} ="))
    )
    with pytest.raises(InputError, match=f"limits.{rule}"):
        load_device(name)
    file.write_text(FILE.partition("[limits]")[0], encoding="utf-8")
    with pytest.raises(InputError, match="limits"):
        load_device(name)


@pytest.mark.parametrize("name", CLOUD)
def test_every_volume_has_limits_and_a_machine_binds_it(name: str) -> None:
    """The file is refused without them, and those of a size and of a machine are below what the largest volume has."""
    spec = load_device(name)
    assert isinstance(spec, CloudSpec)
    limits = spec.limits
    assert limits.iops_of(limits.smallest.base).value <= limits.iops.base
    assert limits.iops_per_gib or limits.baseline_per_tib or limits.steps, "something grows with the size"
    there = load_instances(name.partition("-")[0])
    assert there is not None
    known = [bound for machine in there.instances if (bound := there.limits(machine, name)) is not None]
    slowest = min(known, key=lambda bound: bound.max_rate.base)
    most = spec.with_size(limits.largest.base, limits.iops.base, limits.rate.base)
    attached = most.model_copy(update={"instance": slowest})
    assert attached.rate < most.rate
    assert attached.iops <= slowest.max_iops.base


PAIRS = sorted(path.stem for path in (data() / "tiers").glob("*.toml") if load_pair(path.stem).source == TODAY)
DEVICES = sorted({tier.model_dump()["device"] for pair in PAIRS for tier in load_pair(pair).tiers.values()})
VOLUMES = [device for device in DEVICES if isinstance(load_device(device), CloudSpec) and "IOPS" not in device]
TODAYS_SLOWDOWN = 32  # so that a busy machine asks for more than the limits, which are reached and not only kept


def test_there_is_a_server_and_each_of_three_clouds() -> None:
    assert PAIRS == ["today-aws", "today-azure", "today-gcp", "today-server"]
    for name in PAIRS:
        tiers = load_pair(name).tiers
        assert {"hdd", "ssd", "wal"} <= tiers.keys()
        assert {tier.evidence for tier in tiers.values()} == {Evidence.EMULATED}


@pytest.mark.parametrize("device", VOLUMES)
def test_a_read_alone_takes_the_latency_of_a_volume_and_no_more_come_through_than_were_paid_for(tmp_path: Path, device: str) -> None:
    spec = load_device(device)
    assert isinstance(spec, CloudSpec)
    with emulated(tmp_path, device) as tier:
        alone, log = reads(tier, 1, 16, TODAYS_SLOWDOWN), reads(tier, 32, 64, TODAYS_SLOWDOWN)
    assert alone["intended_s"].median() == pytest.approx(TODAYS_SLOWDOWN * spec.read_latency.base, rel=0.05)
    assert rate(log, 32, TODAYS_SLOWDOWN) == pytest.approx(spec.iops, rel=0.1)
