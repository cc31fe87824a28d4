"""The machine and its software, as far as they decide numbers; nothing that names the machine or its user."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import NBSP, count, number
from tierwise.report.run import Run
from tierwise.report.values.provenance import items

UNIT: Final = "items"


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of the whole run
    known = run.manifest.host
    rows = {
        "Processor": f"{known.cpu}, {count(known.cores)} cores, {known.architecture}",
        "Memory": f"{number(known.memory_bytes / 2**30)}{NBSP}GiB",
        "System": f"{known.distribution}, {known.system} {known.kernel}",
        "Virtual machine": "yes" if known.virtualized else "no",
        "Python": known.python,
        **{f"Package {name}": version for name, version in sorted(run.manifest.packages.items())},
    }
    return items(rows)


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(["Item", "Value"], rows.rows(), "ll")
