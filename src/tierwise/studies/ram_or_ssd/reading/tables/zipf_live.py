"""Reads of a scaled file, live, with those of each model below them."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import polars as pl

from tierwise.analysis.statistics import enough, geometric_estimate, paired_ratios
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, count, difference, number, percent
from tierwise.studies.ram_or_ssd.reading.names import LIVE_PAIR

QUERY: Final = """
select * from ram_or_ssd_live where pair = $live
order by tier, dataset_gib, cache_gib, scale, advice, how, window_pages desc, replicate
"""
UNIT: Final = "replicates"
PARAMETERS: Final = {"live": LIVE_PAIR}
TIERS: Final = {"disk": "this machine's disk", "hdd": "disk drive", "ssd": "SSD"}
HEADER: Final = [
    *("Tier", "Evidence", "Data, GiB", "Advice", "Read around, pages"),
    *("Reads/s", "95 % interval", "Missed", "Device reads/s", "Difference"),
]
MEANS: Final = ("pages_a_request", "reads_per_s", "miss_ratio", "device_iops")


def facts(rows: pl.DataFrame) -> Mapping[str, object]:
    live = rows.filter(how="live")
    known = {name: live[name][0] if live.height else None for name in ("scale", "cache_gib")}
    return {"n": live["replicate"].n_unique(), "runs": live.height, "rejected": int(live["flagged"].sum()), **known}


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = rows.group_by("tier", "dataset_gib", "cache_gib", "scale", "advice", maintain_order=True)
    return Cells(HEADER, [line for _, cell in cells for line in _lines(cell)], "llrlrrrrrr")


def _lines(cell: pl.DataFrame) -> list[list[str]]:
    lines: list[list[str]] = []
    live: dict[int, float] = {}
    for part in cell.partition_by("how", "window_pages", maintain_order=True):
        first, kept = part.row(0, named=True), part.filter(~pl.col("flagged"))
        reads = dict(kept.select("replicate", "reads_per_s").iter_rows())
        means = kept.select(MEANS).mean().row(0, named=True) if enough(kept.height) else dict.fromkeys(MEANS)
        live = live if lines else reads
        own, apart = geometric_estimate(reads), geometric_estimate(paired_ratios(reads, live))
        window = number(means["pages_a_request"]) if not lines and means["pages_a_request"] else _or_dash(first["window_pages"], count)
        lines.append(
            [
                *(TIERS[first["tier"]], first["evidence"], count(first["dataset_gib"]), first["advice"], window),
                _or_dash(means["reads_per_s"], number),
                f"{number(own.low)} to {number(own.high)}" if not lines and own.low and own.high else DASH,
                *(_or_dash(means["miss_ratio"], percent), _or_dash(means["device_iops"], number)),
                difference(apart.value) if lines and apart.value is not None else DASH,
            ]
        )
    return lines


def _or_dash(value: Any, say: Callable[[Any], str]) -> str:
    return DASH if value is None else say(value)
