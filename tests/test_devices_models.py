"""Disks against what can be worked out by hand, and what every device model has in common."""

import random
import statistics

import pytest

from drives import DISK, FLASH, TURN_S, anywhere, array_of, cache, drive, in_order, p
from tierwise.core.units import GB, KIB, MIB, PAGE_BYTES
from tierwise.devices.model import build
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import ArraySpec, HddSpec, SsdSpec

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
