"""Devices by hand: disks, cloud volumes, what slows a device, what every model has in common, and what a device may be called."""

import json
import random
import statistics

import pytest
from typer.testing import CliRunner

from drives import DISK, FLASH, TURN_S, anywhere, array_of, cache, drive, in_order, iops, p
from support import SMOKE_RAW
from tierwise.cli import app
from tierwise.core.errors import InputError
from tierwise.core.pairs import EmulatedTier, load_pair
from tierwise.core.units import GB, GIB, KIB, MIB, PAGE_BYTES
from tierwise.costs.hardware import capacity_bytes, medium, members, rented
from tierwise.devices.model import build
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.slowed_device import SlowedDevice
from tierwise.devices.spec import ArraySpec, HddSpec, SsdSpec, load_device
from tierwise.devices.volume import CloudSpec, enough, fewest

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


def ends(model: DeviceModel, started_s: float) -> list[float]:
    for tag in range(8):
        model.submit(started_s, tag, READ, tag * 10**9, PAGE_BYTES)
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
        model.submit(17.3 + tag * 0.0007, tag, READ, tag * 10**8, PAGE_BYTES)
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
        model.submit(0.0, 1, READ, 10**9, PAGE_BYTES)
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
            model.submit(0.0, tag, WRITE, tag * 10 * 2**20, PAGE_BYTES)
        return len(model.advance(0.001))

    assert quick_writes(1.0) == 4000
    assert 0 < quick_writes(100.0) < 1000


def volume(name: str) -> CloudSpec:
    spec = load_device(name)
    assert isinstance(spec, CloudSpec)
    return spec


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("gp3", "aws-gp3"),
        ("io2", "aws-io2"),
        ("premium-ssd-v2", "azure-premium-ssd-v2"),
        ("hyperdisk-balanced", "gcp-hyperdisk-balanced"),
        ("7450", "micron-7450"),
    ],
)
def test_what_follows_the_maker_is_a_short_name(short: str, long: str) -> None:
    assert load_device(short) == load_device(long)
    assert members(short) == members(long)
    assert rented(short) == rented(long)
    assert medium(short) == medium(long)
    assert capacity_bytes(short) == capacity_bytes(long)


def test_a_short_name_of_several_devices_is_refused_with_their_names() -> None:
    with pytest.raises(
        InputError, match=r"device is 'local-ssd': is the short name of several devices. Remedy: one of aws-local-ssd, azure-local-ssd"
    ):
        load_device("local-ssd")


def test_size_speed_and_machine_stand_in_the_name() -> None:
    requested = volume("gp3:500GiB,6000IOPS,250MiB/s@m7i.large")
    assert (requested.capacity.base, requested.sold_iops, requested.sold_rate) == pytest.approx((500 * GIB, 6000, 250 * MIB))
    assert (requested.iops, requested.rate) == pytest.approx((3600, 81.25e6))
    assert volume("gp3:10gib") == volume("aws-gp3:10GiB"), "units are read in any case"
    assert volume("io2:4GiB").iops == 4000, "no more of what the file provisions than the size carries"


def test_a_volume_on_disks_grows_faster_with_its_size_and_bursts_no_more_when_large() -> None:
    small, large = volume("st1:1TiB"), volume("st1:16TiB")
    assert (small.rate, small.sustained_rate) == pytest.approx((250 * MIB, 40 * MIB))
    assert (large.rate, large.sustained_rate, large.burst) == (500 * MIB, 500 * MIB, None)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gp3:100TiB", "102,400 GiB is not sold: 1 to 65,536 GiB (size of a volume)"),
        ("gp3:10GiB,11000IOPS", "11,000 IOPS is not sold: 3,000 to 5,000 IOPS (IOPS per GiB)"),
        ("gp3:1TiB,90000IOPS", "90,000 IOPS is not sold: 3,000 to 80,000 IOPS (IOPS per volume)"),
        ("gp3:1TiB,3000IOPS,800MiB/s", "800 MiB/s is not sold: 125 to 750 MiB/s (throughput per IOPS)"),
        ("gp3:1TiB,1000IOPS", "1,000 IOPS is not sold: 3,000 to 80,000 IOPS"),
        ("st1:2TiB,400IOPS", "the rate and frequency of AWS EBS st1, 2 TiB is not provisioned: it comes with its size"),
        ("io2:1TiB,100MiB/s", "the rate of AWS EBS io2 Block Express, 1 TiB is not provisioned: it comes with its IOPS"),
        ("gp3:many", "'many' must be a number and one of"),
        ("gp3:5ms", "'5ms' must be a number and one of"),
        ("gp3@m7i.tiny", "instance is 'm7i.tiny': no such machine of aws. Remedy: did you mean m7i."),
        ("micron-7450:1TiB", "micron-7450 is no volume"),
        ("floppy", "data/devices/floppy.toml: no such file. Remedy: name one of: "),
    ],
)
def test_what_nobody_sells_is_refused(name: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_device(name)
    assert message in str(caught.value)


def test_enough_is_the_smallest_that_is_sold() -> None:
    gp3, io2, st1 = volume("gp3"), volume("io2"), volume("st1")
    small = enough(gp3, 4 * GIB, 20_000, 0, 8192)
    assert small is not None
    assert (small.capacity.base, small.iops) == (40 * GIB, 20_000)
    fast = enough(io2, 100 * GIB, 100, 2000 * MIB, 8192)
    assert fast is not None
    assert fast.iops == pytest.approx(2000 / 0.256)
    assert enough(gp3, 4 * GIB, 90_000, 0, 8192) is None
    count, each = fewest(gp3, 4 * GIB, 90_000, 0, 8192)
    assert (count, each.iops) == (2, 45_000)
    slow = enough(st1, 100 * GIB, 100, 0, 8192)
    assert slow is not None
    assert slow.sustained_rate == pytest.approx(100 * MIB), "each small read costs a whole one"
    large = enough(gp3, 4 * GIB, 3000, 0, 512 * 1024)
    assert large is not None
    assert large.iops == pytest.approx(6000), "512 KiB count as two requests"


CALLS = {  # command -> what it is called with; ``emulate`` mounts, and has its own test
    "advise": "--hdd st1 --ssd gp3 --ssd-gib 4",
    "cost": "--device gp3",
    "move-plan": "--hdd st1 --ssd gp3:500GiB,6000IOPS --before-s 100 --after-s 10",
    "predict-scan": "--device gp3 --pages 1000 --rows 20000 --selectivity 0.01 --correlation 0.9 --method bitmap --cache cold",
    "simulate zipf": "--device gp3 --dataset-gib 2 --cache-gib 1 --scale 512",
}


@pytest.mark.parametrize("command", CALLS)
def test_a_short_name_is_known_to_the_command(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_RAW", str(SMOKE_RAW))
    done = CliRunner().invoke(app, [*command.split(), *CALLS[command].split(), "--format", "json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)


def test_a_short_name_stands_in_a_pair() -> None:
    pair = load_pair("today-aws")
    short = EmulatedTier(kind="emulated", device="gp3@m7i.4xlarge")
    long = pair.tiers["hdd"]
    assert isinstance(long, EmulatedTier)
    assert load_device(short.device) == load_device(long.device)
