"""The calculator as one HTML file: inputs, answer and chart, computed in the browser without a network."""

import json
from importlib.resources import files
from pathlib import Path

from tierwise.calculator import answer, axes, grid, market, shape
from tierwise.core.errors import InputError
from tierwise.core.files import write_whole
from tierwise.core.text_template import render
from tierwise.core.units import PAGE_BYTES
from tierwise.costs.book import Book
from tierwise.simulate.transactions import UPDATE_BYTES


def write_page(target: Path, book: Book) -> Path:
    """Write the page to the new file `target`, with every market at the prices of `book`."""
    if target.suffix != ".html" or target.exists():
        raise InputError("--page", value=str(target), rule="must be a new file whose name ends in .html", remedy="name another one")
    data = {
        "grid": grid.whole(),
        "markets": {name: market.read_market(name, book).model_dump(mode="json") for name in market.listed()},
        "fixed": {
            "entries": shape.ENTRIES,
            "rows": shape.ROWS,
            "hot": shape.HOT,
            "reference_rows": shape.REFERENCE_ROWS,
            "least_pages": grid.LEAST_PAGES,
            "whole": axes.WHOLE,
            "steps": answer.STEPS,
            "checkpoint_s": answer.CHECKPOINT_S,
            "log_intervals": answer.LOG_INTERVALS,
            "doublings": answer.DOUBLINGS,
            "bisections": answer.BISECTIONS,
            "depths": market.DEPTHS,
            "update_bytes": UPDATE_BYTES,
            "page_bytes": PAGE_BYTES,
        },
    }
    script = (files("tierwise") / "calculator" / "page" / "calculator.js").read_text(encoding="utf-8")
    shown = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    write_whole(target, render("calculator/page/page.html", data=shown, script=script))
    return target
