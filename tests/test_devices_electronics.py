"""Times of single commands on a drive of round figures, whose electronics are given in full: each follows by arithmetic."""

import random
from typing import Any

import pytest

from drives import drive
from tierwise.core.units import SECTOR_BYTES
from tierwise.devices.electronics import Electronics
from tierwise.devices.geometry import Zone, Zoned
from tierwise.devices.hdd import Hdd
from tierwise.devices.mechanism import Mechanics, measured_curve
from tierwise.devices.protocol import Operation
from tierwise.simulate.device_validation import served_s

READ, WRITE = Operation.READ, Operation.WRITE
SECTORS = 4000
GEOMETRY = Zoned([Zone(0, 19, 100, track_skew=10, cylinder_skew=20)], surfaces=2, sector_bytes=SECTOR_BYTES, sectors=SECTORS)
SEEK = measured_curve([(1, 0.4e-3), (10, 2e-3), (19, 4e-3)])
FIELDS: dict[str, Any] = {
    "Read hit over. after read": 0.2,
    "Read hit over. after write": 0.25,
    "Read miss over. after read": 0.5,
    "Read miss over. after write": 0.6,
    "Write hit over. after read": 0.3,
    "Write hit over. after write": 0.35,
    "Write miss over. after read": 0.7,
    "Write miss over. after write": 0.8,
    "Bulk sector transfer time": 0.05,
    "Number of buffer segments": 2,
    "Segment size (in blks)": 40,
    "Buffer continuous read": 0,
    "Fast write level": 0,
}
WARM_ANGLE = 0.01  # where the head is, in turns, when sector 0 has just been read


class Bench:
    """A drive that has read sector 0 last; milliseconds count from the moment at which the head had passed it."""

    def __init__(self, changes: dict[str, Any], settle_ms: float):
        specs = Electronics.model_validate(FIELDS | changes)
        self.specs = specs
        mechanics = Mechanics(geometry=GEOMETRY, seek=SEEK, turn_s=0.01, head_switch_s=1e-3, write_settle_s=settle_ms / 1e3)
        self._drive = Hdd(mechanics, specs, seed=3)
        done_s = served_s(self._drive, 0.0, READ, 0, SECTOR_BYTES)
        end_ms = specs.first_reselect_ms + specs.prepare_ms + specs.bus_ms_per_sector + specs.read_end_ms
        self._zero_s = done_s - end_ms / 1e3

    def __call__(self, at_ms: float, operation: Operation, sector: int, sectors: int) -> float:
        now_s = self._zero_s + at_ms / 1e3
        return (served_s(self._drive, now_s, operation, sector * SECTOR_BYTES, sectors * SECTOR_BYTES) - now_s) * 1e3


def wait_ms(at_ms: float, sector: int) -> float:
    turns = GEOMETRY.spot(sector * SECTOR_BYTES)[0]
    return (turns - WARM_ANGLE - at_ms / 10) % 1 * 10


def bench(fields: dict[str, Any] | None = None, *, settle_ms: float = 0.0) -> Bench:
    return Bench(fields or {}, settle_ms)


BUS = {
    "First reselect overhead": 0.06,
    "Other reselect overhead": 0.02,
    "Data preparation overhead": 0.01,
    "Read completion overhead": 0.3,
    "Write completion overhead": 0.4,
    "Write disconnect overhead": 0.5,
}
AT_ONCE = BUS | {"First reselect overhead": 0.0}
HALF = {"Bulk sector transfer time": 0.2, "High (read) water mark": 0.5}
NO_TIME = dict.fromkeys([name for name in FIELDS if "over." in name], -20.0) | {"Data preparation overhead": -1.0}
SAFE_MS = 10 + 0.7 + 16 * 0.3 - 1.5  # of 16 sectors of 0.3 ms, the last begins on the medium 1.5 ms after the first
READ_MS, MEDIUM_MS = 0.5 + 3.4, 0.1
ALONE: dict[str, tuple[dict[str, Any], float, Operation, int, int, float]] = {  # fields; when, what, first sector, sectors; milliseconds
    "a bus as fast as two sectors pass": ({}, 1, READ, 50, 8, READ_MS + MEDIUM_MS + 0.7 + 0.05),
    "a bus as fast as a sector passes": ({"Bulk sector transfer time": 0.1}, 1, READ, 50, 8, READ_MS + MEDIUM_MS + 0.8),
    "a bus that is slower than the medium": ({"Bulk sector transfer time": 0.25}, 1, READ, 50, 8, READ_MS + MEDIUM_MS + 8 * 0.25),
    "a bus that takes no time": ({"Bulk sector transfer time": 0.0}, 1, READ, 50, 8, READ_MS + MEDIUM_MS + 0.7),
    "a slow bus is taken when half is there": (HALF, 1, READ, 50, 8, READ_MS + 0.4 + 8 * 0.2),
    "or when half a segment is there": (HALF | {"Set watermark by reqsize": 0}, 1, READ, 50, 8, READ_MS + 0.8 + 8 * 0.2),
    "a request over two tracks loses the skew": ({"Bulk sector transfer time": 0.0}, 1, READ, 96, 8, 0.5 + wait_ms(1.5, 96) + 0.8 + 1.0),
    # At 0.7 + 0.5 sector 13 is coming; so 13 to 15 are read then, and 4 to 12 a turn after that.
    "a read that waits for its first sector": ({"Immediate buffer read": 0}, 0.7, READ, 4, 12, 0.5 + 9.1 + 1.2 + 0.05),
    "a read on arrival takes a turn at most": ({"Immediate buffer read": 1}, 0.7, READ, 4, 12, 0.5 + 10 + 4 * 0.05),
    # At 0.7 + 0.7 sector 15 is coming and the bus is ahead: 15 to 17 are written then, 4 to 14 a turn after that.
    "a write that waits for its first sector": ({"Bulk sector transfer time": 0.0}, 0.7, WRITE, 4, 14, 0.7 + wait_ms(1.4, 4) + 1.4),
    "a write on arrival": ({"Bulk sector transfer time": 0.0, "Immediate buffer write": 1}, 0.7, WRITE, 4, 14, 0.7 + 10),
    "a write waits until the bus can keep ahead": (
        {"Bulk sector transfer time": 0.3}, 10, WRITE, 20, 16, SAFE_MS + wait_ms(SAFE_MS, 20) + 1.6 - 10
    ),
    "the bus is taken, data prepared, and the read completed": (
        BUS | {"Bulk sector transfer time": 0.2}, 1, READ, 50, 4, READ_MS + MEDIUM_MS + 0.06 + 0.01 + 4 * 0.2 + 0.3
    ),
    "a hit keeps the bus": (BUS, 1, READ, 0, 1, 0.2 + 0.01 + 0.05 + 0.3),
    "a write takes the bus again for its end": (BUS, 1, WRITE, 50, 1, 0.7 + wait_ms(1.76, 50) + 0.06 + 0.1 + 0.06 + 0.4),
    "an early write does not": (BUS | {"Fast write level": 2}, 1, WRITE, 50, 2, 0.3 + 0.01 + 2 * 0.05 + 0.4),
    # The second sector is in the buffer 0.1 after the first, which goes over the bus within 0.06 + 0.01 + 0.05: nothing to wait for.
    "two sectors in one go": (BUS, 1, READ, 50, 2, READ_MS + MEDIUM_MS + 0.06 + 0.01 + 2 * 0.05 + 0.3),
    # When the first is through before that, the bus is given back and taken anew.
    "the bus is taken anew": (AT_ONCE, 1, READ, 50, 2, READ_MS + 0.2 + 0.02 + 0.01 + 0.05 + 0.3),
    "the bus is never given back": (AT_ONCE | {"Never disconnect": 1}, 1, READ, 50, 2, READ_MS + 0.2 + 0.05 + 0.3),
    "giving the bus back outlasts the arm of a read": (
        {"Read disconnect afterread": 6, "Bulk sector transfer time": 0.2}, 1, READ, 50, 4, 0.5 + 6 + 4 * 0.2
    ),
    "giving the bus back outlasts the arm of a write": ({"Write disconnect overhead": 12}, 1, WRITE, 50, 1, 0.7 + 0.05 + 12),
    "no command ends before it begins": (NO_TIME, 1, READ, 0, 1, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("case", ALONE)
def test_a_command_alone_takes_what_follows_by_arithmetic(case: str) -> None:
    fields, at_ms, operation, sector, sectors, took_ms = ALONE[case]
    assert bench(fields)(at_ms, operation, sector, sectors) == pytest.approx(took_ms)


def test_the_arm_sets_off_after_the_overhead_of_a_miss_and_the_command_before_decides_which() -> None:
    machine = bench()
    assert machine(0, READ, 2000, 1) == pytest.approx(0.5 + 2 + wait_ms(2.5, 2000) + 0.1 + 0.05)  # ten cylinders
    machine = bench()
    assert machine(0, WRITE, 2000, 1) == pytest.approx(0.7 + 2 + wait_ms(2.7, 2000) + 0.1)
    assert machine(50, READ, 5, 1) == pytest.approx(0.6 + 2 + wait_ms(52.6, 5) + 0.1 + 0.05)
    assert machine(90, WRITE, 150, 1) == pytest.approx(0.7 + 1 + wait_ms(91.7, 150) + 0.1)  # the other track of the cylinder
    assert machine(120, WRITE, 150, 1) == pytest.approx(0.35 + wait_ms(120.35, 150) + 0.1), "the buffer holds what was written"


def test_what_the_buffer_holds_takes_the_overhead_of_a_hit_and_the_bus() -> None:
    machine = bench()
    machine(0, READ, 50, 8)
    assert machine(20, READ, 52, 4) == pytest.approx(0.2 + 4 * 0.05)
    machine(40, WRITE, 1000, 1)
    assert machine(80, READ, 50, 8) == pytest.approx(0.25 + 8 * 0.05)
    assert machine(100, READ, 1000, 1) == pytest.approx(0.2 + 0.05), "what was written"


def test_hits_can_be_forbidden() -> None:
    machine = bench({"Enable caching in buffer": 0})
    machine(0, READ, 50, 8)
    assert machine(20, READ, 52, 4) > 0.5
    machine = bench({"Allow read hits on write data": 0})
    machine(0, WRITE, 50, 8)
    assert machine(20, READ, 52, 4) > 0.6


def test_the_segment_used_least_recently_makes_space_and_writes_take_one_alone() -> None:
    machine = bench({"Number of buffer segments": 3})
    for at_ms, operation, sector in [(0, READ, 1000), (50, READ, 2000), (100, WRITE, 3000), (150, WRITE, 3100), (200, WRITE, 3200)]:
        machine(at_ms, operation, sector, 1)
    assert machine(250, READ, 1000, 1) == pytest.approx(0.25 + 0.05)
    machine(300, READ, 500, 1)
    assert machine(350, READ, 2000, 1) > 1, "it was the oldest"


def test_written_data_take_the_place_of_what_was_read() -> None:
    machine = bench({"Allow read hits on write data": 0})
    machine(0, READ, 50, 8)
    machine(40, WRITE, 54, 2)
    assert machine(80, READ, 50, 4) == pytest.approx(0.25 + 4 * 0.05)
    assert machine(120, READ, 54, 1) > 0.5


AHEAD = [
    # how far, minimum, maximum, over requested, first sector behind the read of 10 to 17 that is not held
    (0, 0, 20, 0, 18),
    (0, 12, 20, 0, 18),
    (3, 0, 20, 0, 50),
    (3, 0, 20, 1, 58),
    (4, 0, 20, 0, 38),
    (4, 0, 90, 0, 50),
    (4, 24, 20, 0, 42),
]


@pytest.mark.parametrize(("kind", "least", "most", "over", "until"), AHEAD)
def test_the_head_reads_on_as_far_as_it_should(kind: int, least: int, most: int, over: int, until: int) -> None:
    fields = {
        "Buffer continuous read": kind,
        "Minimum read-ahead (blks)": least,
        "Maximum read-ahead (blks)": most,
        "Read-ahead over requested": over,
    }
    for sector, is_held in [(until - 1, True), (until, False)]:
        machine = bench(fields)
        machine(0, READ, 10, 8)
        assert (machine(40, READ, sector, 1) == pytest.approx(0.2 + 0.05)) is is_held, sector


def test_read_ahead_leaves_what_was_requested_unless_it_may_go_over_it() -> None:
    for over in (0, 1):
        machine = bench({"Buffer continuous read": 3, "Read-ahead over requested": over})
        machine(0, READ, 10, 8)
        assert (machine(40, READ, 10, 8) == pytest.approx(0.2 + 8 * 0.05)) is (over == 0)


@pytest.mark.parametrize(("kind", "until"), [(1, 100), (2, 200)])
def test_read_ahead_ends_with_the_track_or_the_cylinder(kind: int, until: int) -> None:
    fields = {"Buffer continuous read": kind, "Segment size (in blks)": 500}
    for sector, is_held in [(until - 1, True), (until, False)]:
        machine = bench(fields)
        machine(0, READ, 10, 8)
        assert (machine(60, READ, sector, 1) == pytest.approx(0.2 + 0.05)) is is_held, sector


SEGMENTWISE = {"Buffer continuous read": 3, "Segment size (in blks)": 80}


def test_what_the_head_is_about_to_pass_is_read_in_passing() -> None:
    machine = bench(SEGMENTWISE)
    machine(1, READ, 50, 4)  # there at 1 + 0.5 + 3.4, passed 0.4 later, at 5.3
    # At 6.0 it is issued, at 6.5 begun, when 66 is being passed; 64 to 71 are read by 1.5 + 3.4 + 0.1 * 22 = 7.1.
    assert machine(6.0, READ, 64, 8) == pytest.approx(7.1 + 0.05 - 6.0)
    assert machine(20, READ, 72, 40) == pytest.approx(0.2 + 40 * 0.05), "and the segment is filled behind that"


def test_what_the_head_has_not_reached_waits_for_it_as_a_miss() -> None:
    machine = bench(SEGMENTWISE)
    machine(1, READ, 50, 4)
    assert machine(5.5, READ, 75, 2) == pytest.approx(0.5 + wait_ms(6.0, 75) + 0.2 + 0.05)
    assert wait_ms(6.0, 75) == pytest.approx(1.4)


def test_a_sector_on_its_way_is_a_hit_where_that_is_allowed() -> None:
    for almost in (0, 1):
        machine = bench({**SEGMENTWISE, "Allow almost read hits": almost})
        machine(1, READ, 50, 2)  # at 4.9
        # At 5.65, when the command is understood, half of 57 has passed: else it comes by a turn later.
        assert machine(5.15, READ, 57, 1) == pytest.approx(4.9 + 0.8 + 0.05 - 5.15 + (0 if almost else 10))


def test_nothing_calls_the_head_away_before_the_least_read_ahead() -> None:
    machine = bench({**SEGMENTWISE, "Minimum read-ahead (blks)": 40})
    machine(1, READ, 50, 4)  # passed at 5.3, and 40 sectors more at 9.3 (54 to 93)
    assert machine(6, READ, 2000, 1) == pytest.approx(9.3 - 6 + 2 + wait_ms(11.3, 2000) + 0.1 + 0.05)


def test_a_hit_starts_the_read_ahead_again_where_it_may() -> None:
    for again in (0, 1):
        machine = bench({"Buffer continuous read": 4, "Maximum read-ahead (blks)": 8, "Read-ahead on idle hit": again})
        machine(0, READ, 10, 8)
        machine(40, READ, 22, 4)
        assert (machine(80, READ, 26, 8) == pytest.approx(0.2 + 8 * 0.05)) is bool(again)


def test_a_hit_calls_the_head_away_from_no_other_read_ahead() -> None:
    machine = bench({"Buffer continuous read": 4, "Maximum read-ahead (blks)": 30, "Read-ahead on idle hit": 1})
    machine(0, READ, 10, 8)
    end_ms = 40 + machine(40, READ, 2000, 1)
    assert machine(end_ms + 1, READ, 40, 4) == pytest.approx(0.2 + 4 * 0.05)
    assert machine(end_ms + 10, READ, 2030, 1) == pytest.approx(0.25)


def test_free_blocks_before_a_read_are_kept() -> None:
    machine = bench({"Read any free blocks": 1})
    machine(1, READ, 50, 1)  # at the track at 1.5, when 16 is coming
    assert machine(20, READ, 17, 1) == pytest.approx(0.25)
    assert machine(40, READ, 14, 1) > 0.5


@pytest.mark.parametrize(("settle_ms", "moves_ms"), [(0, 2), (0.4, 2.4), (-0.5, 1.5), (-1.9, 0.1), (-5, 0)])
def test_a_write_settles_longer_or_sooner_but_never_before_the_arm_sets_off(settle_ms: float, moves_ms: float) -> None:
    machine = bench(settle_ms=settle_ms)
    there_ms = 10 + 0.7 + moves_ms
    safe_ms = max(there_ms, 10 + 0.7 + 0.05)  # its first sector must be in the buffer
    assert machine(10, WRITE, 2000, 1) == pytest.approx(safe_ms + wait_ms(safe_ms, 2000) + 0.1 - 10)
    coming = next(sector for sector in range(2001, 2100) if 0.05 < wait_ms(50.85, sector) < 0.25)
    assert machine(50, WRITE, coming, 1) == pytest.approx(0.8 + 0.05 + wait_ms(50.85, coming) + 0.1), "nothing moves on the same track"


def test_an_arm_that_is_busy_sets_off_when_it_is_free_however_soon_a_write_may_begin() -> None:
    machine = bench({"Fast write level": 2}, settle_ms=-5)
    machine(0, WRITE, 2000, 1)
    first_ms = 0.35 + wait_ms(0.35, 2000) + 0.1
    just_passed = next(sector for sector in range(200, 300) if wait_ms(first_ms, sector) > 8)
    machine(1, WRITE, just_passed, 1)
    second_ms = first_ms + wait_ms(first_ms, just_passed) + 0.1
    assert machine(2, READ, 5, 1) == pytest.approx(second_ms - 2 + 1 + wait_ms(second_ms + 1, 5) + 0.1 + 0.05)


def test_an_early_write_is_done_when_it_is_buffered_and_the_next_read_waits_for_the_arm() -> None:
    machine = bench({"Fast write level": 2})
    assert machine(0.1, WRITE, 2000, 4) == pytest.approx(0.3 + 4 * 0.05)
    on_medium_ms = 2.4 + wait_ms(2.4, 2000) + 0.4
    assert machine(0.7, WRITE, 2004, 4) == pytest.approx(0.35 + 4 * 0.05), "and so is the one that follows"
    on_medium_ms += 0.4
    assert machine(1.3, READ, 2000, 8) == pytest.approx(0.25 + 8 * 0.05), "which is read from the buffer meanwhile"
    assert machine(2.0, READ, 5, 1) == pytest.approx(on_medium_ms - 2 + 2 + wait_ms(on_medium_ms + 2, 5) + 0.1 + 0.05)


def test_early_writes_wait_for_space() -> None:
    machine = bench({"Fast write level": 2, "Segment size (in blks)": 8})
    assert machine(0.1, WRITE, 2000, 8) == pytest.approx(0.3 + 8 * 0.05)
    on_medium_ms = 2.4 + wait_ms(2.4, 2000) + 0.8
    assert machine(1, WRITE, 0, 1) == pytest.approx(on_medium_ms - 1 + 0.05)
    assert bench({"Fast write level": 2, "Segment size (in blks)": 8})(0, WRITE, 50, 9) > 1, "more than a segment takes"


def test_where_only_some_writes_are_early_a_second_one_elsewhere_waits_for_its_medium() -> None:
    machine = bench({"Fast write level": 1})
    assert machine(0.1, WRITE, 2000, 4) == pytest.approx(0.7 + 4 * 0.05), "nothing waits: early, after the overhead of a miss"
    on_medium_ms = 2.8 + wait_ms(2.8, 2000) + 0.4
    assert machine(1.1, WRITE, 2004, 4) == pytest.approx(0.8 + 4 * 0.05), "it follows the one before"
    on_medium_ms += 0.4
    assert machine(2, WRITE, 0, 4) == pytest.approx(on_medium_ms + 2 + wait_ms(on_medium_ms + 2, 0) + 0.4 - 2)
    assert machine(90, WRITE, 1000, 4) == pytest.approx(0.8 + 4 * 0.05)


def test_a_write_elsewhere_waits_its_least_time_and_one_that_follows_does_not() -> None:
    machine = bench({"Minimum seek delay": 5})
    assert machine(0, WRITE, 50, 1) == pytest.approx(5.7 + wait_ms(5.7, 50) + 0.1)
    assert machine(20, WRITE, 51, 1) == pytest.approx(0.85 + wait_ms(20.85, 51) + 0.1)


def test_an_extra_disconnect_before_a_writes_data() -> None:
    machine = bench(
        {
            "Extra write disconnect": 1,
            "Extradisc command overhead": 0.9,
            "Extradisc disconnect overhead": 0.1,
            "Extradisc inter-disconnect delay": 3,
            "Extradisc 2nd disconnect overhead": 0.2,
            "First reselect overhead": 0.3,
            "Other reselect overhead": 0.4,
        }
    )
    data_ms = 0.9 + 0.1 + 3 + 0.3 + 0.05
    assert machine(0, WRITE, 50, 1) == pytest.approx(data_ms + wait_ms(data_ms, 50) + 0.1 + 0.4)
    assert machine(20, WRITE, 51, 1) == pytest.approx(0.85 + wait_ms(20.85, 51) + 0.1 + 0.3), "one that follows knows no such thing"


def test_tracks_and_cylinders_are_whole_though_sectors_are_slipped_and_spared() -> None:
    slips = tuple(range(30, 800, 7))
    zone = Zone(0, 19, 100, track_skew=10, cylinder_skew=20, unused_front=5, region_sectors=4000, region_spares=150, slips=slips)
    geometry = Zoned([zone], surfaces=2, sector_bytes=SECTOR_BYTES, sectors=3845)
    for sector in range(3845):
        place = geometry.spot(sector * SECTOR_BYTES)
        for (start, end), length in [(geometry.track(sector * SECTOR_BYTES), 1), (geometry.cylinder(sector * SECTOR_BYTES), 2)]:
            assert start <= sector * SECTOR_BYTES < end
            first, last = geometry.spot(start), geometry.spot(end - SECTOR_BYTES)
            assert first[1] == place[1] == last[1]
            assert last[0] - first[0] < length + 0.1 * (length - 1), "nothing of the next one"


@pytest.mark.parametrize("early", [0, 1, 2])
def test_a_drive_with_these_electronics_serves_a_queue_too(early: int) -> None:
    fields = {"Buffer continuous read": 4, "Fast write level": early, "First reselect overhead": 0.05, "Read any free blocks": 1}
    electronics = Electronics.model_validate(FIELDS | fields)
    mechanics = Mechanics(geometry=GEOMETRY, seek=SEEK, turn_s=0.01, head_switch_s=1e-3)
    chance = random.Random(1)
    requests = [(chance.choice([READ, READ, WRITE]), chance.randrange(SECTORS - 8) * SECTOR_BYTES, 8 * SECTOR_BYTES) for _ in range(500)]
    alone, queued, again = (
        drive(Hdd(mechanics, electronics.model_copy(update={"queue": queue}), seed=1), iter(requests), depth=8) for queue in (1, 8, 8)
    )
    assert len(queued) == 500
    assert queued == again
    assert sum(queued) < 0.9 * sum(alone)
