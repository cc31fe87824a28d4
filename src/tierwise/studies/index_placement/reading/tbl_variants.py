"""Speed-up by the index on the SSD in each variant, and what each variant differs in."""

from typing import Final

import polars as pl

from tierwise.analysis.statistics import Estimate
from tierwise.report.estimates import estimates
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, between, interval
from tierwise.report.words import VARIANTS
from tierwise.studies.index_placement.reading.names import clean

UNIT: Final = "paired ratios"
HEADER: Final = ["Variant", "What differs", "Cold cache", "After another state"]
derive = clean


def tabulate(rows: pl.DataFrame) -> Cells:
    shown: dict[str, dict[str, list[Estimate]]] = {}
    for (variant, cache, _), one in estimates(rows, ["variant", "cache", "row"], "speedup").items():
        shown.setdefault(variant, {"cold": [], "cross": []})[cache].append(one)
    ordered = sorted(shown.items(), key=lambda item: -max((one.value or 0.0 for one in item[1]["cold"]), default=0.0))
    cells = [[*VARIANTS[variant], *(_range(found[cache]) for cache in ("cold", "cross"))] for variant, found in ordered]
    return Cells(HEADER, cells, "llrr")


def _range(found: list[Estimate]) -> str:
    values, ends = [one.value for one in found if one.value is not None], [end for one in found for end in one.interval or ()]
    return f"{between(min(values), max(values), 3)} ({interval(min(ends), max(ends))})" if ends else DASH
