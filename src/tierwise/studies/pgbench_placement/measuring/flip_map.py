"""Which placement of a table and its index wins, simulated on the devices of a lab's pair: over memory, skew, layout and write share; and,
with every row as often, over memory and clients, which the source leaves open."""

from collections.abc import Callable
from itertools import product
from typing import Any, Final

from pydantic import Field

from tierwise.bench.lab import Lab
from tierwise.bench.order import block_seed
from tierwise.bench.replaying import models
from tierwise.core.progress import Progress
from tierwise.core.toml import Strict
from tierwise.core.units import PAGE_BYTES
from tierwise.core.words import Layout, Substrate
from tierwise.simulate.placements import BY_TYPE, Case, Devices, Warming, rate_by_heat, rate_cached, rate_hot, rates_by_type, recorded_case
from tierwise.simulate.replay import DeviceModel
from tierwise.simulate.ssd_cache import DM_CACHE, L2ARC
from tierwise.simulate.transactions import Rows, rate
from tierwise.timings.replicates import BLOCKS

HOST_S: Final = 0.0005
"""A simulated transaction's time outside the storage (assumed)."""
COMPARED: Final = ("all_hdd", "index_ssd")
"""Placements over what the source leaves open."""
PARTITIONS: Final = 16
"""The number of partitions of the simulated table where it is placed by heat."""
TIERS: Final = {"hdd", "ssd", "wal"}
CACHES: Final = {"dm_cache": DM_CACHE, "l2arc": L2ARC}


class FlipMap(Strict):
    """Axes of the map; each point is simulated with every seed."""

    memories: tuple[float, ...] = Field(description="memory over the source's")
    skews: tuple[float, ...]
    layouts: tuple[Layout, ...] = Field(default=(Layout.STREWN,), description="of the popular rows, where keys are skewed")
    writes: tuple[float, ...]
    seeds: int = Field(ge=1)
    transactions: int = Field(ge=100)
    slowdown: float = Field(default=1.0, gt=0, description="as in the windows that points are held against")
    caches: bool = Field(default=False, description="whether the SSD is tried as a cache before the disks as well")

    @property
    def points(self) -> list[tuple[float, float, Layout, float]]:
        """Return (memory, skew, layout, writes) of each point of the map; without skew there is but one layout."""
        loads = [(skew, layout) for skew in self.skews for layout in (self.layouts if skew else (Layout.STREWN,))]
        return [(memory, skew, layout, writes) for memory, (skew, layout), writes in product(self.memories, loads, self.writes)]


class OpenAxes(Strict):
    """Axes of what the source leaves open; each point is simulated with every seed, every row as often and updated each time."""

    memories: tuple[float, ...] = Field(description="memory over the source's")
    clients: tuple[int, ...]
    seeds: int = Field(ge=1)
    transactions: int = Field(ge=100)
    slowdown: float = Field(default=1.0, gt=0, description="as in the windows that the claims are judged on")

    @property
    def points(self) -> list[tuple[float, int]]:
        """Return (memory, clients) of each point of the map."""
        return list(product(self.memories, self.clients))


def flip_map(
    lab: Lab, axes: FlipMap, rows: Rows, *, memory_bytes: float, clients: int, warming: Callable[[float], Warming]
) -> list[dict[str, Any]]:
    """Return transactions a second of each placement at each point, by seed; empty on a pair that has a real disk or no tier for the log.

    `memory_bytes` is what the axis calls 1; `warming` tells what comes before, by skew. Beside the placements by type, what an SSD of the
    index's size can do otherwise: hold the hottest of index and partitions (``heat``), the first partition where popular rows lie in it
    (``hot_ssd``), or be a cache (`CACHES`).
    """
    if not models(lab, seed=lab.seed).keys() >= TIERS:
        return []

    def devices(seed: int) -> dict[str, DeviceModel]:
        return models(lab, seed=seed, slowdown=axes.slowdown)

    found = []
    progress = Progress("simulating placements", len(axes.points))
    for memory, skew, layout, writes in axes.points:
        case = Case(rows.index_pages * PAGE_BYTES / (memory * memory_bytes), skew, writes, layout)
        tps: dict[str, list[float]] = {}
        for seed in seeds(lab, axes.seeds):
            for name, value in _rates(rows, case, axes, devices, clients=clients, warming=warming(skew), seed=seed).items():
                tps.setdefault(name, []).append(value)
        point = {
            "memory": memory,
            "index_to_memory": case.index_to_memory,
            "skew": skew,
            "layout": str(layout),
            "writes": writes,
            "slowdown": axes.slowdown,
        }
        found.append({**point, "substrate": str(Substrate.SIMULATED), BLOCKS: list(range(axes.seeds)), "tps": tps})
        progress.step()
    return found


def open_map(lab: Lab, axes: OpenAxes, rows: Rows, *, memory_bytes: float, warming: Warming) -> list[dict[str, Any]]:
    """Return transactions a second of everything on hdd and of indexes on ssd at each point, by seed; empty where `flip_map` is."""
    if not models(lab, seed=lab.seed).keys() >= TIERS:
        return []
    found = []
    progress = Progress("simulating what the source leaves open", len(axes.points))
    for memory, clients in axes.points:
        case = Case(rows.index_pages * PAGE_BYTES / (memory * memory_bytes), skew=0.0, writes=1.0)
        tps: dict[str, list[float]] = {name: [] for name in COMPARED}
        for seed in seeds(lab, axes.seeds):
            load = recorded_case(rows, case, clients=clients, host_s=HOST_S, transactions=axes.transactions, warming=warming, seed=seed)
            for name in COMPARED:
                tps[name].append(rate(load, BY_TYPE[name], models(lab, seed=seed, slowdown=axes.slowdown)))
        point = {"memory": memory, "clients": clients, "slowdown": axes.slowdown, "substrate": str(Substrate.SIMULATED)}
        found.append({**point, BLOCKS: list(range(axes.seeds)), "tps": tps})
        progress.step()
    return found


def seeds(lab: Lab, count: int) -> list[int]:
    """Return `count` seeds, of which those of two runs have none in common, so that runs can be merged."""
    return [block_seed(lab.seed, number) for number in range(count)]


def _rates(rows: Rows, case: Case, axes: FlipMap, devices: Devices, *, clients: int, warming: Warming, seed: int) -> dict[str, float]:
    load = recorded_case(rows, case, clients=clients, host_s=HOST_S, transactions=axes.transactions, warming=warming, seed=seed)
    budget_bytes = rows.index_pages * PAGE_BYTES
    rates = rates_by_type(load, devices, seed)
    if case.skew:
        rates["heat"] = rate_by_heat(load, devices, seed, budget_bytes=budget_bytes, parts=PARTITIONS)
    if case.layout is Layout.RECENT:
        rates["hot_ssd"] = rate_hot(load, devices, seed, parts=PARTITIONS)
    if axes.caches:
        rates |= {name: rate_cached(load, devices, seed, policy, budget_bytes=budget_bytes) for name, policy in CACHES.items()}
    return rates
