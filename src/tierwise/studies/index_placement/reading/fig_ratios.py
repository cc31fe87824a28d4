"""Speed-up of a count by the index on the SSD, by what the caches held, beside the published bounds."""

from functools import partial
from typing import Final

import altair as alt
import polars as pl

from tierwise.report.figures import parts
from tierwise.studies.index_placement.reading.names import CACHES, CASES, FASTER, clean, speedup_bounds

UNIT: Final = "paired ratios"
derive = clean


def draw(rows: pl.DataFrame) -> alt.VConcatChart:
    gains = rows.with_columns(ratio="speedup")
    width_px = parts.label_px(rows["row"])
    span = parts.ratio_range(gains, ["cache", "row"], low=0.9, high=35, headroom=1.25)
    panel = partial(parts.ratio_panel, order=CASES, ends=span, width_px=width_px, axis=FASTER)
    panels = [
        panel(part, title=title, bounds=speedup_bounds(cache))
        for cache, title in CACHES.items()
        if not (part := gains.filter(cache=cache)).is_empty()
    ]
    return parts.stacked(panels, chrome_px=width_px + parts.BESIDE_PX)
