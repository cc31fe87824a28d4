"""What reads and operations cost: the five-minute rule, a thousand operations a second, and simulated rates that are kept."""

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from prices import book, price
from tierwise.advisor.operations import Operated, Place, priced
from tierwise.analysis.views import connect
from tierwise.core import paths
from tierwise.core.units import GIB, KIB, MIB
from tierwise.core.vocabulary import Evidence
from tierwise.costs import iops as module
from tierwise.costs.book import load_book
from tierwise.costs.break_even import break_even_s, device_over, memory_over, published
from tierwise.costs.hardware import device_bill, load_hardware, ram_bill, server_bill
from tierwise.costs.iops import Iops, cached_rate, simulated_iops
from tierwise.devices.instances import load_instances


def reported(year: int, upper: str, lower: str, page_bytes: int = 4 * KIB) -> float:
    (case,) = [each for each in published() if (each.year, each.upper, each.lower, each.page_bytes) == (year, upper, lower, page_bytes)]
    return case.interval_s


def test_1987_a_page_of_1_kb_is_worth_caching_for_205_seconds() -> None:
    interval_s = break_even_s(page_bytes=KIB, accesses_per_s=15, device_cost=15_000, memory_cost_per_byte=5000 / MIB)
    assert interval_s == pytest.approx(204.8)
    assert interval_s == pytest.approx(reported(1987, "RAM", "HDD", KIB), rel=0.005)


def test_the_rule_is_gray_and_putzolus_formula() -> None:
    pages_per_mb, accesses_per_s, price_of_disk, price_of_mb = 128, 64, 2000, 15
    classic_s = pages_per_mb / accesses_per_s * price_of_disk / price_of_mb
    found_s = break_even_s(
        page_bytes=8 * KIB, accesses_per_s=accesses_per_s, device_cost=price_of_disk, memory_cost_per_byte=price_of_mb / MIB
    )
    assert found_s == pytest.approx(classic_s)


def test_2007_two_of_graefes_intervals_and_his_flash_predict_the_third() -> None:
    """Read: flash of 32 GB for 999 at 6,200 reads a second, and the three intervals. Memory's and the disk's price follow from two."""
    flash_iops = 6200
    memory_per_byte = 999 / (flash_iops * 4 * KIB * reported(2007, "RAM", "SSD"))
    disk_per_access = reported(2007, "RAM", "HDD") * 4 * KIB * memory_per_byte
    assert memory_per_byte * GIB == pytest.approx(48, rel=0.03)
    interval_s = break_even_s(page_bytes=4 * KIB, accesses_per_s=1, device_cost=disk_per_access, memory_cost_per_byte=999 / (32 * GIB))
    assert interval_s == pytest.approx(reported(2007, "SSD", "HDD"), rel=0.01)


NOW = book(price("hdd-3tb-7k2", 100), price("ssd-m4-128gb", 128), price("ram", 4, "GiB"), price("electricity", 0.1, "kWh"))


def test_memory_over_a_device_counts_the_purchase_and_beside_it_a_year_with_power() -> None:
    found = memory_over("st3000dm001", 4 * KIB, Iops(200, Evidence.SIMULATED), NOW)
    assert found.by_purchase_s == pytest.approx(100 / 200 / (4 * KIB * 4 / GIB))
    assert found.by_purchase_s is not None
    assert found.by_year_s > found.by_purchase_s  # a disk takes more power for its price than memory


def test_flash_over_disks_lasts_longer_than_memory_over_disks_as_its_bytes_are_cheaper() -> None:
    rate = Iops(200, Evidence.SIMULATED)
    memory, flash = memory_over("st3000dm001", 4 * KIB, rate, NOW), device_over("crucial-m4", "st3000dm001", 4 * KIB, rate, NOW)
    assert memory.by_purchase_s is not None
    assert flash.by_purchase_s == pytest.approx(memory.by_purchase_s * (4 / GIB) / (128 / 128e9))


BOOK = load_book(dt.date(2026, 11, 26))
DEVICES = {"hdd": "st3000dm001", "ssd": "crucial-m4"}


def operated(*places: Place, pair: str = "source-v") -> Operated:
    return Operated("A workload", "read", pair, Evidence.EMULATED, 4 * GIB, DEVICES, places)


def test_each_part_is_charged_at_its_largest_share() -> None:
    """A read of 10 ms, of which the disk serves 8 and a processor 1: 8 disks, 40 GiB of memory, and servers by the four bays of each."""
    (found,) = priced(operated(Place("all on HDD", 0.010, 0.001, {"hdd": 0.008}, {"hdd": 0.0})), BOOK)
    then, server = load_book(load_hardware().settings["source-v"].day), load_hardware().servers["microserver-gen8"]
    disks, memory = device_bill("st3000dm001", then).cost(then) * 8, ram_bill(40 * GIB).cost(then)
    servers = server_bill(server).cost(then) * max(10 * 4 / 16, 1 / 2, 8 / 4)
    assert found.shared == pytest.approx((disks + memory + servers) / 12)


def test_whole_machines_have_all_of_their_drives_all_of_the_time() -> None:
    slow, fast = priced(
        operated(Place("slow", 0.0101, 0.001, {"hdd": 0.008}, {"hdd": 0.0}), Place("fast", 1e-6, 1e-6, {"ssd": 1e-6}, {"ssd": 0.0})), BOOK
    )
    assert slow.whole is not None
    assert fast.whole is not None
    assert fast.shared is not None
    assert slow.whole > (slow.shared or 0.0)
    assert fast.whole > 100 * fast.shared, "one whole machine does more than a thousand"


def test_a_second_of_a_processor_is_charged_as_one_of_the_processors_that_the_machine_has() -> None:
    instances = load_instances("aws")
    assert instances is not None
    machine = instances.instances["m7i.4xlarge"]
    (found,) = priced(operated(Place("busy", 0.0001, 0.001, {}, {"hdd": 0.0}), pair="today-server"), BOOK)
    assert (machine.vcpus, machine.usd_hour) == (16, 0.8064)
    assert found.shared == pytest.approx(0.8064 * 24 * 365 / 12 / 16), "a thousand milliseconds a second are one processor of sixteen"
    assert all(server.processors.source for server in load_hardware().servers.values())


def test_processor_time_is_that_of_all_processors_where_the_clock_of_several_sessions_went_on_by_less(tmp_path: Path) -> None:
    """Of 0.5 s that eight processes used, the mount's part is a fifth, and the rest is charged at a pace of 0.9."""
    proof = json.dumps({"processor": {"used_s": 0.5, "mount_share": 0.2, "pace": 0.9, "share": 0.1}})
    with connect(tmp_path) as store:
        (found,) = store.execute("select processor_s(?::json, 0.3), processor_s('{}'::json, 0.3)", [proof]).fetchall()
    assert found == (pytest.approx(0.36), 0.3)


def test_data_that_fill_a_drive_take_all_of_it() -> None:
    full, idle = priced(
        operated(Place("full", 1.0, 0.0, {"ssd": 0.1}, {"ssd": 128e9}), Place("idle", 1.0, 0.0, {"ssd": 0.1}, {"ssd": 0.0})), BOOK
    )
    assert (full.shared or 0.0) > (idle.shared or 0.0)


def test_what_has_no_price_says_so() -> None:
    (real,) = priced(
        Operated("A workload", "read", "local", Evidence.MEASURED, GIB, {"hdd": ""}, (Place("all", 1, 0, {}, {"hdd": 0}),)), BOOK
    )
    assert real.shared is None
    assert real.missing


@pytest.fixture
def rates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    return tmp_path / "report" / "_build" / "rates"


@pytest.fixture
def simulate() -> Callable[[], float]:
    numbers = iter([1 / 3, 2 / 3, 1e300, 5e-324])
    return lambda: next(numbers)


def test_a_rate_is_simulated_once_and_comes_back_to_the_last_digit(rates: Path, simulate: Callable[[], float]) -> None:
    assert cached_rate("this", simulate) == cached_rate("this", simulate) == 1 / 3
    assert cached_rate("that", simulate) == 2 / 3


def test_other_code_simulates_anew(rates: Path, simulate: Callable[[], float], monkeypatch: pytest.MonkeyPatch) -> None:
    before = cached_rate("this", simulate)
    monkeypatch.setattr(module, "_code", lambda: "other code")
    assert cached_rate("this", simulate) != before


CRUCIAL_M4 = (paths.data() / "devices" / "crucial-m4.toml").read_text(encoding="utf-8")


def test_another_file_of_the_device_is_another_rate(rates: Path, tmp_path: Path) -> None:
    (tmp_path / "data" / "devices").mkdir(parents=True)
    found = []
    for most in (34_000, 17_000, 34_000):
        (tmp_path / "data" / "devices" / "crucial-m4.toml").write_text(
            CRUCIAL_M4.replace("value = 34000", f"value = {most}"), encoding="utf-8"
        )
        simulated_iops.cache_clear()  # as another process has none
        found.append(simulated_iops("crucial-m4"))
    simulated_iops.cache_clear()
    assert found[0] == found[2] == pytest.approx(34_000)
    assert found[1] == pytest.approx(17_000)
    assert len(list(rates.iterdir())) == 2
