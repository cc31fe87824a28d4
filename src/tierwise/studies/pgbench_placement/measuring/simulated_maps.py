"""Which placement of a table and its index wins, simulated over memory, skew, layout and write share, and over memory and clients."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

from pydantic import Field

from tierwise.bench.replaying import Modelled, models
from tierwise.bench.study import replicate_seed
from tierwise.core.progress import Progress
from tierwise.core.tasks import in_tasks
from tierwise.core.toml import Strict
from tierwise.core.units import KIB, MIB, PAGE_BYTES
from tierwise.core.vocabulary import Evidence, Layout
from tierwise.devices.cache_policy import L2ARC, CachePolicy
from tierwise.simulate.placements import BY_TYPE, Case, Warming, rate_by_heat, rate_cached, rate_hot, recorded_case
from tierwise.simulate.replay import DeviceModel
from tierwise.simulate.transactions import Rows, rate
from tierwise.timings.replicates import REPLICATES

HOST_S: Final = 0.0005  # a simulated transaction's time outside the storage (assumed)
COMPARED: Final = ("all_hdd", "index_ssd")
PARTITIONS: Final = 16  # partitions of the simulated table where it is placed by heat
TIERS: Final = {"hdd", "ssd", "wal"}
CACHES: Final = {"dm_cache": CachePolicy(256 * KIB, uses=2, copies=True), "l2arc": replace(L2ARC, fill_rate=8 * MIB)}
"""A count of reads in place of dm-cache's policy, and L2ARC with the l2arc_write_max of 8 MiB that it had until 2023."""


class Axes(Strict):
    seeds: int = Field(ge=1)
    transactions: int = Field(ge=100)
    slowdown: float = Field(default=1.0, gt=0, description="as in the windows that points are held against, or claims are judged on")


class FlipMap(Axes):
    memories: tuple[float, ...] = Field(description="memory over the source's")
    skews: tuple[float, ...]
    layouts: tuple[Layout, ...] = Field(default=(Layout.STREWN,), description="of the popular rows, where keys are skewed")
    writes: tuple[float, ...]
    caches: bool = Field(default=False, description="whether the SSD is tried as a cache before the disks as well")

    @property
    def points(self) -> list[tuple[float, float, Layout, float]]:
        """Return (memory, skew, layout, writes) of each point; without skew there is but one layout."""
        loads = [(skew, layout) for skew in self.skews for layout in (self.layouts if skew else (Layout.STREWN,))]
        return [(memory, skew, layout, writes) for memory, (skew, layout), writes in product(self.memories, loads, self.writes)]


class OpenAxes(Axes):
    memories: tuple[float, ...] = Field(description="memory over the source's")
    clients: tuple[int, ...]

    @property
    def points(self) -> list[tuple[float, int]]:
        return list(product(self.memories, self.clients))


@dataclass(frozen=True)
class Point:
    """A point of a map: where it is, the load there, and what is compared; `stretch`: of seeks, if it is not the testbed's."""

    coordinates: Mapping[str, Any]
    rows: Rows
    case: Case
    clients: int
    warming: Warming
    placements: Iterable[str] = tuple(BY_TYPE)
    stretch: float | None = None


def flip_map(
    testbed: Modelled, axes: FlipMap, rows: Rows, *, memory_bytes: float, clients: int, warming: Callable[[float], Warming]
) -> list[dict[str, Any]]:
    """Return transactions a second of each placement at each point, by seed; empty on a pair with a real disk or without tier for the log.

    `memory_bytes`: what the axis calls 1. `warming`: what comes before, by skew. Beside the placements by type, an SSD of the index's
    size can hold the hottest of index and partitions (``heat``), or the first partition where popular rows lie in it (``hot_ssd``), or
    be a cache (`CACHES`).
    """
    points = []
    for memory, skew, layout, writes in axes.points:
        case = Case(rows.index_pages * PAGE_BYTES / (memory * memory_bytes), skew, writes, layout)
        coordinates = {"index_to_memory": case.index_to_memory, "skew": skew, "layout": str(layout), "writes": writes}
        points.append(Point({"memory": memory, **coordinates}, rows, case, clients, warming(skew)))
    return simulated_points(testbed, axes, points, "simulating placements")


def open_map(testbed: Modelled, axes: OpenAxes, rows: Rows, *, memory_bytes: float, warming: Warming) -> list[dict[str, Any]]:
    """Return transactions a second of everything on hdd and of indexes on ssd at each point, by seed; empty where `flip_map` is."""
    points = []
    for memory, clients in axes.points:
        case = Case(rows.index_pages * PAGE_BYTES / (memory * memory_bytes), skew=0.0, writes=1.0)
        points.append(Point({"memory": memory, "clients": clients}, rows, case, clients, warming, COMPARED))
    return simulated_points(testbed, axes, points, "simulating what the source leaves open")


def simulated_points(testbed: Modelled, axes: Axes, points: Sequence[Point], what: str) -> list[dict[str, Any]]:
    """Return each of `points` with its transactions a second by placement and seed; none where `flip_map` has none."""
    if not models(testbed, seed=testbed.seed).keys() >= TIERS:
        return []
    found, progress = [], Progress(what, len(points))
    kind = {"slowdown": axes.slowdown, "evidence": str(Evidence.SIMULATED)}
    seeds = [replicate_seed(testbed.seed, number) for number in range(axes.seeds)]
    tasks = in_tasks(rates_at, [(testbed, axes, point, seed) for point in points for seed in seeds])
    for point in points:
        by_seed = [next(tasks) for _ in seeds]
        tps = {name: [one[name] for one in by_seed] for name in by_seed[0]}
        found.append({**point.coordinates, **kind, REPLICATES: list(range(axes.seeds)), "tps": tps})
        progress.step()
    return found


def rates_at(testbed: Modelled, axes: Axes, point: Point, seed: int) -> dict[str, float]:
    """Return transactions a second by placement; on a `FlipMap` also of an SSD that is used otherwise."""

    def devices(seed: int) -> dict[str, DeviceModel]:
        return models(testbed, seed=seed, slowdown=axes.slowdown, stretch=point.stretch)

    rows, case, warming = point.rows, point.case, point.warming
    load = recorded_case(rows, case, clients=point.clients, host_s=HOST_S, transactions=axes.transactions, warming=warming, seed=seed)
    rates = {name: rate(load, BY_TYPE[name], devices(seed)) for name in point.placements}
    if not isinstance(axes, FlipMap):
        return rates
    budget_bytes = rows.index_pages * PAGE_BYTES
    if case.skew:
        rates["heat"] = rate_by_heat(load, devices, seed, budget_bytes=budget_bytes, parts=PARTITIONS)
    if case.layout is Layout.RECENT:
        rates["hot_ssd"] = rate_hot(load, devices, seed, parts=PARTITIONS)
    if axes.caches:
        rates |= {name: rate_cached(load, devices, seed, policy, budget_bytes=budget_bytes) for name, policy in CACHES.items()}
    return rates


PLACEMENTS: Final = ("all_hdd", "index_ssd", "table_ssd")


class Scales(Axes):
    scales: tuple[int, ...] = Field(min_length=3, description="pgbench's")


def by_scale(
    testbed: Modelled, axes: Scales, rows: Rows, *, scale: int, memory_bytes: float, published: int, clients: int, warming: Warming
) -> list[dict[str, Any]]:
    """Return transactions a second of each placement at each scale, by seed; empty on a pair with a real disk or without tier for the log.

    `rows` and `memory_bytes` are those of `scale`; seeks are stretched from each scale to that of the `published` data.
    """
    points = []
    for one in axes.scales:
        sized = Rows(rows.rows * one // scale, rows.index_pages * one // scale)
        case = Case(sized.index_pages * PAGE_BYTES / (memory_bytes * one / scale), skew=0.0, writes=1.0)
        coordinates = {"scale": one, "published_scale": published, "clients": clients}
        points.append(Point(coordinates, sized, case, clients, warming, PLACEMENTS, published / one))
    return simulated_points(testbed, axes, points, "simulating other sizes")
