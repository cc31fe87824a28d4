"""Arrays against what can be worked out by hand: their members do one thing at a time, each in a fixed time."""

import statistics

import pytest

from drives import DISK, READ_S, SINGLE, WRITE_S, Fixed, anywhere, apart, array_of, drive, in_order, iops
from tierwise.core.units import KIB, MIB, PAGE_BYTES
from tierwise.devices.array import Array
from tierwise.devices.model import build
from tierwise.devices.protocol import Operation
from tierwise.devices.spec import ArraySpec, load_device
from tierwise.devices.volume import CloudSpec

READ, WRITE, FLUSH = Operation


def recorded(spec: ArraySpec, operation: Operation, address: int, size: int) -> list[tuple[int, float, Operation, int, int]]:
    """(member, time, operation, address, size) of all that one request makes the members do."""
    drives = [Fixed() for _ in range(int(spec.members.base))]
    array = Array(spec, drives)
    array.submit(0.0, 7, operation, address, size)
    (tag, done_s), *others = array.advance(1.0)
    assert (tag, others) == (7, [])
    assert done_s >= max(when for drive in drives for when, *_ in drive.requested) + 1e-3
    return [(number, *requested) for number, drive in enumerate(drives) for requested in drive.requested]


@pytest.mark.parametrize(
    ("level", "members", "data"), [("raid0", 1, 1), ("raid0", 6, 6), ("raid1", 2, 1), ("raid5", 6, 5), ("raid6", 6, 4), ("raid10", 6, 3)]
)
def test_every_byte_has_a_place_of_its_own(level: str, members: int, data: int) -> None:
    drives = [Fixed() for _ in range(members)]
    array = Array(array_of(level, members), drives)
    assert array.capacity_bytes == data * 10 * MIB
    for tag, address in enumerate(range(0, array.capacity_bytes, 12 * KIB)):
        array.submit(tag, tag, READ, address, min(12 * KIB, array.capacity_bytes - address))
        assert apart(array.advance(tag + 0.5)) == ([tag], pytest.approx([tag + 1e-3]))
    read = [
        (number, where)
        for number, drive in enumerate(drives)
        for _, _, start, size in drive.requested
        for where in range(start, start + size, 4 * KIB)
    ]
    assert len(read) == len(set(read)) == array.capacity_bytes // (4 * KIB)
    if level in {"raid5", "raid6"}:  # parity takes turns: every drive holds as much data, but for a few stripes
        held = [sum(drive == number for drive, _ in read) for number in range(members)]
        assert max(held) - min(held) <= 2 * 64 // 4


@pytest.mark.parametrize("level", ["raid0", "raid5", "raid6", "raid10"])
def test_a_request_across_stripes_is_split_and_joined(level: str) -> None:
    parts = recorded(array_of(level, 6), READ, 60 * KIB, 72 * KIB)
    assert sorted(size for *_, size in parts) == [4 * KIB, 4 * KIB, 64 * KIB]
    assert len({member for member, *_ in parts}) == 3


@pytest.mark.parametrize("size", [PAGE_BYTES, 64 * KIB])
@pytest.mark.parametrize(
    ("level", "reads", "writes"), [("raid0", 0, 1), ("raid1", 0, 6), ("raid10", 0, 2), ("raid5", 2, 2), ("raid6", 3, 3)]
)
def test_a_small_write_reads_what_it_replaces_and_each_parity(level: str, reads: int, writes: int, size: int) -> None:
    parts = recorded(array_of(level, 6), WRITE, 5 * MIB, size)
    read = {(member, address, length) for member, _, operation, address, length in parts if operation is READ}
    written = {(member, address, length) for member, _, operation, address, length in parts if operation is WRITE}
    assert (len(read), len(written), len(parts)) == (reads, writes, reads + writes)
    assert read <= written
    assert len({member for member, *_ in written}) == writes
    if reads:
        assert all(when == pytest.approx(1e-3) for _, when, operation, *_ in parts if operation is WRITE)


@pytest.mark.parametrize(("level", "columns"), [("raid5", 5), ("raid6", 4)])
def test_a_full_stripe_is_written_without_reading(level: str, columns: int) -> None:
    row = columns * 64 * KIB
    parts = recorded(array_of(level, 6), WRITE, 7 * row, row)
    assert len(parts) == 6
    assert {(when, operation, size) for _, when, operation, _, size in parts} == {(0.0, WRITE, 64 * KIB)}
    assert {member for member, *_ in parts} == set(range(6))


@pytest.mark.parametrize("members", [2, 4, 8])
def test_the_bandwidth_of_raid0_grows_with_its_members(members: int) -> None:
    took = drive(build(array_of("raid0", members, member=SINGLE)), in_order(8 * MIB, 1024 * MIB), depth=2)
    assert 2 * 1024 * MIB / sum(took) == pytest.approx(members * 500e6, rel=0.05)


def test_a_small_write_alone_waits_for_its_reads_and_then_for_its_writes() -> None:
    for level in ("raid5", "raid6"):
        model = build(array_of(level, 6, member=SINGLE))
        assert drive(model, anywhere(model, 100, operation=WRITE)) == pytest.approx([READ_S + WRITE_S] * 100)


def test_the_controller_takes_no_more_requests_than_it_can() -> None:
    model = build(array_of("raid0", 4, member=SINGLE, max_iops=5_000))
    assert iops(model, anywhere(model, 5_000), depth=64) == pytest.approx(5_000, rel=0.02)
    assert statistics.mean(drive(build(array_of("raid0", 4, member=SINGLE, max_iops=5_000)), anywhere(model, 100))) < 1.8 * READ_S


def test_the_controller_moves_no_more_than_it_can() -> None:
    took = drive(build(array_of("raid0", 8, member=SINGLE, max_rate_mb_s=1_000)), in_order(MIB, 512 * MIB), depth=16)
    assert 16 * 512 * MIB / sum(took) == pytest.approx(1e9, rel=0.03)


def test_a_flush_of_an_array_flushes_every_member_after_what_the_controller_still_holds() -> None:
    model = build(array_of("raid0", 4, member=SINGLE, max_iops=1_000))
    for tag in range(3):
        model.submit(0.0, tag, WRITE, tag * MIB, PAGE_BYTES)
    model.submit(0.0, 9, FLUSH, 0, 0)
    done = model.advance(1.0)
    assert [tag for tag, _ in done] == [0, 1, 2, 9]
    assert done[-1][1] == pytest.approx(2e-3 + WRITE_S + 50e-6)


def test_disks_of_an_array_move_independently() -> None:
    single, six = build(DISK), build(array_of("raid0", 6))
    assert six.capacity_bytes == pytest.approx(6 * single.capacity_bytes, rel=1e-6)
    alone_s = sum(drive(single, anywhere(single, 3_000)))
    # At a depth of 48 hardly any of the six is ever idle.
    together_s = sum(drive(six, anywhere(six, 18_000), depth=48)) / 48
    assert together_s == pytest.approx(alone_s, rel=0.12)


def test_a_volume_can_be_a_member() -> None:
    volume = load_device("aws-gp3")
    assert isinstance(volume, CloudSpec)
    model = build(array_of("raid0", 4, member=volume))
    assert iops(model, anywhere(model, 10_000), depth=128) == pytest.approx(4 * 3_000, rel=0.05)
