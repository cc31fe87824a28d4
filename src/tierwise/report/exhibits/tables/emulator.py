"""fio on an emulated mount, beside the device model that replays the emulator's own arrivals."""

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from tierwise.core.units import KIB, MIB
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import NBSP, count, difference
from tierwise.report.run import Run
from tierwise.report.values.validation import EMULATOR, load

UNIT: Final = "loads"
HELD: Final = ("accuracy", "data sheet", "scale")
OPERATIONS: Final = {"randread": "random read", "randwrite": "random write", "read": "sequential read", "write": "sequential write"}
COLUMNS: Final = ("part", "subject", "operation", "bytes", "depth", "jobs", "unit", "measured", "expected", "limit", "met")


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  nothing of it hangs on a run
    held = [line for line in load(*EMULATOR)["rows"] if line["part"] in HELD and line["expected"] is not None]
    return pl.DataFrame([[line[name] for name in COLUMNS] for line in held], schema=COLUMNS, orient="row", infer_schema_length=None)


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells:
    header = ["Device", "Requests", "Outstanding", "Emulated", "Model alone", "Difference", "Bound"]
    return Cells(header, [_row(row) for row in rows.rows(named=True)], "llrrrrr")


def _row(row: Mapping[str, Any]) -> list[str]:
    size = f"{row['bytes'] // MIB} MiB" if row["bytes"] >= MIB else f"{row['bytes'] // KIB} KiB"
    off = "" if row["unit"] == "IOPS" else difference(row["measured"] / row["expected"])
    bound = "" if row["limit"] is None else f"at least {count(int(row['limit']))}" if row["unit"] == "IOPS" else f"{row['limit']:.0%}"
    return [
        row["subject"],
        f"{size} {OPERATIONS[row['operation']]}",
        count(row["depth"] * row["jobs"]),
        _value(row, "measured"),
        _value(row, "expected"),
        f"**{off}**" if row["met"] is False else off,
        bound.replace("%", f"{NBSP}%"),
    ]


def _value(row: Mapping[str, Any], which: str) -> str:
    match row["unit"]:
        case "s":
            return f"{row[which] * 1e3:.3f}{NBSP}ms"
        case "B/s":
            return f"{row[which] / 1e6:.0f}{NBSP}MB/s"
        case _:
            return f"{count(round(row[which]))}{NBSP}IOPS"
