"""What a disk does beyond finding a block: zones, write-back, queueing, several streams; and queues against their closed forms."""

import random
import statistics
from collections.abc import Iterator
from itertools import pairwise

import pytest

from drives import DISK, TURN_S, anywhere, drive, p
from tierwise.core.units import GB, KIB, MIB, PAGE_BYTES
from tierwise.devices.electronics import plain_electronics
from tierwise.devices.geometry import Spiral, Zone, Zoned
from tierwise.devices.hdd import Hdd
from tierwise.devices.mechanism import Mechanics, measured_curve
from tierwise.devices.model import build
from tierwise.devices.parameter import Flag
from tierwise.devices.protocol import Operation
from tierwise.devices.spec import HddSpec

READ, WRITE, FLUSH = Operation

ZONES = (Zone(0, 99, 200, track_skew=20, cylinder_skew=30), Zone(101, 200, 100, track_skew=10, cylinder_skew=15))
ZONED = Zoned(ZONES, surfaces=4, sector_bytes=512, sectors=120_000)
SKEW = 0.1  # of a turn, for a track in either zone; 0.15 for a cylinder
TRACK_BYTES = 200 * 512


def with_(**changes: object) -> HddSpec:
    return DISK.model_copy(update=changes)


WRITE_BACK = with_(write_back=Flag(value=True, source="assumed"), overhead=p(0.1, "ms"), cache=p(1, "MiB"))


def test_a_track_takes_a_turn_and_the_next_begins_after_the_skew() -> None:
    assert ZONED.end(TRACK_BYTES) == pytest.approx((1.0, 0))
    assert ZONED.spot(TRACK_BYTES) == pytest.approx((1 + SKEW, 0))
    assert ZONED.spot(4 * TRACK_BYTES) == pytest.approx((4 + 3 * SKEW + 0.15, 1))
    assert ZONED.spot(100 * 4 * TRACK_BYTES)[1] == 101
    assert ZONED.spot(100 * 4 * TRACK_BYTES)[0] % 1 == pytest.approx(0, abs=1e-9), "each zone begins at the angle 0"


@pytest.mark.parametrize("geometry", [ZONED, Spiral(500 * GB, TURN_S, 100e6, 50e6, 4), Spiral(500 * GB, TURN_S, 80e6, 80e6, 4)])
def test_the_head_has_read_what_lies_before_where_it_is(geometry: Zoned | Spiral) -> None:
    chance = random.Random(1)
    for _ in range(1000):
        address = chance.randrange(1, geometry.capacity_bytes // 512) * 512
        turns, _ = geometry.end(address)
        assert geometry.address(turns + 1e-9) == pytest.approx(address, abs=512)
        assert geometry.spot(address)[0] >= turns - 1e-6
        for start, end in (geometry.track(address), geometry.cylinder(address)):
            assert start <= address < end


def test_reads_in_order_lose_the_skews_and_nothing_else() -> None:
    electronics = plain_electronics(
        overhead_s=0.0, interface_rate=1e12, segments=8, segment_bytes=MIB, read_ahead_bytes=MIB, write_back=False
    )
    model = Hdd(Mechanics(ZONED, measured_curve([(1, 1e-3)]), TURN_S, head_switch_s=0.5e-3), electronics, seed=1)
    tracks = 40
    took = drive(model, ((READ, number * TRACK_BYTES, TRACK_BYTES) for number in range(tracks)))
    assert sum(took[1:]) == pytest.approx((ZONED.end(tracks * TRACK_BYTES)[0] - 1) * TURN_S)


def test_random_reads_of_a_zoned_drive_take_its_mean_seek_half_a_turn_and_the_transfer() -> None:
    seek_s = measured_curve([(1, 1e-3), (100, 4e-3), (200, 9e-3)])
    electronics = plain_electronics(
        overhead_s=1e-4, interface_rate=1e12, segments=1, segment_bytes=16 * KIB, read_ahead_bytes=512, write_back=False
    )
    model = Hdd(Mechanics(ZONED, seek_s, TURN_S), electronics, seed=1)
    chance = random.Random(2)
    places = [chance.randrange(120_000 // 8) * 4096 for _ in range(20_000)]
    cylinders = [ZONED.spot(place)[1] for place in places]
    seeks = statistics.mean(seek_s(abs(one - other)) if one != other else 0 for one, other in pairwise(cylinders))
    transfers = statistics.mean((ZONED.end(place + 4096)[0] - ZONED.spot(place)[0]) * TURN_S for place in places)
    took = drive(model, ((READ, place, 4096) for place in places))
    assert statistics.mean(took) == pytest.approx(1e-4 + seeks + TURN_S / 2 + transfers, rel=0.01)


def test_a_buffered_write_takes_its_overhead_and_the_link_and_a_flush_the_platter() -> None:
    took = drive(build(WRITE_BACK), ((what, GB, PAGE_BYTES) for what in [WRITE, FLUSH] * 20))
    assert took[::2] == pytest.approx([0.1e-3 + PAGE_BYTES / 300e6] * 20)
    assert statistics.mean(took[3::2]) > TURN_S / 2


def test_what_was_written_is_read_from_the_buffer() -> None:
    took = drive(build(WRITE_BACK), iter([(WRITE, GB, PAGE_BYTES), (READ, GB, PAGE_BYTES)]))
    assert took[1] == pytest.approx(0.1e-3 + PAGE_BYTES / 300e6)


def test_a_full_buffer_makes_writes_as_slow_as_the_arm_which_takes_the_nearest_first() -> None:
    took = drive(build(WRITE_BACK), anywhere(build(DISK), 2_000, operation=WRITE))
    full = took[MIB // PAGE_BYTES + 10 :]
    in_place = drive(build(DISK), anywhere(build(DISK), 2_000, operation=WRITE))
    assert 0.2 * statistics.mean(in_place) < statistics.mean(full) < 0.7 * statistics.mean(in_place)


def test_a_flush_is_not_overtaken_by_reads_for_ever() -> None:
    model = build(WRITE_BACK.model_copy(update={"queue": p(4, "1")}))
    for tag, (_, address, size) in enumerate(anywhere(model, 40)):
        model.submit(0.0, tag, WRITE, address, size)
    model.submit(0.0, 40, FLUSH, 0, 0)
    model.submit(0.0, 41, READ, 0, PAGE_BYTES)
    done = dict(model.advance(10.0))
    assert len(done) == 42
    assert max(done.values()) == done[41] > done[40] > 40 * 1e-3


@pytest.mark.parametrize("depth", [8, 32])
def test_a_queue_brings_nearer_requests_first_and_more_of_them(depth: int) -> None:
    in_turn = sum(drive(build(DISK), anywhere(build(DISK), 3_000), depth=depth))
    chosen = sum(drive(build(with_(queue=p(32, "1"))), anywhere(build(DISK), 3_000), depth=depth))
    assert 0.25 < chosen / in_turn < {8: 0.75, 32: 0.55}[depth]


def test_nothing_waits_for_ever_behind_nearer_requests() -> None:
    model = build(with_(queue=p(8, "1")))
    chance = random.Random(1)
    near = [(READ, chance.randrange(20 * GB // PAGE_BYTES) * PAGE_BYTES, PAGE_BYTES) for _ in range(2_000)]
    far = (READ, model.capacity_bytes - MIB, PAGE_BYTES)
    assert 0.5 < max(drive(model, iter([*near[:20], far, *near[20:]]), depth=8)) < 1.2


def streams(count: int) -> Iterator[tuple[Operation, int, int]]:
    return ((READ, stream * 10 * GB + number * PAGE_BYTES, PAGE_BYTES) for number in range(200) for stream in range(count))


def test_as_many_streams_as_segments_are_read_ahead() -> None:
    spec = with_(segments=p(4, "1"), cache=p(4, "MiB"))
    few, many = (statistics.mean(drive(build(spec), streams(count), think_s=10e-3)) for count in (4, 5))
    assert few < 0.3 * many


def test_a_write_makes_what_was_read_ahead_stale() -> None:
    took = drive(build(DISK), iter([(READ, GB, PAGE_BYTES), (WRITE, GB + PAGE_BYTES, PAGE_BYTES), (READ, GB + PAGE_BYTES, PAGE_BYTES)]))
    assert took[2] > TURN_S / 2


def test_a_head_switch_is_paid_within_the_cylinder_only_where_the_turn_does_not_hide_it() -> None:
    slow = with_(head_switch=p(2, "ms"))
    assert drive(build(slow), iter([(WRITE, GB, PAGE_BYTES)] * 10))[1:] == pytest.approx([TURN_S] * 9)
    same = [(WRITE, GB + place, PAGE_BYTES) for place in (2 * MIB, 1 * MIB, 2 * MIB - 64 * KIB, 0)]
    assert sum(drive(build(slow), iter(same))) >= sum(drive(build(DISK), iter(same))) - 1e-9


ALWAYS = with_(overhead=p(1, "ms"), read_ahead=p(64, "KiB"))  # a disk that serves one block from its buffer in always the same time
SERVICE_S = 1e-3 + PAGE_BYTES / 300e6


@pytest.mark.parametrize("load", [0.3, 0.7, 0.9])
def test_poisson_arrivals_at_a_constant_service_wait_as_in_m_d_1(load: float) -> None:
    model, chance, now_s = build(ALWAYS), random.Random(1), 10.0
    drive(model, iter([(READ, GB, PAGE_BYTES)]))
    arrived: list[float] = []
    done: dict[int, float] = {}
    for tag in range(100_000):
        now_s += chance.expovariate(load / SERVICE_S)
        arrived.append(now_s)
        done.update(model.advance(now_s))
        model.submit(now_s, tag, READ, GB, PAGE_BYTES)
    done.update(model.advance(now_s + 10))
    waits_s = [done[tag] - came_s - SERVICE_S for tag, came_s in enumerate(arrived)]
    assert statistics.mean(waits_s) == pytest.approx(load * SERVICE_S / (2 * (1 - load)), rel=0.05)


def test_a_hit_is_answered_while_the_head_is_on_its_way_to_another_place() -> None:
    model = build(with_(queue=p(4, "1"), cache=p(4, "MiB"), overhead=p(0.1, "ms")))
    (first_s,) = drive(model, iter([(READ, GB, PAGE_BYTES)]))
    model.submit(first_s, 1, READ, 400 * GB, PAGE_BYTES)
    model.submit(first_s, 2, READ, GB, PAGE_BYTES)
    (tag, done_s), (other, _) = model.advance(first_s + 1)
    assert (tag, other) == (2, 1)
    assert done_s - first_s == pytest.approx(0.1e-3 + PAGE_BYTES / 300e6)


def test_the_bus_carries_one_transfer_at_a_time() -> None:
    model = build(WRITE_BACK.model_copy(update={"queue": p(8, "1"), "overhead": p(0, "ms")}))
    for tag in range(8):
        model.submit(0.0, tag, WRITE, tag * PAGE_BYTES, PAGE_BYTES)
    assert [done_s for _, done_s in model.advance(1e-3)] == pytest.approx([number * PAGE_BYTES / 300e6 for number in range(1, 9)])
