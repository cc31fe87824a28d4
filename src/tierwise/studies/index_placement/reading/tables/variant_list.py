"""The variants that a run measured, and what each differs in."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.words import VARIANTS

QUERY: Final = "select distinct variant from index_placement where pair = $pair and cache = 'cold' and ratio is not null order by all"
UNIT: Final = "variants"


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(["Variant", "What differs"], [VARIANTS[name] for name in VARIANTS if name in set(rows["variant"])], "ll")
