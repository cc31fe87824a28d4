"""The device models against what can be worked out by hand."""

import math
import random
import statistics
from collections.abc import Iterator

import pytest

from tierwise.core.units import GB, KIB, MIB, PAGE_BYTES
from tierwise.devices.array import Array
from tierwise.devices.model import DeviceModel, Operation, build
from tierwise.devices.spec import ArraySpec, Flag, HddSpec, Level, Parameter, SsdSpec, WriteCache

READ, WRITE, FLUSH = Operation


def _p(value: float, unit: str) -> Parameter:
    return Parameter(value=value, unit=unit, source="assumed")


DISK = HddSpec(
    kind="hdd",
    name="a disk of one rate",
    description="",
    capacity=_p(500, "GB"),
    rotation=_p(7200, "rpm"),
    surfaces=_p(4, "1"),
    track_seek=_p(1, "ms"),
    average_seek=_p(8.5, "ms"),
    full_seek=_p(18, "ms"),
    outer_rate=_p(80, "MB/s"),
    inner_rate=_p(80, "MB/s"),
    interface_rate=_p(300, "MB/s"),
    overhead=_p(0, "ms"),
    read_ahead=_p(1, "MiB"),
)
TURN_S = 1 / 120

FLASH = SsdSpec(
    kind="ssd",
    name="flash",
    description="",
    capacity=_p(100, "GB"),
    channels=_p(4, "1"),
    read_latency=_p(100, "us"),
    write_latency=_p(200, "us"),
    flush_latency=_p(50, "us"),
    read_rate=_p(500, "MB/s"),
    write_rate=_p(250, "MB/s"),
)


def striped(level: str, members: int, cache: WriteCache | None = None, member: HddSpec | SsdSpec = DISK) -> ArraySpec:
    chosen = Level.model_validate({"value": level, "source": "assumed"})
    stripe = _p(64, "KiB")
    return ArraySpec(
        kind="array", name="", description="", member=member, members=_p(members, "1"), level=chosen, stripe=stripe, write_cache=cache
    )


def cache(*, battery: bool, size_kib: int = 1024) -> WriteCache:
    return WriteCache(battery_backed=Flag(value=battery, source="assumed"), size=_p(size_kib, "KiB"), latency=_p(10, "us"))


def drive(model: DeviceModel, requests: Iterator[tuple[Operation, int, int]], *, depth: int = 1, think_s: float = 0.0) -> list[float]:
    """Response times of `requests` with `depth` of them outstanding, in order of completion."""
    began: dict[int, float] = {}
    took, now_s = [], 0.0
    for tag, (operation, address, size) in enumerate(requests):
        while len(began) == depth:
            for done, done_s in model.advance(model.next_event_s()):
                took.append(done_s - began.pop(done))
                now_s = done_s + think_s
        began[tag] = now_s
        model.submit(now_s, tag, operation, address, size)
    while began:
        for done, done_s in model.advance(model.next_event_s()):
            took.append(done_s - began.pop(done))
    return took


def anywhere(model: DeviceModel, count: int, *, operation: Operation = READ, seed: int = 1) -> Iterator[tuple[Operation, int, int]]:
    chance = random.Random(seed)
    return ((operation, chance.randrange(model.capacity_bytes // PAGE_BYTES) * PAGE_BYTES, PAGE_BYTES) for _ in range(count))


def in_order(size: int, total: int) -> Iterator[tuple[Operation, int, int]]:
    return ((READ, address, size) for address in range(0, total, size))


def test_a_random_read_takes_the_mean_seek_half_a_turn_and_its_transfer() -> None:
    took = drive(build(DISK), anywhere(build(DISK), 20_000))
    assert statistics.mean(took) == pytest.approx(8.5e-3 + TURN_S / 2 + PAGE_BYTES / 80e6, rel=0.01)


def test_the_seek_curve_goes_through_its_three_times() -> None:
    track_s, root_s, linear_s = DISK.curve_s
    assert track_s == 1e-3
    assert track_s + root_s + linear_s == pytest.approx(18e-3)
    assert track_s + root_s * 8 / 15 + linear_s / 3 == pytest.approx(8.5e-3)


@pytest.mark.parametrize("size", [PAGE_BYTES, 128 * KIB, MIB, 4 * MIB])
def test_reading_in_order_runs_at_the_rate_of_the_platter(size: int) -> None:
    total = 256 * MIB
    took = drive(build(DISK), in_order(size, total), think_s=20e-6)
    assert total / (sum(took) + 20e-6 * len(took)) == pytest.approx(80e6, rel=0.01)


def test_a_slow_reader_in_order_is_served_from_the_buffer() -> None:
    took = drive(build(DISK), in_order(PAGE_BYTES, 64 * MIB), think_s=1e-3)
    assert statistics.quantiles(took, n=100)[98] == pytest.approx(PAGE_BYTES / 300e6)


def test_what_was_just_read_is_in_the_buffer_still() -> None:
    pages = [(READ, GB + number * PAGE_BYTES, PAGE_BYTES) for number in (0, 1, 2, 1, 0, 3, 2, 4)]
    took = drive(build(DISK), iter(pages))
    assert max(took[1:]) <= PAGE_BYTES / 80e6 + 1e-9


def test_rewriting_one_block_waits_for_a_whole_turn() -> None:
    took = drive(build(DISK), iter([(WRITE, GB, PAGE_BYTES)] * 50))
    assert took[1:] == pytest.approx([TURN_S] * 49)


def test_the_rate_falls_towards_the_inside() -> None:
    zoned = DISK.model_copy(update={"outer_rate": _p(100, "MB/s"), "inner_rate": _p(50, "MB/s")})
    model = build(zoned)
    for start, rate in ((0, 100e6), (model.capacity_bytes // 2, 75e6), (model.capacity_bytes - 256 * MIB, 50e6)):
        model.reset()
        took = drive(model, ((READ, start + address, MIB) for address in range(0, 255 * MIB, MIB)))
        assert 255 * MIB / sum(took) == pytest.approx(rate, rel=0.01)


def test_stretch_makes_a_small_file_span_the_disk_but_leaves_order_alone() -> None:
    def random_in_a_small_file(stretch: float) -> float:
        chance = random.Random(3)
        places = ((READ, chance.randrange(50 * GB // PAGE_BYTES) * PAGE_BYTES, PAGE_BYTES) for _ in range(20_000))
        return statistics.mean(drive(build(DISK, stretch=stretch), places))

    assert random_in_a_small_file(10) == pytest.approx(8.5e-3 + TURN_S / 2 + PAGE_BYTES / 80e6, rel=0.01)
    assert random_in_a_small_file(1) < 0.75 * random_in_a_small_file(10)
    assert sum(drive(build(DISK, stretch=10), in_order(MIB, 64 * MIB))) == sum(drive(build(DISK), in_order(MIB, 64 * MIB)))


def test_flash_takes_its_latency_and_the_transfer() -> None:
    took = drive(build(FLASH), anywhere(build(FLASH), 100))
    assert took == pytest.approx([100e-6 + PAGE_BYTES / 500e6] * 100)


@pytest.mark.parametrize("depth", [1, 2, 4, 16])
def test_flash_serves_as_many_at_once_as_it_has_channels(depth: int) -> None:
    alone_s = 100e-6 + PAGE_BYTES / 500e6
    took = drive(build(FLASH), anywhere(build(FLASH), 4_000), depth=depth)
    assert depth * 4_000 / sum(took) == pytest.approx(min(depth, 4) / alone_s, rel=0.02)


def test_flash_moves_no_more_than_its_link() -> None:
    took = drive(build(FLASH), in_order(MIB, 256 * MIB), depth=4)
    assert 4 * 256 * MIB / sum(took) == pytest.approx(500e6, rel=0.02)


def test_a_flush_of_flash_waits_for_the_writes_before_it() -> None:
    model = build(FLASH)
    model.submit(0.0, 1, WRITE, 0, MIB)
    model.submit(0.0, 2, FLUSH, 0, 0)
    (first, written_s), (second, flushed_s) = model.advance(1.0)
    assert (first, second) == (1, 2)
    assert written_s == pytest.approx(200e-6 + MIB / 250e6)
    assert flushed_s == pytest.approx(written_s + 50e-6)


def test_members_of_an_array_work_at_the_same_time() -> None:
    single, six = build(DISK), build(striped("raid0", 6))
    assert six.capacity_bytes == pytest.approx(6 * single.capacity_bytes, rel=1e-6)
    alone_s = sum(drive(single, anywhere(single, 3_000)))
    # At a depth of 48 hardly any of the six is ever idle.
    together_s = sum(drive(six, anywhere(six, 18_000), depth=48)) / 48
    assert together_s == pytest.approx(alone_s, rel=0.12)


def test_an_array_alone_with_one_request_is_as_slow_as_one_drive() -> None:
    model = build(striped("raid5", 6))
    assert statistics.mean(drive(model, anywhere(model, 5_000))) == pytest.approx(8.5e-3 + TURN_S / 2, rel=0.03)


def test_big_reads_in_order_use_every_column() -> None:
    took = drive(build(striped("raid0", 4)), in_order(4 * MIB, 512 * MIB))
    assert 512 * MIB / sum(took) > 3.5 * 80e6


class Recorder:
    """A member that notes what it is asked and does it at once."""

    capacity_bytes = 10 * MIB

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.done: list[tuple[int, float]] = []

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:  # noqa: ARG002
        self.asked += range(address_bytes, address_bytes + size_bytes, 4 * KIB)
        self.done.append((tag, now_s))

    def next_event_s(self) -> float:
        return self.done[0][1] if self.done else math.inf

    def advance(self, now_s: float) -> list[tuple[int, float]]:  # noqa: ARG002
        done, self.done = self.done, []
        return done

    def reset(self) -> None:
        """Nothing: it is used once."""


@pytest.mark.parametrize(("level", "members", "data"), [("raid0", 6, 6), ("raid5", 6, 5), ("raid10", 6, 3)])
def test_every_byte_has_a_place_of_its_own(level: str, members: int, data: int) -> None:
    drives = [Recorder() for _ in range(members)]
    array = Array(striped(level, members), list(drives))
    assert array.capacity_bytes == data * 10 * MIB
    for tag, address in enumerate(range(0, array.capacity_bytes, 12 * KIB)):
        array.submit(0.0, tag, READ, address, min(12 * KIB, array.capacity_bytes - address))
        assert array.advance(0.0) == [(tag, 0.0)]
    read = [(number, where) for number, drive in enumerate(drives) for where in drive.asked]
    assert len(read) == len(set(read)) == array.capacity_bytes // (4 * KIB)
    if level == "raid5":  # parity takes turns: every drive holds as much data, but for a stripe
        held = [sum(drive == number for drive, _ in read) for number in range(6)]
        assert max(held) - min(held) <= 64 // 4


def test_a_battery_backed_cache_takes_writes_and_flushes_at_once() -> None:
    model = build(striped("raid10", 4, cache(battery=True)))
    took = drive(model, iter([(WRITE, GB, PAGE_BYTES), (FLUSH, 0, 0)] * 20))
    assert took == pytest.approx([10e-6] * 40)


def test_a_volatile_cache_drains_before_a_flush_returns() -> None:
    model = build(striped("raid10", 4, cache(battery=False)))
    took = drive(model, iter([(WRITE, GB, PAGE_BYTES), (FLUSH, 0, 0)] * 20))
    assert took[::2] == pytest.approx([10e-6] * 20)
    assert statistics.mean(took[1::2]) > TURN_S / 2


def test_a_full_cache_is_as_slow_as_the_drives_below_it() -> None:
    model = build(striped("raid0", 4, cache(battery=True, size_kib=64)))
    took = drive(model, anywhere(model, 2_000, operation=WRITE))
    assert took[:8] == pytest.approx([10e-6] * 8)
    assert 2_000 / sum(took[8:]) < 4 / (8.5e-3 + TURN_S / 2) * 1.1


def test_a_small_write_of_raid5_costs_reading_and_writing_twice() -> None:
    raid0, raid5 = build(striped("raid0", 3)), build(striped("raid5", 3))
    assert statistics.mean(drive(raid5, anywhere(raid5, 1_000, operation=WRITE))) > TURN_S + statistics.mean(
        drive(raid0, anywhere(raid0, 1_000, operation=WRITE))
    )


@pytest.mark.parametrize("spec", [DISK, FLASH, striped("raid5", 6), striped("raid10", 4, cache(battery=False))])
def test_the_same_seed_gives_the_same_times_and_reset_begins_again(spec: HddSpec | SsdSpec | ArraySpec) -> None:
    def once(model: DeviceModel) -> list[float]:
        chance = random.Random(5)
        kinds = ((chance.choice([READ, READ, WRITE, FLUSH]), address, size) for _, address, size in anywhere(model, 500))
        return drive(model, kinds, depth=8)

    model = build(spec, seed=7)
    first = once(model)
    assert first == once(build(spec, seed=7))
    model.reset()
    assert first == once(model)
    if isinstance(spec, HddSpec):
        assert first != once(build(spec, seed=8))


def test_an_idle_device_has_no_event() -> None:
    assert build(DISK).next_event_s() == build(FLASH).next_event_s() == build(striped("raid0", 2)).next_event_s() == math.inf
