"""The study's gains at several sizes of its data, simulated: memory, seeks and data grow together."""

from typing import Any, Final

from pydantic import Field

from tierwise.bench.testbed import Testbed
from tierwise.core.progress import Progress
from tierwise.core.units import PAGE_BYTES
from tierwise.simulate.placements import BY_TYPE, Case, Warming, recorded_case
from tierwise.simulate.replay import DeviceModel
from tierwise.simulate.transactions import Rows, rate
from tierwise.studies.pgbench_placement.measuring.simulated_maps import HOST_S, TIERS, Axes, simulated_point
from tierwise.tiers.open import device_model

PLACEMENTS: Final = ("all_hdd", "index_ssd", "table_ssd")


class Scales(Axes):
    scales: tuple[int, ...] = Field(min_length=3, description="pgbench's")


def by_scale(
    testbed: Testbed, axes: Scales, rows: Rows, *, scale: int, memory_bytes: float, published: int, clients: int, warming: Warming
) -> list[dict[str, Any]]:
    """Return transactions a second of each placement at each scale, by seed; empty on a pair with a real disk or without tier for the log.

    `rows` and `memory_bytes` are those of `scale`; seeks are stretched from each scale to that of the `published` data.
    """
    if not testbed.pair.tiers.keys() >= TIERS or any(
        device_model(spec, stretch=1.0, seed=0) is None for spec in testbed.pair.tiers.values()
    ):
        return []
    found = []
    progress = Progress("simulating other sizes", len(axes.scales))
    for one in axes.scales:
        sized = Rows(rows.rows * one // scale, rows.index_pages * one // scale)
        case = Case(sized.index_pages * PAGE_BYTES / (memory_bytes * one / scale), skew=0.0, writes=1.0)

        def rates(seed: int, sized: Rows = sized, case: Case = case, stretch: float = published / one) -> dict[str, float]:
            load = recorded_case(sized, case, clients=clients, host_s=HOST_S, transactions=axes.transactions, warming=warming, seed=seed)
            return {name: rate(load, BY_TYPE[name], _devices(testbed, axes, stretch, seed)) for name in PLACEMENTS}

        found.append(simulated_point(testbed, axes, {"scale": one, "published_scale": published, "clients": clients}, rates))
        progress.step()
    return found


def _devices(testbed: Testbed, axes: Scales, stretch: float, seed: int) -> dict[str, DeviceModel]:
    built = {name: device_model(spec, stretch=stretch, seed=seed, slowdown=axes.slowdown) for name, spec in testbed.pair.tiers.items()}
    return {name: model for name, model in built.items() if model is not None}
