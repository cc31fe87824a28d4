"""What a cell of a chapter shows: a sentence, or a figure or table with its caption as a second output, all made from rows."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

import altair as alt
import numpy as np
import polars as pl
import polars.selectors as cs
import vl_convert
from IPython.display import display

from tierwise.report.formats import NBSP
from tierwise.report.theme import VEGA_LITE

VEGA_MIME: Final = "application/vnd.vegalite.v5+json"  # the newest that JupyterLab knows; it draws Altair's newer specifications with it

ROWS_MIME: Final = "text/csv"
MADE_MIME: Final = "application/vnd.tierwise.made+json"
"""How a figure or a table came to be: its queries, and the dotted names of what was called on their rows."""

LONG: Final = 20  # rows of the longest table that the annex prints, as in `report/shared.lua`; it names the file of a longer one
LINE: Final = 120
PADDING: Final = 5  # characters: of a table's line on paper, and around each cell
LEGIBLE: Final = "<style>.mark-text.role-mark text{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}</style>"
"""A label stays legible where it crosses a line, as `report/theme/report.css` has it for the page."""
MARKUP: Final = re.compile(r"\\([*>])|[`*\[\]]|\(#[\w-]+\)")
MARK: Final = re.compile(r"\*\*.+?\*\*")  # a verdict or a stamp, which no line breaks

# What a reader may pick in a chart, a legend's entry or a row's mark, so that the rest fades; the page links equal fields.
LEGENDS: Final = ("color", "fill", "stroke", "shape", "strokeDash")
POSITIONS: Final = ("y", "x")
DISCRETE: Final = ("nominal", "ordinal")
VIEWS: Final = ("layer", "concat", "vconcat", "hconcat")
FADED: Final = 0.08  # opacity of what is not picked: enough to see what was left out

_display: Callable[..., None] = display


def show(bundle: dict[str, Any]) -> None:
    _display(bundle, raw=True)


@dataclass(frozen=True)
class Sentence:
    text: str

    def _ipython_display_(self) -> None:
        show({"text/markdown": self.text})


@dataclass(frozen=True)
class Figure:
    """A chart and the `rows` behind it; `chrome_px`: width beside the plot, so that the page can fit the plot to the screen."""

    chart: alt.Chart | alt.LayerChart | alt.VConcatChart
    caption: str
    chrome_px: int
    rows: pl.DataFrame
    made: Mapping[str, Any] | None = None

    def spec(self) -> dict[str, Any]:
        return {**selectable(self.chart.to_dict()), "usermeta": {"chrome_px": self.chrome_px}}

    def csv(self) -> str:
        return self.rows.select(~cs.nested()).write_csv()

    def bundle(self) -> dict[str, Any]:
        """Return the chart for JupyterLab and the web page, for print, and as text; its rows."""
        spec = self.spec()
        return {
            VEGA_MIME: spec,
            "image/svg+xml": vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE).replace(">", f">{LEGIBLE}", 1),
            "text/plain": spec["description"],
            ROWS_MIME: self.csv(),
            **({MADE_MIME: self.made} if self.made else {}),
        }

    def _ipython_display_(self) -> None:
        show(self.bundle())
        show({"text/markdown": self.caption})


@dataclass(frozen=True)
class Table:
    """Rows of text under a header; `align` has a letter for each column, ``l`` or ``r``."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str
    align: str = ""
    made: Mapping[str, Any] | None = None

    def markdown(self) -> str:
        """Return a pipe table; its dashes are the columns' shares of the page, because Pandoc wraps no cells up to 72 columns."""
        dashes = ["-" * width for width in shares(list(zip(self.header, *self.rows, strict=True)))]
        rules = [f"{rule}:" if align == "r" else f":{rule}" for rule, align in zip_longest(dashes, self.align)]
        lines = [self.header, rules, *(tuple(cell.replace("|", "\\|") for cell in row) for row in self.rows)]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def csv(self) -> str:
        lines = io.StringIO()
        csv.writer(lines, lineterminator="\n").writerows([MARKUP.sub(r"\1", cell) for cell in row] for row in (self.header, *self.rows))
        return lines.getvalue()

    def _ipython_display_(self) -> None:
        rows = {ROWS_MIME: self.csv()} if len(self.rows) > LONG else {}
        show({"text/markdown": self.markdown(), **rows, **({MADE_MIME: self.made} if self.made else {})})
        show({"text/markdown": self.caption})


@dataclass(frozen=True)
class Missing:
    """What stands under the label of a figure or a table that the run has no rows for: why, and the caption."""

    why: str
    caption: str

    def _ipython_display_(self) -> None:
        show({"text/markdown": self.why})
        show({"text/markdown": self.caption})


def shares(columns: Sequence[Sequence[str]]) -> list[int]:
    """Return the characters of a line for each of `columns`: its longest word, and the rest where it saves most lines."""
    plain = [[MARKUP.sub(r"\1", MARK.sub(lambda mark: mark[0].replace(" ", NBSP), cell)) for cell in cells] for cells in columns]
    widths = np.array([max(len(word) for cell in cells for word in cell.split(" ")) + PADDING for cells in plain])
    lengths = np.array([[len(cell) + PADDING for cell in cells] for cells in plain])
    for _ in range(widths.sum(), LINE):
        lines = lengths / widths[:, None]
        decides = (lines > 1) & (lines == lines.max(axis=0))  # the cells that make their row higher than a line
        saved = (decides * lines / widths[:, None]).sum(axis=1)
        widths[(saved if saved.any() else lines.max(axis=1)).argmax()] += 1
    return [int(width) for width in widths]


def selectable(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the Vega-Lite `spec` with a selection for each field of a legend or a discrete axis, beside those it declares itself."""
    made = deepcopy(spec)
    params: list[dict[str, Any]] = made.get("params", [])
    named = {tuple(param["select"]["fields"]): param["name"] for param in params if _on_fields(param)}
    units = [unit for view in _views(made) for unit in _units(view)]
    legends = _fields(units, LEGENDS)
    for field in {**legends, **_fields(units, POSITIONS)}:
        if (field,) not in named:
            named[field,] = name = f"picked_{len(named) + 1}"
            select = {"type": "point", "fields": [field], "on": "click", "toggle": "true"}
            bound = {"bind": "legend"} if field in legends else {}
            params.append({"name": name, "select": select, **bound, "views": [*_named_views(made, field)]})
    for unit in units:
        _fade(unit, [name for fields, name in named.items() if set(fields) <= _fields([unit], LEGENDS + POSITIONS).keys()])
    return {**made, "params": params} if params else made


def _on_fields(param: dict[str, Any]) -> bool:
    return isinstance(param.get("select"), dict) and "fields" in param["select"]


def _views(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in (name for name in VIEWS[1:] if name in spec):
        for view in spec[part]:
            yield from _views(view)
    if "spec" in spec:
        yield from _views(spec["spec"])
    if "layer" in spec or "mark" in spec:
        yield spec


def _units(view: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "layer" not in view:
        yield view
    for layer in view.get("layer", ()):
        yield from _units(layer)


def _fields(units: list[dict[str, Any]], channels: tuple[str, ...]) -> dict[str, None]:
    found = (unit.get("encoding", {}).get(channel, {}) for unit in units for channel in channels)
    shown = (parameter for parameter in found if parameter.get("type") in DISCRETE and parameter.get("legend", "") is not None)
    return dict.fromkeys(parameter["field"] for parameter in shown if "field" in parameter)


def _named_views(spec: dict[str, Any], field: str) -> Iterator[str]:
    for number, view in enumerate(_views(spec), 1):
        unit = next((unit for unit in _units(view) if field in _fields([unit], LEGENDS + POSITIONS)), None)
        if unit is not None:
            named = next((each for each in _units(view) if "name" in each), unit)
            yield named.setdefault("name", f"plot_{number}")


def _fade(unit: dict[str, Any], names: list[str]) -> None:
    encoding = unit.setdefault("encoding", {})
    declared = encoding.get("opacity", {})
    condition = declared.get("condition", {})
    if not names or ("condition" in declared) != ("param" in condition) or "field" in declared:
        return
    mark = unit["mark"] if isinstance(unit["mark"], dict) else {}
    shown = condition.get("value", declared.get("value", mark.get("opacity", 1)))
    every = dict.fromkeys([*([condition["param"]] if condition else []), *names])
    encoding["opacity"] = {"condition": {"test": {"and": [{"param": name} for name in every]}, "value": shown}, "value": FADED}
