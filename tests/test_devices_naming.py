"""What a device may be called, wherever one is named."""

import json

import pytest
from typer.testing import CliRunner

from kept_smoke import RAW
from tierwise.cli import app
from tierwise.core.errors import InputError
from tierwise.core.pairs import EmulatedTier, load_pair
from tierwise.core.units import GIB, MIB
from tierwise.costs.hardware import capacity_bytes, medium, members, rented
from tierwise.devices.spec import load_device
from tierwise.devices.volume import CloudSpec, enough, fewest


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
    "move-plan": "--hdd st1 --ssd gp3:500GiB,6000IOPS --size-gib 10 --before-s 100 --after-s 10",
    "predict-scan": "--device gp3 --pages 1000 --rows 20000 --selectivity 0.01 --correlation 0.9 --method bitmap --cache cold",
    "simulate zipf": "--device gp3 --dataset-gib 2 --cache-gib 1 --scale 512",
}


@pytest.mark.parametrize("command", CALLS)
def test_a_short_name_is_known_to_the_command(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_RAW", str(RAW))
    done = CliRunner().invoke(app, [*command.split(), *CALLS[command].split(), "--format", "json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)


def test_a_short_name_stands_in_a_pair() -> None:
    pair = load_pair("today-aws")
    short = EmulatedTier(kind="emulated", device="gp3@m7i.4xlarge")
    long = pair.tiers["hdd"]
    assert isinstance(long, EmulatedTier)
    assert load_device(short.device) == load_device(long.device)
