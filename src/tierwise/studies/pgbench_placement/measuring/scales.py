"""The study's gains at several sizes of its data, simulated: memory, seeks and data grow together."""

from functools import partial
from typing import Any, Final

from pydantic import Field

from tierwise.bench.replaying import Modelled
from tierwise.core.units import PAGE_BYTES
from tierwise.simulate.placements import Case, Warming
from tierwise.simulate.transactions import Rows
from tierwise.studies.pgbench_placement.measuring.simulated_maps import Axes, Point, rates_of, simulated_points

PLACEMENTS: Final = ("all_hdd", "index_ssd", "table_ssd")


class Scales(Axes):
    scales: tuple[int, ...] = Field(min_length=3, description="pgbench's")


def by_scale(
    testbed: Modelled, axes: Scales, rows: Rows, *, scale: int, memory_bytes: float, published: int, clients: int, warming: Warming
) -> list[dict[str, Any]]:
    """Return transactions a second of each placement at each scale, by seed; empty on a pair with a real disk or without tier for the log.

    `rows` and `memory_bytes` are those of `scale`; seeks are stretched from each scale to that of the `published` data.
    """
    points: list[Point] = []
    for one in axes.scales:
        sized = Rows(rows.rows * one // scale, rows.index_pages * one // scale)
        case = Case(sized.index_pages * PAGE_BYTES / (memory_bytes * one / scale), skew=0.0, writes=1.0)
        stretch = published / one
        rates = partial(rates_of, testbed, sized, case, axes, placements=PLACEMENTS, clients=clients, warming=warming, stretch=stretch)
        points.append(({"scale": one, "published_scale": published, "clients": clients}, rates))
    return simulated_points(testbed, axes, points, "simulating other sizes")
