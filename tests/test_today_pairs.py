"""Every pair of today runs on real mounts: its limits bind what a program reads past the kernel's cache, and its latency is kept."""

import mmap
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

from emulation import emulated
from tierwise.core.pairs import TODAY, load_pair
from tierwise.core.paths import data
from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.core.vocabulary import Evidence
from tierwise.devices.spec import load_device
from tierwise.devices.volume import CloudSpec
from tierwise.tiers.emulated import Emulated

PAIRS = sorted(path.stem for path in (data() / "tiers").glob("*.toml") if load_pair(path.stem).source == TODAY)
DEVICES = sorted({tier.model_dump()["device"] for pair in PAIRS for tier in load_pair(pair).tiers.values()})
VOLUMES = [device for device in DEVICES if isinstance(load_device(device), CloudSpec) and "IOPS" not in device]
SLOWDOWN = 32  # the devices are slower by this, so that a busy machine asks for more than their limits, which are reached and not only kept
SESSIONS = 32
READS, ALONE = 64, 16


def read_page(path: Path, number: int) -> None:
    """One page past the kernel's cache; no two in order, which would count as one request."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
    with mmap.mmap(-1, PAGE_BYTES) as buffer:
        os.preadv(descriptor, [buffer], (number * 37) % 128 * PAGE_BYTES)
    os.close(descriptor)


def reads(tier: Emulated, sessions: int, count: int) -> pl.DataFrame:
    path = tier.directory / "data"
    path.write_bytes(bytes(MIB))
    tier.delays(True, slowdown=SLOWDOWN)
    tier.reset_io()
    with ThreadPoolExecutor(sessions) as pool:
        list(pool.map(lambda number: read_page(path, number), range(count)))
    log = tier.requests()
    tier.delays(False)
    return log


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
        alone, log = reads(tier, 1, ALONE), reads(tier, SESSIONS, READS)
    assert alone["intended_s"].median() == pytest.approx(SLOWDOWN * spec.read_latency.base, rel=0.05)
    ends_s = (log["time_s"] + log["intended_s"]).sort()
    a_second = SLOWDOWN * (READS - SESSIONS) / (ends_s[READS - 1] - ends_s[SESSIONS - 1])
    assert a_second == pytest.approx(spec.iops, rel=0.1)
