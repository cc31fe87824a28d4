"""The advice for a watched server as one HTML file."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

import altair as alt
import polars as pl
import vl_convert
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from tierwise import __version__
from tierwise.advisor.server_advice import ServerAdvice
from tierwise.advisor.server_advice_text import milliseconds, milliseconds_band, short, shown
from tierwise.core.activity import Activity
from tierwise.core.errors import InputError
from tierwise.core.files import digest, make_folder, write_whole
from tierwise.core.options import TicketFormat
from tierwise.core.text_template import render
from tierwise.core.units import human_seconds

FILE: Final = "report.html"
SECTIONS: Final = ("answer", "plan", "unknown", "provenance")
NOW, AFTER = "now", "predicted"
COLOURS: Final = {NOW: "#8c564b", AFTER: "#1f77b4"}


def write_report(advice: ServerAdvice, activity: Activity, sources: Sequence[Path], folder: Path) -> Path:
    """Write `folder`/report.html, which loads nothing.

    Raises:
        InputError: there is already a report.
    """
    target = folder / FILE
    if target.exists() or (folder.exists() and not folder.is_dir()):
        raise InputError("--report", value=str(target), rule="must not exist", remedy="name a new folder")
    known = {
        "a": advice,
        "watch": activity,
        "step": advice.steps[advice.advised - 1] if advice.advised else None,
        "table": shown(advice, TicketFormat.MARKDOWN),
        "file": ", ".join(source.name for source in sources),
        "digest": ", ".join(map(digest, sources)),
        "version": __version__,
    }
    formats = {"ms": milliseconds, "band": milliseconds_band, "number": short, "duration": human_seconds}
    texts = {name: render(f"advisor/text/server_page.toml:{name}", **known, **formats) for name in SECTIONS}
    page = MarkdownWithMath(renderer=IPythonRenderer(escape=False, exclude_anchor_links=True))
    sections = {name: page.render(escape(text, quote=False)) for name, text in texts.items()}
    make_folder(folder)
    title = f"PostgreSQL {advice.server}, {advice.database}"
    write_whole(target, render("advisor/text/server_page.html", **sections, waiting=_waiting(advice), title=title) + "\n")
    return target


def _waiting(advice: ServerAdvice) -> str:
    """Draw what a transaction waits for on each unit, now and after the move."""
    rows = [
        {"unit": unit.unit, "when": when, "ms": 1000 * seconds}
        for unit in advice.units
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
    return str(vl_convert.vegalite_to_svg(chart.to_json()))
