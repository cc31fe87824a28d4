"""The event loop against closed forms, against the device models, and against the replay of the same pages."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from tierwise.core.errors import InputError
from tierwise.devices.model import build
from tierwise.devices.parameter import Parameter
from tierwise.devices.spec import SsdSpec
from tierwise.simulate.closed_loop import Series, run_threads
from tierwise.simulate.machine import Costs
from tierwise.simulate.page_cache import PageCache, replay
from tierwise.simulate.zipfian import zipfian_pages

Pages = NDArray[np.int64]
HIT_S = 1e-6


def _p(value: float, unit: str) -> Parameter:
    return Parameter(value=value, unit=unit, source="assumed")


def flash(*, channels: int = 4, max_read_iops: float | None = None, read_rate_mb: float = 4.096e6) -> SsdSpec:
    """100 us to find a page; unless said otherwise a page goes over the link in a nanosecond."""
    return SsdSpec(
        kind="ssd",
        name="flash",
        description="",
        capacity=_p(100, "GB"),
        channels=_p(channels, "1"),
        read_latency=_p(100, "us"),
        write_latency=_p(100, "us"),
        flush_latency=_p(0, "us"),
        read_rate=_p(read_rate_mb, "MB/s"),
        write_rate=_p(100, "MB/s"),
        max_read_iops=None if max_read_iops is None else _p(max_read_iops, "IOPS"),
    )


def uniform(pages: int, seed: int = 1) -> Iterator[Pages]:
    chance = np.random.default_rng(seed)
    while True:
        yield chance.integers(0, pages, 5000)


def equal(one: Series, other: Series) -> bool:
    return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in ("operations", "misses", "device_reads"))


@pytest.mark.parametrize("threads", [1, 2, 4, 8, 32])
def test_without_a_cache_throughput_is_the_bound_of_the_closed_network(threads: int) -> None:
    """N threads that need Z outside the device and D in it, c at a time: min(N / (Z + D), c / D), and with fixed times no less."""
    costs = Costs(hit_s=HIT_S, fault_s=20e-6, think_s=80e-6)
    rates = run_threads(
        uniform(10**6), PageCache(10**6, 0), flash(channels=4), threads=threads, duration_s=2.0, costs=costs, interval_s=1.0
    ).rates(from_s=1.0)
    assert rates.reads_per_s == pytest.approx(min(threads / 200e-6, 4 / 100e-6), rel=0.002)
    assert rates.miss_ratio == 1
    assert rates.device_iops == pytest.approx(rates.reads_per_s, rel=0.002)


def test_the_controller_and_the_link_are_bounds_too() -> None:
    def reads_per_s(device: SsdSpec) -> float:
        pages = uniform(10**6)
        run = run_threads(pages, PageCache(10**6, 0), device, threads=32, duration_s=2.0, costs=Costs(HIT_S), interval_s=1.0)
        return run.rates(from_s=1.0).reads_per_s

    assert reads_per_s(flash(channels=64, max_read_iops=34_000)) == pytest.approx(34_000, rel=0.001)
    assert reads_per_s(flash(channels=64, read_rate_mb=81.92)) == pytest.approx(20_000, rel=0.001)


def test_what_always_hits_runs_at_the_speed_of_the_processor() -> None:
    costs = Costs(hit_s=2e-6, think_s=8e-6)
    run = run_threads(uniform(100), PageCache(100, 100), flash(), threads=3, duration_s=2.0, costs=costs, interval_s=1.0)
    assert run.rates(from_s=1.0).reads_per_s == pytest.approx(3 / 10e-6, rel=1e-4)
    assert run.device_reads.sum() == 100
    assert run.misses[1] == run.device_reads[1] == 0


@pytest.mark.parametrize(
    "device", [flash(), flash(channels=1), flash(channels=32, max_read_iops=20_000), flash(channels=32, read_rate_mb=81.92)]
)
@pytest.mark.parametrize("read_around", [1, 8])
def test_flash_in_compiled_code_is_the_model_to_the_last_operation(device: SsdSpec, read_around: int) -> None:
    def run(served: bool) -> Series:
        cache = PageCache(2000, 500, read_around=read_around)
        costs = Costs(hit_s=2e-6, fault_s=7e-6, think_s=1.3e-6)
        target = device if served else build(device)
        return run_threads(zipfian_pages(2000, seed=3), cache, target, threads=8, duration_s=0.5, costs=costs, interval_s=0.1)

    assert equal(run(served=True), run(served=False))


@pytest.mark.parametrize("policy", ["lru", "clock", "two-list", "mapped"])
def test_one_thread_misses_as_the_replay_of_its_pages(policy: str) -> None:
    chunks = [chunk for chunk, _ in zip(zipfian_pages(5000, seed=2), range(2), strict=False)]
    run = run_threads(iter(chunks), PageCache(5000, 700, policy), flash(), threads=1, duration_s=60.0, costs=Costs(HIT_S), interval_s=60.0)
    result = replay(np.concatenate(chunks), 700, policy)
    assert (run.operations.sum(), run.misses.sum(), run.device_reads.sum()) == (result.requests, result.misses, result.misses)


def test_who_asks_for_a_page_on_its_way_waits_for_it_and_reads_nothing() -> None:
    for device in (flash(), build(flash())):
        same_page = iter([np.zeros(2, np.int64)])
        run = run_threads(same_page, PageCache(1, 1), device, threads=2, duration_s=1.0, costs=Costs(HIT_S), interval_s=1.0)
        assert (run.operations[0], run.misses[0], run.device_reads[0]) == (2, 2, 1)


def test_a_part_of_the_time_without_operations_has_no_miss_ratio() -> None:
    run = run_threads(iter([]), PageCache(1, 1), flash(), threads=1, duration_s=10.0, costs=Costs(HIT_S))
    assert run.rates().reads_per_s == 0
    assert math.isnan(run.rates().miss_ratio)


def test_a_page_beyond_the_file_is_refused() -> None:
    with pytest.raises(InputError, match=r"page is .*: must be from 0 to 9"):
        run_threads(uniform(100), PageCache(10, 10), flash(), threads=1, duration_s=10.0, costs=Costs(HIT_S))
