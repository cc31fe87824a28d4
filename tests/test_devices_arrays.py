"""Arrays, flash and write caches against what can be worked out by hand."""

import statistics
from collections.abc import Iterator

import pytest

from drives import DISK, FLASH, READ_S, SINGLE, TURN_S, WRITE_S, Fixed, Request, anywhere, apart, array_of, cache, drive, in_order, iops, p
from tierwise.core.units import GB, GIB, KIB, MIB, PAGE_BYTES
from tierwise.devices.array import Array
from tierwise.devices.model import build
from tierwise.devices.protocol import Operation
from tierwise.devices.spec import ArraySpec, Erase, load_device
from tierwise.devices.volume import CloudSpec
from tierwise.devices.writeback import WriteBack

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


def test_a_read_takes_its_latency_and_the_transfer() -> None:
    took = drive(build(FLASH), anywhere(build(FLASH), 100))
    assert took == pytest.approx([READ_S] * 100)


def test_no_more_moves_than_the_link_can_carry() -> None:
    took = drive(build(FLASH), in_order(MIB, 256 * MIB), depth=4)
    assert 4 * 256 * MIB / sum(took) == pytest.approx(500e6, rel=0.02)


def test_a_flush_waits_for_the_writes_before_it() -> None:
    model = build(FLASH)
    model.submit(0.0, 1, WRITE, 0, MIB)
    model.submit(0.0, 2, FLUSH, 0, 0)
    (first, written_s), (second, flushed_s) = model.advance(1.0)
    assert (first, second) == (1, 2)
    assert written_s == pytest.approx(200e-6 + MIB / 250e6)
    assert flushed_s == pytest.approx(written_s + 50e-6)


@pytest.mark.parametrize("depth", [1, 4, 32])
def test_the_controller_takes_no_more_reads_than_it_can(depth: int) -> None:
    model = build(FLASH.model_copy(update={"max_read_iops": p(20_000, "IOPS")}))
    assert iops(model, anywhere(model, 4_000), depth=depth) == pytest.approx(min(20_000, depth / READ_S), rel=0.02)


ERASING = FLASH.model_copy(update={"erase": Erase(latency=p(1.5, "ms"), block=p(64, "KiB"))})


def test_flash_that_says_how_it_erases_is_as_any_other_until_it_is_requested() -> None:
    model, plain = build(ERASING), build(FLASH)
    assert drive(model, anywhere(model, 100)) == drive(plain, anywhere(plain, 100))


def test_reads_wait_for_the_channel_that_holds_them_though_others_are_free() -> None:
    model = build(ERASING, erasing=True)
    for tag, page in enumerate((0, 4, 1)):  # of four channels; pages 0 and 4 lie in one
        model.submit(0.0, tag, READ, page * PAGE_BYTES, PAGE_BYTES)
    done = dict(model.advance(1.0))
    assert done[0] == pytest.approx(READ_S)
    assert done[1] == pytest.approx(2 * READ_S)
    assert done[2] == pytest.approx(done[1] + PAGE_BYTES / 500e6), "on time, but behind on the link, which is first in, first out"


def test_a_block_is_erased_each_time_that_as_much_was_written_and_holds_up_its_channel_alone() -> None:
    model = build(ERASING, erasing=True)
    for number in range(8):  # 64 KiB: one block
        model.submit(0.0, number, WRITE, number * PAGE_BYTES, PAGE_BYTES)
    written_s = max(done_s for _, done_s in model.advance(1e-2))
    model.submit(1e-2, 8, READ, 7 * PAGE_BYTES, PAGE_BYTES)
    assert written_s < 1e-2
    assert dict(model.advance(1.0))[8] == pytest.approx(1e-2 + READ_S), "the block is erased by then"
    model.reset()
    for number in range(8):
        model.submit(0.0, number, WRITE, number * PAGE_BYTES, PAGE_BYTES)
    model.submit(written_s, 8, READ, 6 * PAGE_BYTES, PAGE_BYTES)
    model.submit(written_s, 9, READ, 7 * PAGE_BYTES, PAGE_BYTES)
    done = dict(model.advance(1.0))
    assert done[8] == pytest.approx(written_s + READ_S)
    assert done[9] == pytest.approx(written_s + 1.5e-3 + READ_S)


OLD = FLASH.model_copy(update={"random_write_iops": p(100, "IOPS")})


def test_old_flash_writes_in_order_at_its_rate_but_elsewhere_slowly() -> None:
    model = build(OLD)
    places = ((WRITE, number % 97 * GB, 4 * KIB) for number in range(500))
    assert iops(model, places, depth=8) == pytest.approx(100, rel=0.02)
    model.reset()
    took = drive(model, ((WRITE, number * MIB, MIB) for number in range(256)), depth=4)
    assert 4 * 256 * MIB / sum(took) == pytest.approx(250e6, rel=0.02)


def test_a_write_cache_hides_the_flash_until_it_is_full() -> None:
    model = build(OLD.model_copy(update={"write_cache": cache(battery=True, size_kib=1024)}))
    took = drive(model, anywhere(model, 1_000, operation=WRITE))
    assert took[:128] == pytest.approx([10e-6] * 128)
    assert 500 / sum(took[500:]) == pytest.approx(1 / (1 / 100 + (PAGE_BYTES - 4 * KIB) / 250e6), rel=0.02)


def test_with_capacitors_a_flush_returns_at_once_and_without_it_waits_for_the_flash() -> None:
    for battery, flush_s in ((True, 10e-6), (False, 200e-6 + PAGE_BYTES / 250e6 + 50e-6)):
        model = build(FLASH.model_copy(update={"write_cache": cache(battery=battery)}))
        model.submit(0.0, 1, WRITE, GIB, PAGE_BYTES)
        model.submit(0.0, 2, FLUSH, 0, 0)
        assert apart(model.advance(1.0)) == ([1, 2], pytest.approx([10e-6, flush_s]))


def behind_a_cache(level: str = "raid5", *, battery: bool = True, size_kib: int = 1024) -> tuple[WriteBack, list[Fixed]]:
    spec, drives = array_of(level, 6), [Fixed() for _ in range(6)]
    array = Array(spec, drives)
    return WriteBack(cache(battery=battery, size_kib=size_kib), array, row_bytes=array.row_bytes, depth=6), drives


def requested(drives: list[Fixed], operation: Operation) -> int:
    return sum(what is operation for drive in drives for _, what, _, _ in drive.requested)


def test_with_a_battery_writes_and_flushes_return_at_once() -> None:
    model = build(array_of("raid10", 4, cache(battery=True)))
    took = drive(model, iter([(WRITE, GB, PAGE_BYTES), (FLUSH, 0, 0)] * 20))
    assert took == pytest.approx([10e-6] * 40)


def test_without_one_a_flush_waits_until_the_cache_has_drained() -> None:
    model = build(array_of("raid10", 4, cache(battery=False)))
    took = drive(model, iter([(WRITE, GB, PAGE_BYTES), (FLUSH, 0, 0)] * 20))
    assert took[::2] == pytest.approx([10e-6] * 20)
    assert statistics.mean(took[1::2]) > TURN_S / 2


def test_writes_behind_such_a_flush_wait_as_well_and_are_not_lost() -> None:
    model, drives = behind_a_cache(battery=False)
    for tag, request in enumerate([(WRITE, MIB, PAGE_BYTES), (FLUSH, 0, 0), (WRITE, 2 * MIB, PAGE_BYTES), (FLUSH, 0, 0)]):
        model.submit(0.0, tag, *request)
    done = model.advance(1.0)
    assert [tag for tag, _ in done] == [0, 2, 1, 3]
    first_s, later_s, flush_s, last_s = (done_s for _, done_s in done)
    assert first_s == pytest.approx(10e-6)
    assert later_s == pytest.approx(2e-3 + 10e-6), "the flush let it through once the first write was down"
    assert [flush_s, last_s] == pytest.approx([3e-3, 5e-3]), "and then had the members flush"
    assert requested(drives, FLUSH) == 12


@pytest.mark.parametrize(("level", "write_iops"), [("raid10", 3 / WRITE_S), ("raid5", 6 / (2 * READ_S + 2 * WRITE_S))])
def test_a_full_cache_is_as_fast_as_what_is_behind_it(level: str, write_iops: float) -> None:
    model = build(array_of(level, 6, cache(battery=True, size_kib=1024), member=SINGLE))
    took = drive(model, anywhere(model, 8_000, operation=WRITE))
    assert took[:128] == pytest.approx([10e-6] * 128)
    rate = len(took[2_000:]) / sum(took[2_000:])
    # Six writes at a time leave members idle now and then; more would keep reads waiting.
    assert 0.6 * write_iops < rate < write_iops


def test_writes_in_order_go_down_as_full_stripes() -> None:
    def log() -> Iterator[Request]:
        return ((WRITE, address, PAGE_BYTES) for address in range(0, 20 * MIB, PAGE_BYTES))

    model, drives = behind_a_cache(size_kib=8 * 1024)
    drive(model, log())
    reads, written = requested(drives, READ), sum(size for each in drives for _, what, _, size in each.requested if what is WRITE)
    assert reads < 60, "the 64 rows, each in parts, would be read at least twice a part"
    assert written == pytest.approx(20 * MIB * 6 / 5, rel=0.05), "data and parity"


def test_a_block_that_is_written_again_while_it_waits_goes_down_once() -> None:
    model, drives = behind_a_cache("raid0")
    for tag in range(100):
        model.submit(0.0, tag, WRITE, MIB, PAGE_BYTES)
    assert len(model.advance(1.0)) == 100
    assert requested(drives, WRITE) == 2, "the first, and all that came while it was on its way"


def test_what_is_still_in_the_cache_is_read_from_it() -> None:
    model, _ = behind_a_cache()
    model.submit(0.0, 1, WRITE, MIB, 16 * KIB)
    model.submit(0.0, 2, READ, MIB + 8 * KIB, 8 * KIB)
    model.submit(0.0, 3, READ, MIB + 8 * KIB, 16 * KIB)  # only half of it
    assert apart(model.advance(0.9e-3)) == ([1, 2], pytest.approx([10e-6, 10e-6]))
    assert [tag for tag, _ in model.advance(1.0)] == [3]
    model.submit(1.0, 4, READ, MIB, 8 * KIB)
    assert apart(model.advance(2.0)) == ([4], pytest.approx([1.001])), "it is down, and read from there"


def test_a_write_larger_than_the_cache_passes_it_by() -> None:
    model, _ = behind_a_cache("raid0", size_kib=64)
    assert drive(model, iter([(WRITE, 0, MIB), (WRITE, 4 * MIB, PAGE_BYTES)])) == pytest.approx([1e-3, 10e-6])


def test_reads_do_not_wait_for_a_full_cache() -> None:
    model = build(array_of("raid0", 4, cache(battery=True, size_kib=64), member=FLASH))
    for tag in range(1_000):
        model.submit(0.0, tag, WRITE, tag * MIB, PAGE_BYTES)
    model.submit(0.0, 1_000, READ, GB, PAGE_BYTES)
    assert dict(model.advance(READ_S + 1e-9))[1_000] == pytest.approx(READ_S)


def test_what_the_cache_takes_has_passed_the_controller_first() -> None:
    """A write that finds space at once still goes through the controller's limit, as every other request does."""
    model = build(array_of("raid0", 4, cache(battery=True, size_kib=64 * KIB), max_iops=5_000))
    took = drive(model, iter([(WRITE, number * PAGE_BYTES, PAGE_BYTES) for number in range(500)]), depth=8)
    assert statistics.mean(took[50:]) == pytest.approx(8 / 5_000, rel=0.1)
