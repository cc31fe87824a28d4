"""The calculator as HTML, for a page of the report or a file of its own: it computes answer and chart in the browser, without a network."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Final

from tierwise.calculator import answer, grid, market, shape
from tierwise.calculator.device_band import time_band
from tierwise.core.errors import InputError
from tierwise.core.files import write_whole
from tierwise.core.text_template import render
from tierwise.core.units import PAGE_BYTES
from tierwise.costs.book import Book
from tierwise.costs.volume_offers import PIECES
from tierwise.simulate.transactions import UPDATE_BYTES

FIXED: Final = {
    shape: ("ENTRIES", "ROWS", "HOT", "REFERENCE_ROWS"),
    grid: ("LEAST_PAGES", "WHOLE", "ERROR"),
    answer: ("STEPS", "CHECKPOINT_S", "LOG_INTERVALS", "DOUBLINGS", "BISECTIONS", "TIE"),
    market: ("DEPTHS",),
}
"""Module -> its constants that the page computes with."""


def write_page(target: Path, book: Book) -> Path:
    """Write the page to the new file `target`, with every market at the prices of `book`."""
    if target.suffix != ".html" or target.exists():
        raise InputError("--page", value=str(target), rule="must be a new file whose name ends in .html", remedy="name another one")
    write_whole(target, calculator(book, alone=True))
    return target


def calculator(book: Book, *, alone: bool = False) -> str:
    """Return the calculator as part of a page, or as a page `alone`, with every market at the prices of `book`."""
    markets = {name: market.read_market(name, book).model_dump(mode="json") for name in market.listed()}
    data = {
        "grid": grid.whole(),
        "markets": markets,
        "bands": {name: time_band(name) for found in markets.values() for name in found["devices"]},
        "fixed": {name.lower(): getattr(module, name) for module, names in FIXED.items() for name in names}
        | {"pieces": PIECES, "update_bytes": UPDATE_BYTES, "page_bytes": PAGE_BYTES},
    }
    script = (files("tierwise") / "calculator" / "page" / "calculator.js").read_text(encoding="utf-8")
    shown = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return render("calculator/page/page.html", alone=alone, data=shown, script=script, error=f"{100 * grid.ERROR:g}")
