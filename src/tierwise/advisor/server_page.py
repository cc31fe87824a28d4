"""The sections of the page on a watched server, which a notebook shows (`advisor/text/server_report.ipynb`)."""

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

import altair as alt
import polars as pl
import vl_convert
from IPython.display import HTML, Markdown

from tierwise.advisor.server_advice import ServerAdvice
from tierwise.advisor.server_advice_text import milliseconds, milliseconds_band, short
from tierwise.advisor.server_advice_text import shown as advice_shown
from tierwise.core.options import TicketFormat
from tierwise.core.text_template import render
from tierwise.core.toml import Strict
from tierwise.core.units import human_seconds

NOW, AFTER = "now", "predicted"
COLOURS: Final = {NOW: "#8c564b", AFTER: "#1f77b4"}


class PageData(Strict):
    """What the page shows: the advice, and where it comes from."""

    advice: ServerAdvice
    version: str
    file: str
    digest: str
    began: str
    watched_s: float
    samples: int
    sessions: float
    timed: bool
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    data: PageData

    def section(self, name: str) -> Markdown:
        step = self.data.advice.steps[self.data.advice.advised - 1] if self.data.advice.advised else None
        table = advice_shown(self.data.advice, TicketFormat.MARKDOWN) if name == "answer" else ""
        values = {"step": step, "table": table, "ms": milliseconds, "band": milliseconds_band, "number": short, "duration": human_seconds}
        text = render(f"advisor/text/server_page.toml:{name}", d=self.data, a=self.data.advice, **values)
        return Markdown(escape(text, quote=False))

    def waiting(self) -> HTML:
        """Draw what a transaction waits for on each unit, now and after the move."""
        rows = [
            {"unit": unit.unit, "when": when, "ms": 1000 * seconds}
            for unit in self.data.advice.units
            for when, seconds in ((NOW, unit.before_s), (AFTER, unit.predicted_s.middle))
        ]
        chart = (
            alt.Chart(pl.DataFrame(rows, schema={"unit": pl.String, "when": pl.String, "ms": pl.Float64}), width=480)
            .mark_bar()
            .encode(
                x=alt.X("ms", title=render("advisor/text/server_page.toml:axis")),
                y=alt.Y("unit", sort=None, title=None),
                yOffset=alt.YOffset("when", sort=list(COLOURS)),
                color=alt.Color("when", scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())), title=None),
            )
        )
        return HTML(vl_convert.vegalite_to_svg(chart.to_json()))


def open_page(path: str) -> Page:
    return Page(PageData.model_validate_json(Path(path).read_text(encoding="utf-8")))
