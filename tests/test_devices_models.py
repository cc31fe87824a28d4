"""Devices by hand: disks, cloud volumes, what slows a device, and what every device model has in common."""

import random
import statistics

import pytest

from drives import DISK, FLASH, TURN_S, anywhere, array_of, cache, drive, in_order, iops, p
from tierwise.core.units import GB, GIB, KIB, MIB, PAGE_BYTES
from tierwise.devices.model import build
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.slowed_device import SlowedDevice
from tierwise.devices.spec import ArraySpec, HddSpec, SsdSpec, load_device

READ, WRITE, FLUSH = Operation


def test_a_random_read_takes_the_mean_seek_half_a_turn_and_its_transfer() -> None:
    took = drive(build(DISK), anywhere(build(DISK), 20_000))
    assert statistics.mean(took) == pytest.approx(8.5e-3 + TURN_S / 2 + PAGE_BYTES / 80e6, rel=0.01)


@pytest.mark.parametrize("size", [PAGE_BYTES, 128 * KIB, MIB, 4 * MIB])
def test_reading_in_order_runs_at_the_rate_of_the_platter(size: int) -> None:
    total = 256 * MIB
    took = drive(build(DISK), in_order(size, total), think_s=20e-6)
    assert total / (sum(took) + 20e-6 * len(took)) == pytest.approx(80e6, rel=0.01)


def test_a_slow_reader_in_order_is_served_from_the_buffer() -> None:
    took = drive(build(DISK), in_order(PAGE_BYTES, 64 * MIB), think_s=1e-3)
    assert statistics.quantiles(took, n=100)[98] == pytest.approx(PAGE_BYTES / 300e6)


def test_rewriting_one_block_waits_for_a_whole_turn() -> None:
    took = drive(build(DISK), iter([(WRITE, GB, PAGE_BYTES)] * 50))
    assert took[1:] == pytest.approx([TURN_S] * 49)


def test_the_rate_falls_towards_the_inside() -> None:
    zoned = DISK.model_copy(update={"outer_rate": p(100, "MB/s"), "inner_rate": p(50, "MB/s")})
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


@pytest.mark.parametrize("spec", [DISK, FLASH, array_of("raid5", 6), array_of("raid10", 4, cache(battery=False))])
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


@pytest.mark.parametrize("size", [256 * KIB, MIB])
def test_gp3_gives_125_mib_a_second_and_no_more(size: int) -> None:
    took = drive(build(load_device("aws-gp3")), in_order(size, 512 * MIB), depth=8)
    assert 8 * 512 / sum(took) == pytest.approx(125, rel=0.02)


def test_requests_in_order_are_counted_together() -> None:
    model = build(load_device("aws-gp3"))
    in_order_s = sum(drive(model, in_order(PAGE_BYTES, 256 * MIB), depth=32)) / 32
    assert 256 / in_order_s == pytest.approx(125, rel=0.02), "3,000 requests of 8 KiB would be 23 MiB/s"


def test_st1_bursts_until_its_credits_are_spent() -> None:
    model = build(load_device("aws-st1"))
    took = drive(model, in_order(64 * MIB, 2_500 * GIB), depth=4)
    done_s = sum(took) / 4
    burst_s = 2 * 1024**2 / (500 - 80)  # the credits of 2 TiB last so long, for 80 MiB come in each second
    rest = 2_500 * 1024 - burst_s * 500
    assert done_s == pytest.approx(burst_s + rest / 80, rel=0.01)


def test_on_st1_a_small_request_costs_as_much_as_a_large_one() -> None:
    model = build(load_device("aws-st1"))
    assert iops(model, anywhere(model, 5_000), depth=32) == pytest.approx(500, rel=0.02)


PAGE = 8192


def ends(model: DeviceModel, started_s: float) -> list[float]:
    for tag in range(8):
        model.submit(started_s, tag, Operation.READ, tag * 10**9, PAGE)
    done: list[float] = []
    while len(done) < 8:
        done += [done_s for _, done_s in model.advance(model.next_event_s())]
    return done


@pytest.mark.parametrize("device", ["sas-10k-raid10", "intel-s3700"])
def test_every_time_is_multiplied(device: str) -> None:
    spec = load_device(device)
    slowed = SlowedDevice(build(spec, seed=3))
    slowed.slow(0.0, 4.0)
    plain = ends(build(spec, seed=3), 0.0)
    assert ends(slowed, 0.0) == pytest.approx([4 * done_s for done_s in plain])


@pytest.mark.parametrize("factor", [1.1, 3.0, 7.7])
def test_an_event_that_was_reported_is_reached_whatever_rounding_says(factor: float) -> None:
    """Who goes from event to event, as the replay does, never stands still."""
    model = SlowedDevice(build(load_device("sas-10k-raid10"), seed=3))
    model.slow(17.3, factor)
    for tag in range(200):
        model.submit(17.3 + tag * 0.0007, tag, Operation.READ, tag * 10**8, PAGE)
    done, message = 0, 0
    while done < 200:
        event_s = model.next_event_s()
        done += len(model.advance(event_s))
        message += 1
        assert message < 10_000
        assert model.next_event_s() >= event_s


def test_a_change_leaves_what_is_under_way_its_progress() -> None:
    spec = load_device("sas-10k")
    plain, slowed = build(spec, seed=3), SlowedDevice(build(spec, seed=3))
    for model in (plain, slowed):
        model.submit(0.0, 1, Operation.READ, 10**9, PAGE)
    ((_, done_s),) = plain.advance(1.0)
    slowed.slow(done_s / 2, 10.0)  # half of it is done
    assert slowed.advance(done_s) == []
    assert [end_s for _, end_s in slowed.advance(20 * done_s)] == pytest.approx([done_s / 2 + 10 * done_s / 2])


def test_a_controllers_cache_shrinks_with_the_data() -> None:
    """What fits in the cache of the full-sized array overruns that of the array for a hundredth of the data."""
    spec = load_device("sas-10k-raid10")

    def quick_writes(stretch: float) -> int:
        model = build(spec, seed=3, stretch=stretch)
        for tag in range(4000):  # 31 MiB, scattered
            model.submit(0.0, tag, Operation.WRITE, tag * 10 * 2**20, PAGE)
        return len(model.advance(0.001))

    assert quick_writes(1.0) == 4000
    assert 0 < quick_writes(100.0) < 1000
