"""The table of where the time of several sessions went, and of how busy each device was."""

from collections.abc import Mapping
from typing import Final

import polars as pl

from tierwise.core.sql_files import named_statements
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, NBSP, number
from tierwise.report.run import Run

SQL: Final = named_statements(__package__, "queries.sql")
PARTS: Final[Mapping[str, str]] = {
    "CPU": "^processor",
    "Row locks": "^row locks$",
    "Kernel locks": "^kernel locks$",
    "Log": "^WAL$",
    "Reads": "^reads",
    "Writes": "^writes",
    "Other": "^(other locks|client)$",
    "Rest": "^unnamed",
}
"""Header -> the resources that a column adds up, as a regular expression."""
DEVICE: Final = "device "  # what a row that is a device's utilisation is named by, before its tier


def records_sessions(run: Run, study: str, pair: str) -> bool:
    return bool(run.query(SQL["recorded"], {"study": study, "pair": pair}).item())


def tabulated(rows: pl.DataFrame, keys: Mapping[str, str], tiers: Mapping[str, str]) -> Cells | None:
    """Return a row for each group of `keys` (header -> column): means over its windows, in percent; `tiers`: their names."""
    cells = []
    for found, part in rows.group_by(list(keys.values()), maintain_order=True):
        windows = part["window_id"].n_unique()
        shares = dict(part.group_by("resource").agg(pl.col("share").sum() / windows).rows())
        names = pl.Series(list(shares), dtype=pl.String)
        recorded = names.filter(~names.str.starts_with(DEVICE))
        sums = [sum(shares[name] for name in recorded.filter(recorded.str.contains(expression))) for expression in PARTS.values()]
        busy = [_percent(shares[DEVICE + tier]) if DEVICE + tier in shares else DASH for tier in tiers]
        cells.append([*map(str, found), *(_percent(share) if recorded.len() else DASH for share in sums), f",{NBSP}".join(busy)])
    align = "l" * len(keys) + "r" * (len(PARTS) + 1)
    return Cells([*keys, *PARTS, f"{', '.join(tiers.values())} busy"], cells, align) if cells else None


def _percent(share: float) -> str:
    return number(100 * share, 2) if share >= 0.01 else f"{100 * share:.1f}" if share >= 0.0005 else "0"
