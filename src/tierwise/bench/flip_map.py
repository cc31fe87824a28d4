"""Which placement of a table and its index wins, simulated over memory, skew and write share on the devices of a lab's pair."""

from dataclasses import replace
from itertools import product
from typing import Any, Final

from pydantic import Field

from tierwise.bench.lab import Lab
from tierwise.bench.replaying import models
from tierwise.core.progress import Progress
from tierwise.core.toml import Strict
from tierwise.core.units import PAGE_BYTES
from tierwise.core.words import Substrate
from tierwise.simulate.placements import BY_TYPE, Case, rate_by_heat, rates_by_type, recorded_case
from tierwise.simulate.replay import DeviceModel
from tierwise.simulate.transactions import Rows, rate

HOST_S: Final = 0.0005
"""A simulated transaction's time outside the storage (assumed)."""
PARTITIONS: Final = 16
"""Of the simulated table where it is placed by heat; the SSD is then as large as the index."""
TIERS: Final = {"hdd", "ssd", "wal"}


class FlipMap(Strict):
    """Axes of the map; each point is simulated with every seed."""

    memories: tuple[float, ...] = Field(description="memory over the source's")
    skews: tuple[float, ...]
    writes: tuple[float, ...]
    seeds: int = Field(ge=1)
    transactions: int = Field(ge=100)
    slowdown: float = Field(default=1.0, gt=0, description="as in the windows that points are held against")


def flip_map(lab: Lab, axes: FlipMap, rows: Rows, *, memory_bytes: float, clients: int) -> list[dict[str, Any]]:
    """Transactions a second of each placement at each point, by seed; empty on a pair that has a real disk or no tier for the log.

    `memory_bytes` is what the axis calls 1. Where keys are skewed, popular rows lie strewn for the placements by type, and side by side
    (``side_by_side_...``) where hot partitions are placed by heat.
    """
    if not models(lab, seed=lab.seed).keys() >= TIERS:
        return []

    def devices(seed: int) -> dict[str, DeviceModel]:
        return models(lab, seed=seed, slowdown=axes.slowdown)

    found = []
    progress = Progress("simulating placements", len(axes.memories) * len(axes.skews) * len(axes.writes))
    for memory, skew, writes in product(axes.memories, axes.skews, axes.writes):
        case = Case(rows.index_pages * PAGE_BYTES / (memory * memory_bytes), skew, writes)
        tps: dict[str, list[float]] = {}
        for seed in range(lab.seed, lab.seed + axes.seeds):
            asked = {"clients": clients, "transactions": axes.transactions, "seed": seed}
            rates = rates_by_type(recorded_case(rows, case, host_s=HOST_S, **asked), devices, seed)
            if skew:
                hot = recorded_case(rows, replace(case, strewn=False), host_s=HOST_S, **asked)
                by_type = {f"side_by_side_{name}": rate(hot, BY_TYPE[name], devices(seed)) for name in ("all_hdd", "index_ssd")}
                heat = rate_by_heat(hot, devices, seed, budget_bytes=rows.index_pages * PAGE_BYTES, parts=PARTITIONS)
                rates = {**rates, **by_type, "side_by_side_heat": heat}
            for name, value in rates.items():
                tps.setdefault(name, []).append(value)
        point = {"memory": memory, "index_to_memory": case.index_to_memory, "skew": skew, "writes": writes, "slowdown": axes.slowdown}
        found.append({**point, "substrate": str(Substrate.SIMULATED), "tps": tps})
        progress.step()
    return found
