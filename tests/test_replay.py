"""A recorded trace replayed by the device models: closed forms, and an emulated tier's own log."""

import mmap
import os
import random
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from emulation import emulated
from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.devices.model import build
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import load_device
from tierwise.simulate.replay import EXTENT_BYTES, Access, Trace, lay_out, replay

SSD_READ_S = 100e-6 + PAGE_BYTES / 100e6
"""One read of the flash drive alone: latency, then the link."""


def ssd() -> DeviceModel:
    return build(load_device("mtron-3025"))


def reads(relation: str, pages: Sequence[int], *, think_s: float = 0.0, chained: bool = True) -> list[Access]:
    """One after the other (closed loop), or all from the beginning (open)."""
    return [
        Access(relation, page, PAGE_BYTES, Operation.READ, think_s, number - 1 if chained and number else None)
        for number, page in enumerate(pages)
    ]


def test_one_after_the_other_takes_the_devices_time_and_the_hosts() -> None:
    trace = Trace(reads("census", range(100), think_s=50e-6), tail_s=1e-3, tail_after=99)
    found = replay(trace, {"census": "ssd"}, {"ssd": ssd()}, lay_out({"census": 100 * PAGE_BYTES}))
    assert found.elapsed_s == pytest.approx(100 * (SSD_READ_S + 50e-6) + 1e-3)
    assert found.latencies_s == pytest.approx([SSD_READ_S] * 100)
    use = found.tiers["ssd"]
    assert (use.requests, use.reads, use.read_bytes, use.writes) == (100, 100, 100 * PAGE_BYTES, 0)
    assert use.service_s == pytest.approx(use.busy_s) == pytest.approx(100 * SSD_READ_S)


def test_requests_of_the_beginning_share_channels_and_link() -> None:
    """Four channels find their blocks at once, and the link takes them one by one."""
    found = replay(Trace(reads("census", range(4), chained=False), 0.0, 3), {"census": "ssd"}, {"ssd": ssd()}, {"census": [0]})
    assert found.latencies_s == pytest.approx([100e-6 + number * PAGE_BYTES / 100e6 for number in (1, 2, 3, 4)])
    assert found.tiers["ssd"].busy_s == pytest.approx(found.elapsed_s) == pytest.approx(max(found.latencies_s))
    assert found.tiers["ssd"].service_s == pytest.approx(sum(found.latencies_s))


def test_a_request_waits_for_the_one_that_it_followed_not_for_the_one_before() -> None:
    """The second (a read-ahead) is under way while the third, which needed only the first, is issued."""
    read = Operation.READ
    accesses = [
        Access("t", 0, PAGE_BYTES, read, 0.0),
        Access("t", 1, 128 * PAGE_BYTES, read, 0.0, 0),
        Access("t", 9, PAGE_BYTES, read, 0.0, 0),
    ]
    found = replay(Trace(accesses, 0.0, 2), {"t": "a"}, {"a": ssd()}, {"t": [0]})
    whole_s = 100e-6 + 128 * PAGE_BYTES / 100e6
    assert found.latencies_s == pytest.approx([SSD_READ_S, whole_s, whole_s + PAGE_BYTES / 100e6])


def test_relations_lie_one_after_the_other_in_whole_extents_the_largest_first() -> None:
    laid = lay_out({"pob": MIB, "census": 2 * EXTENT_BYTES + 1, "empty": 0})
    assert laid == {"census": [0, EXTENT_BYTES, 2 * EXTENT_BYTES], "pob": [3 * EXTENT_BYTES], "empty": [4 * EXTENT_BYTES]}


@pytest.mark.parametrize("device", ["sata-7k2", "sata-7k2-x6", "mtron-3025"])
def test_an_emulated_tiers_own_log_gives_its_intended_times(device: str, tmp_path: Path) -> None:
    """The same model, seed, addresses and arrivals: open, each at the time at which it came."""
    with emulated(tmp_path, device) as tier:
        path = tier.directory / "data"
        path.write_bytes(bytes(64 * MIB))
        tier.empty_cache()
        tier.reset_io()
        tier.delays(True)
        read_at_random(path, 80)
        log = tier.requests()
    started_s = log["time_s"][0]
    extents = log.select("offset_bytes", pl.col("address_bytes") - pl.col("offset_bytes") % EXTENT_BYTES).rows()
    laid = [0] * (64 * MIB // EXTENT_BYTES)
    for offset, address in extents:
        laid[offset // EXTENT_BYTES] = address
    accesses = [
        Access("data", row["offset_bytes"] // PAGE_BYTES, row["size_bytes"], Operation.READ, row["time_s"] - started_s)
        for row in log.rows(named=True)
    ]
    model = build(load_device(device), seed=1, stretch=1.0)
    found = replay(Trace(accesses), {"data": "tier"}, {"tier": model}, {"data": laid}, started_s=started_s)
    assert sum(found.latencies_s) == pytest.approx(log["intended_s"].sum(), rel=0.01)
    assert found.latencies_s == pytest.approx(log["intended_s"].to_list(), rel=0.01, abs=2e-6)


def read_at_random(path: Path, count: int) -> None:
    chance = random.Random(1)
    descriptor = os.open(path, os.O_RDWR | os.O_DIRECT)
    try:
        with mmap.mmap(-1, PAGE_BYTES) as buffer:
            for _ in range(count):
                os.preadv(descriptor, [buffer], chance.randrange(64 * MIB // PAGE_BYTES) * PAGE_BYTES)
    finally:
        os.close(descriptor)
