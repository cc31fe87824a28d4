"""Every device of data/devices at work: nothing is lost, nothing comes before its time, and flash does what its data sheet says."""

import random

import pytest

from drives import Request, iops
from tierwise.core import paths
from tierwise.core.units import KIB, MIB, PAGE_BYTES
from tierwise.devices.model import build
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import SsdSpec, load_device

READ, WRITE, FLUSH = Operation
DEVICES = sorted(path.stem for path in (paths.data() / "devices").glob("*.toml"))


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
