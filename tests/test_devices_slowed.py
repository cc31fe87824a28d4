"""A slowed device takes a factor longer for everything, and its clock never jumps."""

import pytest

from tierwise.devices.model import build
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.slowed_device import SlowedDevice
from tierwise.devices.spec import load_device

PAGE = 8192


def ends(model: DeviceModel, started_s: float) -> list[float]:
    """When eight scattered reads, submitted together, are done."""
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
