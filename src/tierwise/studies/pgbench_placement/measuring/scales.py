"""The gains of the pgbench study at several sizes of its data, simulated on the devices of a lab's pair: memory, seeks and data grow
together."""

from typing import Any, Final

from pydantic import Field

from tierwise.bench.lab import Lab
from tierwise.core.progress import Progress
from tierwise.core.toml import Strict
from tierwise.core.units import PAGE_BYTES
from tierwise.core.words import Substrate
from tierwise.simulate.placements import BY_TYPE, Case, Warming, recorded_case
from tierwise.simulate.transactions import Rows, rate
from tierwise.studies.pgbench_placement.measuring.flip_map import HOST_S, TIERS, seeds
from tierwise.tiers.open import device_model
from tierwise.timings.replicates import BLOCKS

PLACEMENTS: Final = ("all_hdd", "index_ssd", "table_ssd")
"""Placements that are compared at each size."""


class Scales(Strict):
    """The sizes; each is simulated with every seed, every row as often and updated each time."""

    scales: tuple[int, ...] = Field(min_length=3, description="pgbench's")
    seeds: int = Field(ge=1)
    transactions: int = Field(ge=100)
    slowdown: float = Field(default=1.0, gt=0, description="as in the windows that the claims are judged on")


def by_scale(
    lab: Lab, asked: Scales, rows: Rows, *, scale: int, memory_bytes: float, published: int, clients: int, warming: Warming
) -> list[dict[str, Any]]:
    """Return transactions a second of each placement at each scale, by seed; empty on a pair that has a real disk or no tier for the log.

    `rows` and `memory_bytes` are those of `scale`; seeks are stretched from each scale to that of the `published` data.
    """
    if not lab.pair.tiers.keys() >= TIERS or any(device_model(spec, stretch=1.0, seed=0) is None for spec in lab.pair.tiers.values()):
        return []
    found = []
    progress = Progress("simulating other sizes", len(asked.scales))
    for one in asked.scales:
        sized = Rows(rows.rows * one // scale, rows.index_pages * one // scale)
        case = Case(sized.index_pages * PAGE_BYTES / (memory_bytes * one / scale), skew=0.0, writes=1.0)
        tps: dict[str, list[float]] = {name: [] for name in PLACEMENTS}
        for seed in seeds(lab, asked.seeds):
            load = recorded_case(sized, case, clients=clients, host_s=HOST_S, transactions=asked.transactions, warming=warming, seed=seed)
            for name in PLACEMENTS:
                models = {
                    tier: device_model(spec, stretch=published / one, seed=seed, slowdown=asked.slowdown)
                    for tier, spec in lab.pair.tiers.items()
                }
                tps[name].append(rate(load, BY_TYPE[name], {tier: model for tier, model in models.items() if model is not None}))
        told = {"scale": one, "published_scale": published, "clients": clients, "slowdown": asked.slowdown}
        found.append({**told, "substrate": str(Substrate.SIMULATED), BLOCKS: list(range(asked.seeds)), "tps": tps})
        progress.step()
    return found
