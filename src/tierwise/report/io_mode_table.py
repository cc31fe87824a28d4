"""A table of one value in each I/O mode: how far the answer depends on the mode that decides."""

from collections.abc import Mapping
from itertools import product
from typing import Final

import polars as pl

from tierwise.report.estimates import cell, estimates
from tierwise.report.exhibit_registry import Cells
from tierwise.report.words import IO_MODES

UNIT: Final = "repeats"


def tabulate(rows: pl.DataFrame, named: Mapping[str, tuple[str, Mapping[str, str]]], value: str) -> Cells | None:
    """Return estimates of `value`, a column for each mode; `named`: column of the rows -> its header, and the words of its values."""
    found = estimates(rows, [*named, "io_mode"], value)
    modes = [mode for mode in IO_MODES if any(key[-1] == mode and one.interval for key, one in found.items())]
    if not modes:
        return None
    words = [words for _, words in named.values()]
    cases = [case for case in product(*words) if any(key[:-1] == case for key in found)]
    return Cells(
        [*(header for header, _ in named.values()), *(IO_MODES[mode] for mode in modes)],
        [
            [*(said[part] for said, part in zip(words, case, strict=True)), *(cell(found.get((*case, mode))) for mode in modes)]
            for case in cases
        ],
        "l" * len(named) + "r" * len(modes),
    )
