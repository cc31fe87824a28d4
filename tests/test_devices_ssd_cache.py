"""Flash in front of a disk: what comes to it, what leaves it, and what that does to response times."""

import datetime as dt
import shutil
from pathlib import Path

import pytest

from drives import Fixed
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.units import KIB, MIB
from tierwise.costs.book import load_book
from tierwise.costs.hardware import device_bill
from tierwise.devices.cache_policy import BCACHE, L2ARC, SMQ, CachePolicy
from tierwise.devices.model import build
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import CachedSpec, load_device
from tierwise.devices.ssd_cache import SsdCache
from tierwise.simulate.closed_loop import run_threads
from tierwise.simulate.machine import Costs
from tierwise.simulate.page_cache import PageCache
from tierwise.simulate.zipfian import zipfian_pages

READ, WRITE, FLUSH = Operation
DISK_S, FLASH_S = 10e-3, 100e-6
BLOCK = 8 * KIB
COUNTING = CachePolicy(256 * KIB, uses=2, copies=True)


class Pair:
    def __init__(self, policy: CachePolicy, *, cache_blocks: int = 4):
        self.disk, self.flash = Fixed(DISK_S, 100 * MIB), Fixed(FLASH_S, 50 * MIB)
        self.model = SsdCache(self.disk, self.flash, policy, cache_bytes=cache_blocks * policy.block_bytes)
        self._now_s = 0.0

    def took_s(self, operation: Operation, address: int = 0, size: int = BLOCK) -> float:
        """Response time of one request; what it sets off in the background is done when the next one comes."""
        self._now_s += 1.0
        self.model.submit(self._now_s, 0, operation, address, size)
        ((tag, done_s),) = [entry for step in range(1, 100) for entry in self.model.advance(self._now_s + step * 1e-3)]
        assert tag == 0
        return done_s - self._now_s

    def reads(self, *blocks: int, size: int = BLOCK) -> str:
        """Where each of these blocks was read from: d or f."""
        return "".join("f" if self.took_s(READ, block * size, size) == pytest.approx(FLASH_S) else "d" for block in blocks)


def log(device: Fixed) -> list[tuple[Operation, int, int]]:
    return [(operation, address, size) for _, operation, address, size in device.requested]


def test_a_counting_policy_copies_the_whole_block_at_its_second_read() -> None:
    pair = Pair(COUNTING)
    assert [pair.took_s(READ, address) for address in (0, BLOCK)] == pytest.approx([DISK_S, DISK_S])
    assert log(pair.disk) == [(READ, 0, BLOCK), (READ, BLOCK, BLOCK), (READ, 0, 256 * KIB)]
    assert log(pair.flash) == [(WRITE, 0, 256 * KIB)]
    assert pair.took_s(READ, 5 * BLOCK) == pytest.approx(FLASH_S)
    assert log(pair.flash)[-1] == (READ, 5 * BLOCK, BLOCK)


def test_l2arc_takes_what_was_read_at_once_and_reads_nothing_for_it() -> None:
    pair = Pair(L2ARC)
    assert pair.reads(3, 3) == "df"
    assert log(pair.disk) == [(READ, 3 * BLOCK, BLOCK)]
    assert log(pair.flash) == [(WRITE, 0, BLOCK), (READ, 0, BLOCK)]


def test_l2arc_takes_in_no_part_of_a_block() -> None:
    pair = Pair(L2ARC)
    assert [pair.took_s(READ, 0, BLOCK // 2) for _ in range(3)] == pytest.approx([DISK_S] * 3)


def test_a_counting_policy_drops_what_was_used_least_recently_and_l2arc_what_came_first() -> None:
    size = COUNTING.block_bytes
    promoting = Pair(COUNTING, cache_blocks=2)
    promoting.reads(0, 0, 1, 1, 0, 2, 2, size=size)
    assert promoting.reads(0, 1, size=size) == "fd"
    feeding = Pair(L2ARC, cache_blocks=2)
    feeding.reads(0, 1, 0, 2)
    assert feeding.reads(1, 0) == "fd"


def test_a_counting_policy_writes_to_both_and_l2arc_forgets() -> None:
    promoting = Pair(COUNTING)
    promoting.reads(0, 0)
    assert promoting.took_s(WRITE) == pytest.approx(DISK_S)
    assert log(promoting.flash)[-1] == (WRITE, 0, BLOCK)
    assert promoting.reads(0) == "f"
    feeding = Pair(L2ARC)
    feeding.reads(0, 0)
    assert feeding.took_s(WRITE) == pytest.approx(DISK_S)
    assert feeding.reads(0, 0) == "df"


def test_a_write_that_overtakes_a_filling_spoils_it() -> None:
    pair = Pair(L2ARC)
    pair.model.submit(0.0, 1, READ, 0, BLOCK)  # begins to fill
    pair.model.submit(FLASH_S / 2, 2, WRITE, 0, BLOCK)
    assert [tag for tag, _ in pair.model.advance(0.1)] == [1, 2]
    assert pair.reads(0, 0) == "df"


def test_the_feed_keeps_its_rate() -> None:
    pair = Pair(
        CachePolicy(BLOCK, uses=1, copies=False, least_recent_goes=False, writes_through=False, fill_rate=10 * BLOCK), cache_blocks=100
    )
    for tag in range(30):
        pair.model.submit(0.0, tag, READ, tag * BLOCK, BLOCK)
    pair.model.advance(0.5)
    assert len(log(pair.flash)) == pytest.approx(10, abs=1)


def test_bcache_takes_what_is_written_and_passes_by_what_is_sequential() -> None:
    pair = Pair(BCACHE, cache_blocks=1024)
    pair.took_s(WRITE, 50 * MIB)
    assert pair.took_s(READ, 50 * MIB) == pytest.approx(FLASH_S)
    pair.flash.requested.clear()
    pair.reads(*range(10), size=512 * KIB)
    assert len(log(pair.flash)) == 7 * 512 * KIB // BLOCK, "the eighth request makes the stream one of 4 MiB"


def test_bcache_gives_up_the_bucket_used_least_recently_as_a_whole() -> None:
    pair = Pair(BCACHE, cache_blocks=128)
    pair.reads(*reversed(range(128)))
    assert pair.reads(127, 500) == "fd"
    assert pair.reads(100, 10, 500) == "fdf"


def test_smq_promotes_what_is_missed_again_and_again_and_no_scan() -> None:
    pair = Pair(SMQ)
    size = SMQ.block_bytes
    assert pair.reads(*[7] * 6, size=size).endswith("f")
    assert pair.reads(*range(10, 70), 7, size=size) == "d" * 60 + "f"
    assert pair.model.hits()[1] == 67


CACHED = "exos-x24-raid10-x4-smq"


def test_a_cached_device_shrinks_its_cache_for_smaller_data_and_costs_its_disk_and_a_share_of_its_flash() -> None:
    book, spec = load_book(dt.date(2026, 11, 1)), load_device(CACHED)
    assert isinstance(spec, CachedSpec)
    share = spec.size.base / build(spec.flash).capacity_bytes
    disk, flash = (device_bill(name, book).cost(book) for name in ("exos-x24-raid10-x4", "local-nvme"))
    assert device_bill(CACHED, book).cost(book) == pytest.approx(disk + share * flash)
    model = build(spec, stretch=spec.size.base / SMQ.block_bytes)
    now_s = 0.0
    for tag in range(400):  # two blocks by turns: there is space for one
        model.submit(now_s, tag, READ, tag % 2 * MIB, BLOCK)
        now_s += 1.0
        model.advance(now_s)
    assert isinstance(model, SsdCache)
    assert model.hits()[0] < 250


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('disk = "exos-x24-raid10-x4"', f'disk = "{CACHED}"', "disk is .*without a cache"),
        ('value = 100, unit = "GiB", low = 10, high = 400', 'value = 10, unit = "TiB"', "size is .*must fit on its flash"),
        ('value = "smq"', 'value = "lru"', "policy.value is 'lru'"),
        ("policy =", 'block = { value = 48, unit = "KiB", source = "assumed" }\npolicy =', "multiple of 32 KiB"),
    ],
)
def test_a_bad_cached_device_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, said: str) -> None:
    shipped = paths.data() / "devices"
    devices = tmp_path / "data" / "devices"
    shutil.copytree(shipped, devices)
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    text = (devices / f"{CACHED}.toml").read_text(encoding="utf-8")
    assert old in text
    (devices / "mine.toml").write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=said):
        load_device("mine")


@pytest.mark.parametrize("policy", [COUNTING, L2ARC])
def test_flash_speeds_up_a_disk_that_threads_read(policy: CachePolicy) -> None:
    def reads_per_s(device: DeviceModel) -> float:
        memory, pages = PageCache(400, 50), zipfian_pages(400, seed=1)
        costs = Costs(hit_s=1e-6)
        run = run_threads(pages, memory, device, threads=4, duration_s=6.0, costs=costs, page_bytes=BLOCK, interval_s=2.0)
        return run.rates(from_s=4.0).reads_per_s

    disk = load_device("sata-7k2")
    alone = reads_per_s(build(disk))
    assert reads_per_s(SsdCache(build(disk), build(load_device("crucial-m4")), policy)) > 3 * alone


@pytest.mark.parametrize("cache_bytes", [BLOCK - 1, 51 * MIB])
def test_a_cache_that_does_not_fit_its_flash_is_refused(cache_bytes: int) -> None:
    with pytest.raises(InputError, match=f"cache_bytes is {cache_bytes}"):
        SsdCache(Fixed(DISK_S, 100 * MIB), Fixed(FLASH_S, 50 * MIB), L2ARC, cache_bytes=cache_bytes)
