"""Arrays against what can be worked out by hand: their members do one thing at a time, each in a fixed time."""

import math
import statistics

import pytest

from drives import DISK, FLASH, TURN_S, anywhere, apart, array_of, drive, in_order, iops, p
from tierwise.core.units import KIB, MIB, PAGE_BYTES
from tierwise.devices.array import Array
from tierwise.devices.model import build
from tierwise.devices.protocol import Operation
from tierwise.devices.spec import ArraySpec, load_device
from tierwise.devices.volume import CloudSpec

READ, WRITE, FLUSH = Operation
SINGLE = FLASH.model_copy(update={"channels": p(1, "1")})
READ_S, WRITE_S = 100e-6 + PAGE_BYTES / 500e6, 200e-6 + PAGE_BYTES / 250e6


class Recorder:
    """A member that notes what it is asked and does it in a millisecond."""

    capacity_bytes = 10 * MIB

    def __init__(self) -> None:
        self.asked: list[tuple[float, Operation, int, int]] = []
        self._out: list[tuple[float, int]] = []

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        assert address_bytes + size_bytes <= self.capacity_bytes
        self.asked.append((now_s, operation, address_bytes, size_bytes))
        self._out.append((now_s + 1e-3, tag))

    def next_event_s(self) -> float:
        return self._out[0][0] if self._out else math.inf

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        done = [(tag, done_s) for done_s, tag in self._out if done_s <= now_s]
        self._out = [(done_s, tag) for done_s, tag in self._out if done_s > now_s]
        return done

    def reset(self) -> None:
        self.asked, self._out = [], []


def recorded(spec: ArraySpec, operation: Operation, address: int, size: int) -> list[tuple[int, float, Operation, int, int]]:
    """(member, time, operation, address, size) of all that one request makes the members do."""
    drives = [Recorder() for _ in range(int(spec.members.base))]
    array = Array(spec, drives)
    array.submit(0.0, 7, operation, address, size)
    (tag, done_s), *others = array.advance(1.0)
    assert (tag, others) == (7, [])
    assert done_s >= max(when for drive in drives for when, *_ in drive.asked) + 1e-3
    return [(number, *asked) for number, drive in enumerate(drives) for asked in drive.asked]


@pytest.mark.parametrize(
    ("level", "members", "data"), [("raid0", 6, 6), ("raid1", 2, 1), ("raid5", 6, 5), ("raid6", 6, 4), ("raid10", 6, 3)]
)
def test_every_byte_has_a_place_of_its_own(level: str, members: int, data: int) -> None:
    drives = [Recorder() for _ in range(members)]
    array = Array(array_of(level, members), drives)
    assert array.capacity_bytes == data * 10 * MIB
    for tag, address in enumerate(range(0, array.capacity_bytes, 12 * KIB)):
        array.submit(tag, tag, READ, address, min(12 * KIB, array.capacity_bytes - address))
        assert apart(array.advance(tag + 0.5)) == ([tag], pytest.approx([tag + 1e-3]))
    read = [
        (number, where)
        for number, drive in enumerate(drives)
        for _, _, start, size in drive.asked
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


@pytest.mark.parametrize(("level", "members"), [("raid1", 2), ("raid1", 3), ("raid10", 4), ("raid10", 8)])
def test_mirrors_share_reads_and_all_do_each_write(level: str, members: int) -> None:
    model = build(array_of(level, members, member=SINGLE))
    copies = members if level == "raid1" else 2
    assert iops(model, anywhere(model, 20_000), depth=64 * members) == pytest.approx(members / READ_S, rel=0.03)
    model.reset()
    writes = anywhere(model, 20_000, operation=WRITE)
    assert iops(model, writes, depth=64 * members) == pytest.approx(members / copies / WRITE_S, rel=0.03)


@pytest.mark.parametrize(("level", "each"), [("raid5", 2), ("raid6", 3)])
def test_small_writes_with_parity_share_the_members_among_all_their_parts(level: str, each: int) -> None:
    model = build(array_of(level, 6, member=SINGLE))
    writes = anywhere(model, 10_000, operation=WRITE)
    assert iops(model, writes, depth=512) == pytest.approx(6 / (each * (READ_S + WRITE_S)), rel=0.03)


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


def test_an_array_of_disks_alone_with_one_request_is_as_slow_as_one_disk() -> None:
    model = build(array_of("raid5", 6))
    assert statistics.mean(drive(model, anywhere(model, 5_000))) == pytest.approx(8.5e-3 + TURN_S / 2, rel=0.03)


def test_big_reads_in_order_use_every_disk() -> None:
    took = drive(build(array_of("raid0", 4)), in_order(4 * MIB, 512 * MIB))
    assert 512 * MIB / sum(took) > 3.5 * 80e6


def test_a_small_write_to_disks_with_parity_costs_a_turn_more() -> None:
    raid0, raid5 = build(array_of("raid0", 3)), build(array_of("raid5", 3))
    alone_s = statistics.mean(drive(raid0, anywhere(raid0, 1_000, operation=WRITE)))
    assert statistics.mean(drive(raid5, anywhere(raid5, 1_000, operation=WRITE))) > TURN_S + alone_s


def test_a_volume_can_be_a_member() -> None:
    volume = load_device("aws-gp3")
    assert isinstance(volume, CloudSpec)
    model = build(array_of("raid0", 4, member=volume))
    assert iops(model, anywhere(model, 10_000), depth=128) == pytest.approx(4 * 3_000, rel=0.05)
