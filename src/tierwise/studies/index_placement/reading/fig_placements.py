"""Speed-up of a count by each move of table and index, over everything on the disks."""

from functools import partial
from typing import Final

import altair as alt
import polars as pl

from tierwise.report.figures import parts
from tierwise.studies.index_placement.reading.names import CASES, COLOURS, DISKS, FASTER, INDEX, clean, speedup_bounds

UNIT: Final = "paired ratios"
PARAMETERS: Final = {"cache": "cold"}
derive = clean


def facts(rows: pl.DataFrame) -> dict[str, object]:
    return {"cache": rows["cache"][0] if rows.height else "cold"}


def draw(rows: pl.DataFrame) -> alt.VConcatChart:
    gains = rows.with_columns(ratio="speedup")
    bounds = speedup_bounds(rows["cache"][0])
    ends = [end for one in bounds.values() for end in (one.lower, one.upper) if end]
    span = parts.ratio_range(gains, ["row", "placement"], low=0.9, high=max([2.0, *ends]), headroom=1.25)
    width_px = parts.label_px(rows["row"])
    panel = partial(parts.ratio_panel, order=CASES, ends=span, width_px=width_px, axis=FASTER)
    shown = {name: colour for name, colour in COLOURS.items() if name != DISKS and name in set(rows["placement"])}
    panels = [
        panel(gains.filter(placement=name), title=f"{name[0].upper()}{name[1:]}", bounds=bounds if name == INDEX else {}, colour=colour)
        for name, colour in shown.items()
    ]
    return parts.stacked(panels, chrome_px=width_px + parts.BESIDE_PX)
