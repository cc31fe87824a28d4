"""The files of data/devices and data/tiers: those in the checkout are good, and a bad one is told as what it is."""

import json
import math
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.pairs import TODAY, EmulatedTier, load_pair
from tierwise.core.words import Substrate
from tierwise.devices.model import build
from tierwise.devices.parameter import ASSUMED, Parameter, sourced
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


NAMES = [
    "mtron-3025 sata-7k2-x6",  # M
    "intel-x25-e intel-x25-e-raid1 sas-10k sas-10k-raid10",  # L
    "intel-s3700 sas-10k-raid10",  # V
    "crucial-h crucial-h-raid5-x6 hdd-1tb-raid5-x7 hdd-1tb-raid0",  # H
    "st3000dm001 crucial-m4",  # R
    "exos-x24-24tb exos-x24-raid10-x4 exos-x24-raid10-x4-write-through",  # today
    "kingston-dc600m kingston-dc600m-raid10-x4 micron-7450 micron-9550 local-nvme",
    "aws-gp3 aws-io2 aws-st1 aws-local-ssd azure-premium-ssd-v2 azure-local-ssd gcp-hyperdisk-balanced gcp-local-ssd",
]


@pytest.mark.parametrize("names", NAMES)
def test_the_devices_of_each_source_and_of_today_are_there(names: str) -> None:
    assert set(names.split()) <= set(DEVICES)


FITTED = {"crucial-m4": ["max_read_iops"], "st3000dm001": ["settle"], "local-nvme": ["ordered_read_latency", "read_latency"]}
"""The first two on the logs of the Zipfian reads at 32 GiB, which its claims R1 and R3 sum up: no verdict is given on these. The last on
two figures that were given, on which no claim rests."""


@pytest.mark.parametrize("name", DEVICES)
def test_what_was_fitted_on_a_source_names_its_claim(name: str) -> None:
    table = tomllib.loads((paths.data() / "devices" / f"{name}.toml").read_text(encoding="utf-8"))
    fitted = {place: parameter["fitted_on"] for place, parameter in parameters(table) if "fitted_on" in parameter}
    assert sorted(fitted) == FITTED.get(name, [])
    assert all(re.match(r"[MLVHR][0-9]+: |given: ", claims) for claims in fitted.values())


def test_source_m_is_judged_on_two_emulated_tiers() -> None:
    pair = load_pair("source-m")
    assert pair.source == "M"
    assert set(pair.tiers) == {"hdd", "ssd"}
    assert pair.substrate is Substrate.EMULATED
    array = load_device("sata-7k2-x6")
    assert isinstance(array, ArraySpec)
    assert array.members.base == 6
    assert array.level.source == "assumed", "the source does not state the level"


@pytest.mark.parametrize("letter", "MLVHR")
def test_each_source_has_its_own_pair_of_emulated_tiers(letter: str) -> None:
    pair = load_pair(f"source-{letter.lower()}")
    assert pair.source == letter
    assert {"hdd", "ssd"} <= set(pair.tiers)
    assert pair.substrate is Substrate.EMULATED


def test_the_local_pair_judges_no_source() -> None:
    pair = load_pair("local")
    assert pair.source is None
    assert pair.substrate is Substrate.MIXED


@pytest.mark.parametrize("name", ["today-server", "today-aws", "today-azure", "today-gcp"])
def test_the_pairs_of_today_judge_no_source_and_are_measured_only_where_asked_for(name: str) -> None:
    pair = load_pair(name)
    assert pair.source == TODAY
    assert set(pair.tiers) == {"hdd", "ssd", "wal"}
    assert pair.substrate is Substrate.EMULATED


CHOSEN = {"capacity", "max_iops", "members", "level", "battery_backed", "write_back"}
"""What a buyer chooses, or says yes or no: nothing that a page could state within a band."""
SOLD = [name for name in DEVICES if name.startswith(("aws-", "azure-", "gcp-", "exos-", "kingston-", "local-nvme"))]


@pytest.mark.parametrize("name", SOLD)
def test_what_no_page_states_has_a_band_and_what_one_does_its_date(name: str) -> None:
    file = tomllib.loads((paths.data() / "devices" / f"{name}.toml").read_text(encoding="utf-8"))
    written = {place for place, _ in parameters(file)}
    for place, one in sourced(load_device(name)):
        if place not in written:  # a member's file has its own test; a default is what a drive without such a thing has
            continue
        if one.source != ASSUMED:
            assert one.date, f"{place} of {name} was read of no day"
        elif place.rpartition(".")[2] not in CHOSEN:
            assert isinstance(one, Parameter)
            assert one.low is not None, f"{place} of {name} is assumed without a band"


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
        ('kind = "hdd"', 'kind = "drum"', ["kind is 'drum'", "hdd, ssd, cloud, array"]),
        ("rotation =", "spin =", ["rotation", "Field required"]),
        ('description = "', 'colour = "red"\ndescription = "', ["colour is 'red'", "not permitted"]),
        ("{ value = 7200, unit", "{ value = -7200, unit", ["rotation", "above zero, not -7200 rpm"]),
        ('value = 7200, unit = "rpm"', 'value = 7200, unit = "ms"', ["rotation", "unit must be one of rpm, not 'ms'"]),
        ('value = 18, unit = "ms"', "value = 18", ["full_seek.unit", "Field required"]),
        ('value = 18, unit = "ms", source = "assumed"', 'value = 18, unit = "ms"', ["full_seek.source", "Field required"]),
        ('value = 18, unit = "ms", source = "assumed"', 'value = 18, unit = "ms", source = ""', ["full_seek.source is ''", "pattern"]),
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
        ('value = "raid5"', 'value = "raid7"', ["level.value is 'raid7'", "'raid0', 'raid1', 'raid5', 'raid6' or 'raid10'"]),
        ("members = { value = 6", "members = { value = 2", ["data/devices/mine.toml: members is", "raid5 needs at least 3 members, not 2"]),
        ('value = "raid5"', 'value = "raid1"', ["stripe is", "64", "raid1 has no stripe"]),
        ("stripe =", "# stripe =", ["stripe", "raid5 needs a stripe"]),
        ('value = 64, unit = "KiB"', 'value = 2, unit = "TB"', ["stripe is", "fit on a member"]),
        ('member = "sata-7k2"', 'member = "mine"', ["data/devices/mine.toml: member is 'mine'", "a drive or a volume, not an array"]),
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


def test_a_volume_that_bursts_below_its_baseline_is_told_too(devices: Path) -> None:
    good = (Path(__file__).parent.parent / "data" / "devices" / "aws-st1.toml").read_text(encoding="utf-8")
    (devices / "mine.toml").write_text(good.replace("value = 80,", "value = 800,"), encoding="utf-8")
    with pytest.raises(InputError, match=r"data/devices/mine\.toml: burst is .*its baseline must be below max_rate"):
        load_device("mine")


def test_a_volume_without_limits_is_told_too(devices: Path) -> None:
    good = (Path(__file__).parent.parent / "data" / "devices" / "aws-gp3.toml").read_text(encoding="utf-8")
    (devices / "mine.toml").write_text(good.partition("[limits]")[0], encoding="utf-8")
    with pytest.raises(InputError, match=r"data/devices/mine\.toml: limits: Field required"):
        load_device("mine")


@pytest.mark.parametrize("band", ["low = 1.5, high = 2", "low = 0.5", "low = 3, high = 2"])
def test_a_value_outside_its_band_is_told_too(devices: Path, band: str) -> None:
    good = (Path(__file__).parent.parent / "data" / "devices" / "aws-gp3.toml").read_text(encoding="utf-8")
    (devices / "mine.toml").write_text(good.replace("low = 0.5, high = 2", band), encoding="utf-8")
    with pytest.raises(InputError, match=r"data/devices/mine\.toml: read_latency is .*(in its band|go together)"):
        load_device("mine")


def toml(value: object) -> str:
    """`value` as inline TOML; strings are written alike in JSON."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(inner)}" for key, inner in value.items()) + " }"
    return json.dumps(value)


def parameters(table: dict[str, Any], place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and table of everything in `table` that has a source."""
    for key, inner in table.items():
        if isinstance(inner, dict):
            if "source" in inner:
                yield place + key, inner
            else:
                yield from parameters(inner, f"{place}{key}.")


Mutation = Callable[[dict[str, Any]], object]
MUTATIONS: dict[str, tuple[Mutation, str, str]] = {
    "no source": (lambda it: it.pop("source"), ".source", "Field required"),
    "an empty source": (lambda it: it.update(source=" "), ".source is ' '", "pattern"),
    "no value": (lambda it: it.pop("value"), ".value", "Field required"),
    "no unit": (lambda it: it.pop("unit"), ".unit", "Field required"),
    "a number as unit": (lambda it: it.update(unit=1), ".unit is 1", "string"),
    "an unknown unit": (lambda it: it.update(unit="furlong"), " is ", "its unit must be one of"),
    "an unknown field": (lambda it: it.update(colour="red"), ".colour is 'red'", "not permitted"),
    "a negative value": (lambda it: it.update(value=-3), " is ", ", not -3"),
    "a value without end": (lambda it: it.update(value=math.inf), ".value is inf", "finite"),
    "a text as value": (lambda it: it.update(value="many"), ".value is 'many'", "valid"),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize("name", DEVICES)
def test_each_parameter_of_each_device_is_checked(devices: Path, name: str, mutation: str) -> None:
    here = Path(__file__).parent.parent / "data" / "devices"
    shutil.copytree(here, devices, dirs_exist_ok=True)
    change, field, rule = MUTATIONS[mutation]
    text = (here / f"{name}.toml").read_text(encoding="utf-8")
    for place, good in parameters(tomllib.loads(text)):
        if mutation not in {"no source", "an empty source", "no value", "an unknown field"} and "unit" not in good:
            continue  # a flag, or a level
        table = tomllib.loads(text)
        change(dict(parameters(table))[place])
        mutated = "\n".join(f"{key} = {toml(value)}" for key, value in table.items())
        (devices / f"{name}.toml").write_text(mutated.replace("Infinity", "inf"), encoding="utf-8")
        with pytest.raises(InputError) as told:
            load_device(name)
        said = str(told.value)
        assert said.startswith(f"data/devices/{name}.toml: {place}{field}"), said
        assert rule in said


@pytest.mark.parametrize(
    ("tier", "said"),
    [
        ('kind = "emulated"\ndevice = "x"\nscale = 0', ["tiers.ssd.emulated.scale is 0", "greater than 0"]),
        ('kind = "cloud"', ["tiers.ssd", "'directory', 'emulated'"]),
        ('kind = "directory"', ["tiers.ssd.directory.directory", "Field required"]),
        ('kind = "emulated"', ["tiers.ssd.emulated.device", "Field required"]),
        ('kind = "emulated"\ndevice = 5', ["tiers.ssd.emulated.device is 5", "string"]),
        ('kind = "emulated"\ndevice = "x"\nscale = "big"', ["tiers.ssd.emulated.scale is 'big'", "number"]),
        ('kind = "emulated"\ndevice = "x"\n[tier.ssd]', ["tier is", "not permitted"]),
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
