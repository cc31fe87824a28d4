"""The server's settings while measuring; equal ones stand once."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.run import Run

UNIT: Final = "settings"


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of the whole run
    where: dict[tuple[str, str], list[str]] = {}
    served = [record for record in run.manifest.studies if record.server_version]  # a simulated study has no server
    for record in served:
        for name, value in {"server version": record.server_version, **record.settings}.items():
            where.setdefault((name, value), []).append(f"{record.name} on {record.pair}")
    found = [
        (f"`{name}`", f"`{value}`" if value else "(empty)", "all" if len(places) == len(served) else ", ".join(places))
        for (name, value), places in sorted(where.items())
    ]
    return pl.DataFrame(found, orient="row")


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(["Setting", "Value", "Study and pair"], rows.rows(), "lll")
