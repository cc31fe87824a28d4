"""The files of data/devices and data/tiers: each is good and at work keeps its data sheet; a bad one is refused as what it is."""

import random
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from drives import Request, drive, iops
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.pairs import EmulatedTier, load_pair
from tierwise.core.units import KIB, MIB, PAGE_BYTES
from tierwise.core.vocabulary import Evidence
from tierwise.devices.model import build
from tierwise.devices.parameter import ASSUMED, Parameter, sourced
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import ArraySpec, SsdSpec, load_device

DEVICES = sorted(path.stem for path in (paths.data() / "devices").glob("*.toml"))
PAIRS = sorted(path.stem for path in (paths.data() / "tiers").glob("*.toml"))
GOOD = (paths.data() / "devices" / "sata-7k2.toml").read_text(encoding="utf-8")
GOOD_ARRAY = (paths.data() / "devices" / "sata-7k2-x6.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAIRS)
def test_every_pair_names_devices_that_exist(name: str) -> None:
    for tier in load_pair(name).tiers.values():
        if isinstance(tier, EmulatedTier):
            load_device(tier.device)


FITTED = {"crucial-m4": ["max_read_iops"], "st3000dm001": ["settle"], "local-nvme": ["ordered_read_latency", "read_latency"]}
"""The first two on the logs of the Zipfian reads at 32 GiB, which its claims R1 and R3 sum up: no verdict is given on these. The last on
two figures that were given, on which no claim rests."""


def test_the_pgbench_studys_log_lies_behind_the_cache_of_the_disks_controller() -> None:
    """A commit there takes as long as on the disks while their cache has space, and longer than on the bare drive."""
    names = {name: tier.device for name, tier in load_pair("source-v").tiers.items() if isinstance(tier, EmulatedTier)}
    log, disks = load_device(names["wal"]), load_device(names["hdd"])
    assert isinstance(log, ArraySpec)
    assert isinstance(disks, ArraySpec)
    assert log.write_cache == disks.write_cache
    commit = [(Operation.WRITE, 0, 8192), (Operation.FLUSH, 0, 0)]
    took_s = {name: sum(drive(build(load_device(device)), iter(commit))) for name, device in names.items()}
    assert took_s["wal"] == took_s["hdd"] == pytest.approx(2e-4)
    assert took_s["wal"] > took_s["ssd"]


@pytest.mark.parametrize("name", DEVICES)
def test_what_was_fitted_on_a_source_names_its_claim(name: str) -> None:
    table = tomllib.loads((paths.data() / "devices" / f"{name}.toml").read_text(encoding="utf-8"))
    fitted = {place: parameter["fitted_on"] for place, parameter in parameters(table) if "fitted_on" in parameter}
    assert sorted(fitted) == FITTED.get(name, [])
    assert all(re.match(r"[MLVHR][0-9]+: |given: ", claims) for claims in fitted.values())


@pytest.mark.parametrize("letter", "MLVHR")
def test_each_source_has_its_own_pair_of_emulated_tiers(letter: str) -> None:
    pair = load_pair(f"source-{letter.lower()}")
    assert pair.source == letter
    assert {"hdd", "ssd"} <= set(pair.tiers)
    assert pair.evidence is Evidence.EMULATED


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


@pytest.fixture
def devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    folder = tmp_path / "data" / "devices"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('kind = "hdd"', 'kind = "drum"', ["kind is 'drum'", "hdd, ssd, cloud, array"]),
        ('description = "', 'colour = "red"\ndescription = "', ["colour is 'red'", "no such key"]),
        ("{ value = 7200, unit", "{ value = -7200, unit", ["rotation", "above zero, not -7200 rpm"]),
        ('value = 7200, unit = "rpm"', 'value = 7200, unit = "ms"', ["rotation", "unit must be one of rpm, not 'ms'"]),
        ('value = 18, unit = "ms"', "value = 18", ["full_seek.unit", "Field required"]),
        ('value = 18, unit = "ms", source = "assumed"', 'value = 18, unit = "ms"', ["full_seek.source", "Field required"]),
        ("{ value = 18,", "{ value = 8,", ["no seek curve", "full_seek"]),
        ("{ value = 50,", "{ value = 500,", ["inner_rate must not exceed outer_rate"]),
        ("capacity = {", "capacity = [", ["not valid TOML"]),
    ],
)
def test_a_bad_device_is_refused_with_file_field_value_and_rule(devices: Path, old: str, new: str, said: list[str]) -> None:
    assert old in GOOD
    (devices / "mine.toml").write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_device("mine")
    for part in ("data/devices/mine.toml", *said):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('member = "sata-7k2"', 'member = "tape"', ["data/devices/tape.toml", "no such file", "sata-7k2"]),
        ('value = "raid5"', 'value = "raid7"', ["level.value is 'raid7'", "'raid0', 'raid1', 'raid5', 'raid6' or 'raid10'"]),
        ("members = { value = 6", "members = { value = 2", ["data/devices/mine.toml: members is", "raid5 needs at least 3 members, not 2"]),
        ('value = "raid5"', 'value = "raid1"', ["stripe is", "64", "raid1 has no stripe"]),
        ('value = 64, unit = "KiB"', 'value = 2, unit = "TB"', ["stripe is", "fit on a member"]),
        ('member = "sata-7k2"', 'member = "mine"', ["data/devices/mine.toml: member is 'mine'", "a drive or a volume, not an array"]),
    ],
)
def test_a_bad_array_is_refused_too(devices: Path, old: str, new: str, said: list[str]) -> None:
    assert old in GOOD_ARRAY
    (devices / "sata-7k2.toml").write_text(GOOD, encoding="utf-8")
    (devices / "mine.toml").write_text(GOOD_ARRAY.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_device("mine")
    for part in said:
        assert part in str(caught.value)


@pytest.mark.parametrize("band", ["low = 1.5, high = 2", "low = 0.5", "low = 3, high = 2"])
def test_a_value_outside_its_band_is_refused_too(devices: Path, band: str) -> None:
    good = (Path(__file__).parent.parent / "data" / "devices" / "aws-gp3.toml").read_text(encoding="utf-8")
    (devices / "mine.toml").write_text(good.replace("low = 0.5, high = 2", band), encoding="utf-8")
    with pytest.raises(InputError, match=r"data/devices/mine\.toml: read_latency is .*(in its band|go together)"):
        load_device("mine")


def parameters(table: dict[str, Any], place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for key, inner in table.items():
        if isinstance(inner, dict):
            if "source" in inner:
                yield place + key, inner
            else:
                yield from parameters(inner, f"{place}{key}.")


@pytest.mark.parametrize(
    ("tier", "said"),
    [
        ('kind = "emulated"\ndevice = "x"\nscale = 0', ["tiers.ssd.emulated.scale is 0", "greater than 0"]),
        ('kind = "cloud"', ["tiers.ssd", "'directory', 'emulated'"]),
        ('kind = "directory"\ndirectory = "x"\ndevice = "y"', ["tiers.ssd.directory.device is 'y'", "no such key"]),
    ],
)
def test_a_bad_pair_is_refused_with_file_field_value_and_rule(devices: Path, tier: str, said: list[str]) -> None:
    folder = devices.parent / "tiers"
    folder.mkdir()
    (folder / "mine.toml").write_text(f'name = "mine"\ndescription = ""\n[tiers.ssd]\n{tier}\n', encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_pair("mine")
    for part in ("data/tiers/mine.toml", *said):
        assert part in str(caught.value)


READ, WRITE, FLUSH = Operation


def arrivals(model: DeviceModel, count: int, *, mean_s: float) -> list[tuple[float, Request]]:
    """Return requests of all kinds and sizes at random times, in places that are often the same and often follow each other."""
    chance, now_s, end, requests = random.Random(11), 0.0, 0, []
    for _ in range(count):
        now_s += chance.expovariate(1 / mean_s) if chance.random() < 0.7 else 0.0
        operation = chance.choice([READ, READ, READ, WRITE, WRITE, FLUSH])
        size = 0 if operation is FLUSH else chance.choice([512, PAGE_BYTES, PAGE_BYTES, 100 * KIB, MIB])
        place = chance.choice([end, chance.randrange(64) * 60 * KIB, chance.randrange(model.capacity_bytes)])
        end = min(place, model.capacity_bytes - size) + size
        requests.append((now_s, (operation, end - size, size)))
    return requests


def completions(model: DeviceModel, requests: list[tuple[float, Request]]) -> list[tuple[int, float]]:
    """Return what is completed when; the driver asks for events now and then only, as a busy one does."""
    done, chance = [], random.Random(12)
    for tag, (now_s, request) in enumerate(requests):
        if chance.random() < 0.5:
            done += model.advance(now_s)
        model.submit(now_s, tag, *request)
    while (event_s := model.next_event_s()) < float("inf"):
        done += model.advance(event_s)
    return done


@pytest.mark.parametrize("mean_s", [50e-6, 20e-3])
@pytest.mark.parametrize("name", DEVICES)
def test_each_request_completes_once_and_not_before_it_came_and_each_time_alike(name: str, mean_s: float) -> None:
    model = build(load_device(name), seed=3)
    requests = arrivals(model, 600, mean_s=mean_s)
    done = completions(model, requests)
    assert sorted(tag for tag, _ in done) == list(range(600))
    assert all(done_s >= requests[tag][0] for tag, done_s in done)
    assert completions(build(load_device(name), seed=3), requests) == done
    model.reset()
    assert completions(model, requests) == done


@pytest.mark.parametrize("name", [name for name in DEVICES if isinstance(load_device(name), SsdSpec)])
def test_a_flash_drive_does_what_its_data_sheet_says(name: str) -> None:
    """A deep queue gives the requests a second of 4 KiB, and of 1 MiB in order the bytes; writes are as its write cache sends them down."""
    spec = load_device(name)
    assert isinstance(spec, SsdSpec)
    model, chance = build(spec.model_copy(update={"write_cache": None})), random.Random(2)
    writes_at_once = max(1, int(spec.channels.base) // 2)

    def rate(operation: Operation, size: int, *, depth: int, ordered: bool = False) -> float:
        model.reset()
        places = (number if ordered else chance.randrange(model.capacity_bytes // size) for number in range(6_000))
        return iops(model, ((operation, place * size, size) for place in places), depth=depth)

    assert MIB * rate(READ, MIB, depth=64, ordered=True) == pytest.approx(spec.read_rate.base, rel=0.05)
    assert MIB * rate(WRITE, MIB, depth=writes_at_once, ordered=True) == pytest.approx(spec.write_rate.base, rel=0.05)
    if spec.max_read_iops:
        assert rate(READ, 4 * KIB, depth=512) == pytest.approx(spec.max_read_iops.base, rel=0.1)
    if spec.random_write_iops:
        assert rate(WRITE, 4 * KIB, depth=writes_at_once) == pytest.approx(spec.random_write_iops.base, rel=0.05)
