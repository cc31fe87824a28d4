"""The files of data/devices and data/tiers: those in the checkout are good, and a bad one is told as what it is."""

from pathlib import Path

import pytest

from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.pairs import EmulatedTier, load_pair
from tierwise.core.words import Substrate
from tierwise.devices.model import build
from tierwise.devices.spec import ArraySpec, HddSpec, load_device

DEVICES = sorted(path.stem for path in (paths.data() / "devices").glob("*.toml"))
PAIRS = sorted(path.stem for path in (paths.data() / "tiers").glob("*.toml"))
GOOD = (paths.data() / "devices" / "sata-7k2.toml").read_text(encoding="utf-8")
GOOD_ARRAY = (paths.data() / "devices" / "sata-7k2-x6.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", DEVICES)
def test_every_device_can_be_built(name: str) -> None:
    assert build(load_device(name)).capacity_bytes > 0


@pytest.mark.parametrize("name", PAIRS)
def test_every_pair_names_devices_that_exist(name: str) -> None:
    for tier in load_pair(name).tiers.values():
        if isinstance(tier, EmulatedTier):
            load_device(tier.device)


def test_source_m_is_judged_on_two_emulated_tiers() -> None:
    pair = load_pair("source-m")
    assert pair.source == "M"
    assert set(pair.tiers) == {"hdd", "ssd"}
    assert pair.substrate is Substrate.EMULATED
    array = load_device("sata-7k2-x6")
    assert isinstance(array, ArraySpec)
    assert array.members.base == 6
    assert array.level.source == "assumed", "the source does not state the level"


def test_the_local_pair_judges_no_source() -> None:
    pair = load_pair("local")
    assert pair.source is None
    assert pair.substrate is Substrate.MIXED


def test_an_array_carries_its_member() -> None:
    array = load_device("sata-7k2-x6")
    assert isinstance(array, ArraySpec)
    assert isinstance(array.member, HddSpec)
    assert array.member == load_device("sata-7k2")


@pytest.fixture
def devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data/devices."""
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    folder = tmp_path / "data" / "devices"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('kind = "hdd"', 'kind = "drum"', ["kind is 'drum'", "hdd, ssd, array"]),
        ("rotation =", "spin =", ["rotation", "Field required"]),
        ('description = "', 'colour = "red"\ndescription = "', ["colour is 'red'", "not permitted"]),
        ("{ value = 7200, unit", "{ value = -7200, unit", ["rotation", "above zero, not -7200 rpm"]),
        ('value = 7200, unit = "rpm"', 'value = 7200, unit = "ms"', ["rotation", "unit must be one of rpm, not 'ms'"]),
        ('value = 18, unit = "ms"', "value = 18", ["full_seek.unit", "Field required"]),
        ('value = 18, unit = "ms", source = "assumed"', 'value = 18, unit = "ms"', ["full_seek.source", "Field required"]),
        ('value = 18, unit = "ms", source = "assumed"', 'value = 18, unit = "ms", source = ""', ["full_seek.source", "at least 1"]),
        ("{ value = 18,", "{ value = 8,", ["no seek curve", "full_seek"]),
        ("{ value = 18,", "{ value = nan,", ["full_seek.value is nan", "finite"]),
        ("{ value = 6,", "{ value = 2.5,", ["surfaces", "whole number, not 2.5"]),
        ("{ value = 50,", "{ value = 500,", ["inner_rate must not exceed outer_rate"]),
        ("capacity = {", "capacity = [", ["not valid TOML"]),
    ],
)
def test_a_bad_device_is_told_with_file_field_value_and_rule(devices: Path, old: str, new: str, said: list[str]) -> None:
    assert old in GOOD
    (devices / "mine.toml").write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as told:
        load_device("mine")
    for part in ("data/devices/mine.toml", *said):
        assert part in str(told.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('member = "sata-7k2"', 'member = "tape"', ["data/devices/tape.toml", "no such file", "sata-7k2"]),
        ('value = "raid5"', 'value = "raid7"', ["level.value is 'raid7'", "'raid0', 'raid5' or 'raid10'"]),
        ("members = { value = 6", "members = { value = 2", ["raid5 needs at least three members, not 2"]),
        (
            "battery_backed = { value = true",
            'battery_backed = { value = "often"',
            ["battery_backed.value is 'often'", "boolean"],
        ),
    ],
)
def test_a_bad_array_is_told_too(devices: Path, old: str, new: str, said: list[str]) -> None:
    assert old in GOOD_ARRAY
    (devices / "sata-7k2.toml").write_text(GOOD, encoding="utf-8")
    (devices / "mine.toml").write_text(GOOD_ARRAY.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as told:
        load_device("mine")
    for part in said:
        assert part in str(told.value)


@pytest.mark.parametrize(
    ("tier", "said"),
    [
        ('kind = "emulated"\ndevice = "x"\nscale = 0', ["tiers.ssd.emulated.scale is 0", "greater than 0"]),
        ('kind = "cloud"', ["tiers.ssd", "'directory', 'emulated'"]),
        ('kind = "directory"', ["tiers.ssd.directory.directory", "Field required"]),
        ('kind = "directory"\ndirectory = "x"\ndevice = "y"', ["tiers.ssd.directory.device is 'y'", "not permitted"]),
    ],
)
def test_a_bad_pair_is_told_with_file_field_value_and_rule(devices: Path, tier: str, said: list[str]) -> None:
    folder = devices.parent / "tiers"
    folder.mkdir()
    (folder / "mine.toml").write_text(f'name = "mine"\ndescription = ""\n[tiers.ssd]\n{tier}\n', encoding="utf-8")
    with pytest.raises(InputError) as told:
        load_pair("mine")
    for part in ("data/tiers/mine.toml", *said):
        assert part in str(told.value)
