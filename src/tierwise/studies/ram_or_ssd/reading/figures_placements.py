"""Figure of what a delivered read costs on each placement: the storage alone, and with RAM, machine and power."""

from typing import Final

import altair as alt
import polars as pl

from tierwise.core.vocabulary import Evidence
from tierwise.costs.delivered import published_load
from tierwise.costs.hardware import load_hardware, medium, rented
from tierwise.report import theme
from tierwise.report.display import Figure
from tierwise.report.figures import parts
from tierwise.report.formats import count, listed, number
from tierwise.report.prices import answer_of, devices_note, run_note
from tierwise.report.run import Run

KINDS: Final = {
    "RAM over a disk": ("square", theme.GREEN),
    "own SSD": ("circle", theme.BLUE),
    "rented volume": ("diamond", theme.ORANGE),
    "own disks": ("triangle-up", theme.VERMILLION),
}
"""Kind of a placement -> shape and colour."""
COUNTS: Final = {"storage_usd": "storage alone", "usd": "with RAM, machine and power"}
ROW_PX: Final = 17


def placements(run: Run) -> pl.DataFrame:
    """List each way to serve the Zipfian reads at the prices of the run's day, the cheapest first: placement, kind, storage_usd and usd (a
    year, for a delivered read a second), ram_gib, devices, machines, evidence. Of ways that cost the same the first is kept.
    """
    found = answer_of(run)
    bought = _storage()
    rows = [
        {
            "placement": f"{'all in RAM, ' if each.in_ram else ''}{count(each.devices)} x {each.device}",
            "kind": _kind(each.device, in_ram=each.in_ram),
            "storage_usd": sum(cost for item, cost in each.parts_a_year.items() if item in bought) / found.load.reads_per_s,
            "usd": each.cost_a_year / found.load.reads_per_s,
            "ram_gib": each.ram_gib,
            "devices": each.devices,
            "machines": each.machines,
            "evidence": str(each.evidence),
        }
        for each in found.delivered
    ]
    return pl.DataFrame(rows).unique(["kind", "ram_gib", "usd"], keep="first", maintain_order=True)


def told(rows: pl.DataFrame) -> str:
    """Return which of `rows` (as of `placements`) is the cheapest, and how many times as much the other kinds cost, in a line."""
    first = rows.row(0, named=True)
    others = rows.group_by("kind", maintain_order=True).agg(pl.col("usd").min()).filter(pl.col("kind") != first["kind"])
    more = listed(f"{kind} {number(usd / first['usd'])}" for kind, usd in others.rows())
    return f"A delivered read is cheapest from {first['kind']}; from {more} times as much"


def per_read(run: Run, rows: pl.DataFrame) -> Figure:
    """Return what a delivered read a second costs a year on each placement of `rows` (as of `placements`)."""
    width_px = parts.label_px(rows["placement"])
    low, high = min(rows["storage_usd"]) / 1.6, max(rows["usd"]) * 1.6
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(values=parts.log_ticks(low, high), format="~g")
    x = alt.X("usd:Q", title="USD a year for a delivered read a second", scale=scale, axis=axis)
    kinds = {kind: look for kind, look in KINDS.items() if kind in set(rows["kind"])}
    tips = [alt.Tooltip(name) for name in ("placement:N", "kind:N", "devices:Q", "machines:Q")]
    tips += [alt.Tooltip("ram_gib:Q", title="RAM, GiB", format=".3~g")]
    tips += [alt.Tooltip(f"{name}:Q", title=f"USD, {words}", format=".3r") for name, words in COUNTS.items()]
    base = alt.Chart(rows).encode(y=alt.Y("placement:N", title=None, sort=rows["placement"].to_list(), axis=parts.labels(width_px)))
    look = base.encode(
        shape=alt.Shape("kind:N", title=None, scale=alt.Scale(domain=list(kinds), range=[shape for shape, _ in kinds.values()])),
        color=alt.Color("kind:N", title=None, scale=alt.Scale(domain=list(kinds), range=[colour for _, colour in kinds.values()])),
        tooltip=tips,
    )
    chart = alt.LayerChart(
        layer=[
            base.mark_rule(strokeWidth=1.5).encode(x=alt.X("storage_usd:Q", scale=scale, axis=axis), x2="usd:Q"),
            look.mark_point(filled=False, size=45).encode(x=alt.X("storage_usd:Q", scale=scale, axis=axis)),
            look.mark_point(filled=True, size=75, opacity=1).encode(x=x),
        ],
        title=told(rows),
        width=parts.PLOT_PX,
        height=alt.Step(ROW_PX),
        description=f"{told(rows)}. Each placement with its storage alone, and with RAM, machine and power, on a log axis.",
    )
    load = published_load()
    caption = (
        f"What a delivered read a second costs a year at the prices of the run's day, by placement, for the load of {load.stamp} "
        f"({number(load.load.reads_per_s)} reads a second over {load.data_gib:g} GiB, **{Evidence.PUBLISHED}**); log axis. Hollow: the "
        "drives or volumes alone. Filled: with RAM, machines and power. "
        f"{run_note(run, Evidence.of({Evidence(word) for word in rows['evidence']}), len(rows), 'placements')} {devices_note()}"
    )
    return Figure(chart, caption, width_px + parts.BESIDE_PX, rows)


def _kind(device: str, *, in_ram: bool) -> str:
    if in_ram:
        return "RAM over a disk"
    return "rented volume" if rented(device) else "own SSD" if medium(device) == "ssd" else "own disks"


def _storage() -> frozenset[str]:
    """Items of the price book that are drives or volumes, and no machine, memory or power."""
    hardware = load_hardware()
    steps = (step.price for volume in hardware.volumes.values() for step in (*volume.iops, *volume.throughput_mib_s))
    sizes = (volume.size for volume in hardware.volumes.values() if volume.size)
    return frozenset([*(drive.price for drive in hardware.drives.values()), *sizes, *steps])
