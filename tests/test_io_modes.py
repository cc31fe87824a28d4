"""What the ways of I/O do on an emulated tier: how many requests its device has at once, how large they are, and how they are counted."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from emulation import tablespace
from random_readers import need_groups
from tierwise.bench.recording import outstanding, tier_io
from tierwise.core import session_group
from tierwise.core.errors import InputError
from tierwise.core.session_group import SessionGroup
from tierwise.core.units import KIB, MIB
from tierwise.core.vocabulary import IoMode
from tierwise.postgres.binaries import Binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.settings import PINNED_BYTES, REQUEST_BYTES, measuring_settings
from tierwise.tiers.emulated import Emulated

ROWS = 60_000
SEQUENTIAL = ("SET enable_bitmapscan = off", "SET enable_indexscan = off", "SELECT count(*) FROM scanned")
BITMAP = ("SET enable_seqscan = off", "SET enable_indexscan = off", "SELECT count(*) FROM scanned WHERE key < 30")
INDEX = ("SET enable_seqscan = off", "SET enable_bitmapscan = off", "SELECT count(filler) FROM scanned WHERE key < 3")


@dataclass(frozen=True)
class Seen:
    outstanding: float
    reads: pl.DataFrame
    busy_s: float
    elapsed_s: float
    computed_s: float


@pytest.fixture(scope="module")
def scanned(workspace: Path, cluster18: Cluster) -> Iterator[tuple[Emulated, SessionGroup]]:
    table = (
        "CREATE TABLE scanned (key int, filler text) TABLESPACE disk",
        f"INSERT INTO scanned SELECT hashint4(n) & 1023, repeat('x', 400) FROM generate_series(1, {ROWS}) n",
        "CREATE INDEX scanned_key ON scanned (key) TABLESPACE disk",
        "VACUUM ANALYZE scanned",
    )
    with session_group.session_group() as group, tablespace(workspace, cluster18, "sata-7k2-x6", *table) as tier:
        yield tier, group


def seen(place: tuple[Emulated, SessionGroup], server: Cluster, io_mode: IoMode, scan: tuple[str, ...], shared_buffers_bytes: int) -> Seen:
    tier, group = place
    tier.empty_cache(cached=io_mode.cached)
    with group.entered():
        server.start(measuring_settings(server.binaries, io_mode=io_mode, shared_buffers_bytes=shared_buffers_bytes))
    try:
        with server.connect() as session:
            *switches, statement = scan
            for switch in switches:
                session.execute(switch)
            tier.daemon.count_several(group.folders, processors=2, origin_s=0.0)
            tier.reset_io()
            tier.delays(True)
            begun = tier.daemon.time()
            session.execute(statement)
            ended = tier.daemon.time()
            (together,) = outstanding({"tier": tier}, (tier_io(tier, tier.io()),)).values()
            reads, busy_s = tier.requests().filter(operation="read"), tier.busy_s()
    finally:
        tier.delays(False)
        tier.daemon.wait_in_real_time()
        server.stop()
    return Seen(together, reads, busy_s, ended.now_s - begun.now_s, ended.computed_s - begun.computed_s)


@need_groups
@pytest.mark.parametrize("scan", [SEQUENTIAL, BITMAP], ids=["sequential", "bitmap"])
def test_a_plan_that_reads_ahead_has_several_requests_under_way_in_the_asynchronous_io_mode_alone(
    scanned: tuple[Emulated, SessionGroup], cluster18: Cluster, scan: tuple[str, ...]
) -> None:
    direct, asynchronous = (seen(scanned, cluster18, io_mode, scan, PINNED_BYTES) for io_mode in (IoMode.DIRECT, IoMode.ASYNCHRONOUS))
    assert direct.outstanding == pytest.approx(1.0, rel=1e-6)
    assert asynchronous.outstanding >= 2
    assert asynchronous.reads["size_bytes"].sum() == direct.reads["size_bytes"].sum(), "the same pages"


@need_groups
def test_an_index_scan_asks_for_one_thing_at_a_time_in_the_asynchronous_io_mode_too(
    scanned: tuple[Emulated, SessionGroup], cluster18: Cluster
) -> None:
    assert seen(scanned, cluster18, IoMode.ASYNCHRONOUS, INDEX, 8 * MIB).outstanding == pytest.approx(1.0, rel=1e-6)


@need_groups
@pytest.mark.parametrize("io_mode", [IoMode.BUFFERED, IoMode.ASYNCHRONOUS])
def test_several_requests_at_once_are_counted_as_the_devices_time_and_what_the_processors_add(
    scanned: tuple[Emulated, SessionGroup], cluster18: Cluster, io_mode: IoMode
) -> None:
    found = seen(scanned, cluster18, io_mode, SEQUENTIAL, PINNED_BYTES)
    assert found.busy_s * 0.99 < found.elapsed_s < found.busy_s + found.computed_s + 1e-3
    assert found.reads["intended_s"].sum() > 1.1 * found.busy_s, "some of it at the same time"


@need_groups
@pytest.mark.parametrize("io_mode", [IoMode.DIRECT, IoMode.ASYNCHRONOUS])
@pytest.mark.parametrize("shared_buffers_bytes", [PINNED_BYTES, 8 * PINNED_BYTES])
def test_requests_have_one_size_whatever_the_share_of_the_data(
    scanned: tuple[Emulated, SessionGroup], cluster18: Cluster, io_mode: IoMode, shared_buffers_bytes: int
) -> None:
    sizes = seen(scanned, cluster18, io_mode, SEQUENTIAL, shared_buffers_bytes).reads["size_bytes"]
    assert REQUEST_BYTES == 128 * KIB
    assert (sizes == REQUEST_BYTES).sum() > 0.95 * len(sizes)
    assert sizes.max() == REQUEST_BYTES


def test_a_server_without_io_method_has_no_asynchronous_io_mode(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="18 or later"):
        measuring_settings(Binaries(tmp_path, (17, 4), "PG_BIN"), io_mode=IoMode.ASYNCHRONOUS, shared_buffers_bytes=MIB)
