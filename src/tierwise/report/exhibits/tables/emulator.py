"""fio on an emulated mount, beside the device model that replays the emulator's own arrivals."""

from typing import Final

import polars as pl

from tierwise.core.units import KIB, MIB
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import NBSP, count, difference
from tierwise.report.run import Run
from tierwise.report.values.validation import EMULATOR, load

UNIT: Final = "loads"
OF_RUN: Final = "nothing"
OPERATIONS: Final = {"randread": "random read", "randwrite": "random write", "read": "sequential read", "write": "sequential write"}
COLUMNS: Final = ("subject", "operation", "bytes", "depth", "jobs", "unit", "measured", "expected", "limit", "met")


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  nothing of it hangs on a run
    """Return the loads with an expected time (s) or bandwidth (B/s)."""
    held = [line for line in load(*EMULATOR)["rows"] if line["expected"] is not None]
    return pl.DataFrame([[line[name] for name in COLUMNS] for line in held], schema=COLUMNS, orient="row", infer_schema_length=None)


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = []
    for subject, operation, size_bytes, depth, jobs, unit, measured, expected, limit, met in rows.rows():
        size = f"{size_bytes // MIB} MiB" if size_bytes >= MIB else f"{size_bytes // KIB} KiB"
        off = difference(measured / expected)
        cells.append(
            [
                subject,
                f"{size} {OPERATIONS[operation]}",
                count(depth * jobs),
                *(f"{value * 1e3:.3f}{NBSP}ms" if unit == "s" else f"{value / 1e6:.0f}{NBSP}MB/s" for value in (measured, expected)),
                f"**{off}**" if met is False else off,
                "" if limit is None else f"{100 * limit:.0f}{NBSP}%",
            ]
        )
    return Cells(["Device", "Requests", "Outstanding", "Emulated", "Model alone", "Difference", "Bound"], cells, "llrrrrr")
