"""What a delivered read costs on each placement: the storage alone, and with RAM, machine and power."""

from collections.abc import Mapping
from typing import Final

import altair as alt
import polars as pl

from tierwise.core.vocabulary import Evidence
from tierwise.costs.delivered import published_load
from tierwise.report import theme
from tierwise.report.figures import parts
from tierwise.studies.ram_or_ssd.reading.placements import placements

UNIT: Final = "placements"
OF_RUN: Final = "prices"
SOURCE = placements
KINDS: Final = {
    "RAM over a disk": ("square", theme.GREEN),
    "own SSD": ("circle", theme.BLUE),
    "rented volume": ("diamond", theme.ORANGE),
    "own disks": ("triangle-up", theme.VERMILLION),
}
"""Kind of a placement -> shape and colour."""
COUNTS: Final = {"storage_usd": "storage alone", "usd": "with RAM, machine and power"}
ROW_PX: Final = 17


def facts(rows: pl.DataFrame) -> Mapping[str, object]:
    load = published_load()
    return {
        "evidence": Evidence.of({Evidence(word) for word in rows["evidence"]}),
        "reads": load.load.reads_per_s,
        "data_gib": load.data_gib,
    }


def draw(rows: pl.DataFrame) -> alt.LayerChart:
    width_px = parts.label_px(rows["placement"])
    low, high = min(rows["storage_usd"]) / 1.6, max(rows["usd"]) * 1.6
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(values=parts.log_ticks(low, high), format="~g")
    x, alone = (alt.X(f"{name}:Q", title="USD a month per read/s", scale=scale, axis=axis) for name in ("usd", "storage_usd"))
    kinds = {kind: look for kind, look in KINDS.items() if kind in set(rows["kind"])}
    shapes, colours = (alt.Scale(domain=list(kinds), range=[look[which] for look in kinds.values()]) for which in (0, 1))
    tips = [alt.Tooltip(name) for name in ("placement:N", "kind:N", "devices:Q", "machines:Q")]
    tips += [alt.Tooltip("ram_gib:Q", title="RAM, GiB", format=".3~g")]
    tips += [alt.Tooltip(f"{name}:Q", title=f"USD, {words}", format=".3r") for name, words in COUNTS.items()]
    order = rows["placement"].to_list()
    base = alt.Chart(rows).encode(y=alt.Y("placement:N", title=None, sort=order, axis=parts.labels(width_px)))
    look = base.encode(
        shape=alt.Shape("kind:N", title=None, scale=shapes), color=alt.Color("kind:N", title=None, scale=colours), tooltip=tips
    )
    layers = [
        base.mark_rule(strokeWidth=1.5).encode(x=alone, x2="usd:Q"),
        look.mark_point(filled=False, size=45).encode(x=alone),
        look.mark_point(filled=True, size=75, opacity=1).encode(x=x),
    ]
    chrome = {"chrome_px": width_px + parts.BESIDE_PX}
    return alt.LayerChart(layer=layers, width=parts.PLOT_PX, height=alt.Step(ROW_PX), usermeta=chrome)
