"""The advice for a watched server as one HTML file, made by a notebook (`NOTEBOOK`), which shows the sections of a `Page`."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

import altair as alt
import polars as pl
import vl_convert
from IPython.display import HTML, Markdown

from tierwise import __version__
from tierwise.advisor.server_advice import ServerAdvice
from tierwise.advisor.server_advice_text import milliseconds, milliseconds_band, short
from tierwise.advisor.server_advice_text import shown as advice_shown
from tierwise.core.activity import Activity
from tierwise.core.errors import InputError
from tierwise.core.files import digest, make_folder, scratch_folder, write_whole
from tierwise.core.options import TicketFormat
from tierwise.core.text_template import render
from tierwise.core.toml import Strict
from tierwise.core.units import human_seconds

NOTEBOOK: Final = "advisor/text/server_report.ipynb"
FILE: Final = "report.html"
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


def write_report(advice: ServerAdvice, activity: Activity, sources: Sequence[Path], folder: Path) -> Path:
    """Run the notebook, and write `folder`/report.html, which loads nothing, if there is not a report already."""
    import nbformat  # noqa: PLC0415  heavy, and the notebook's kernel needs none of them
    from nbconvert import HTMLExporter  # noqa: PLC0415
    from papermill.execute import execute_notebook  # noqa: PLC0415
    from traitlets.config import Config  # noqa: PLC0415

    target = folder / FILE
    if target.exists() or (folder.exists() and not folder.is_dir()):
        raise InputError("--report", value=str(target), rule="must not exist", remedy="name a new folder")
    known = {name: getattr(activity, name) for name in ("began", "watched_s", "samples", "sessions", "timed", "unknown")}
    names, digests = ", ".join(source.name for source in sources), ", ".join(map(digest, sources))
    data = PageData(advice=advice, version=__version__, file=names, digest=digests, **known)
    with scratch_folder("tierwise-report-") as scratch, as_file(files("tierwise") / NOTEBOOK) as notebook:
        (scratch / "data.json").write_text(data.model_dump_json(), encoding="utf-8")
        execute_notebook(
            notebook,
            scratch / "executed.ipynb",
            parameters={"DATA": str(scratch / "data.json")},
            kernel_name="python3",
            progress_bar=False,
            config=Config({"KernelManager": {"transport": "ipc", "connection_file": f"{scratch}/kernel.json"}}),
            extra_arguments=["--log-level=CRITICAL"],
        )
        executed = nbformat.read(scratch / "executed.ipynb", as_version=4)
    exporter = HTMLExporter(template_name="basic", exclude_input=True, exclude_output_prompt=True, exclude_anchor_links=True)
    body, _ = exporter.from_notebook_node(executed)
    make_folder(folder)
    write_whole(target, render("advisor/text/server_page.html", body=body, title=f"PostgreSQL {advice.server}, {advice.database}") + "\n")
    return target
