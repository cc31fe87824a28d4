"""The rows behind a figure, as a file that a reader downloads: what the chart was drawn from, no more and no less."""

import csv
from pathlib import Path
from typing import Any

from tierwise.core.files import replacing


def rows_of(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The data of the Vega-Lite `spec`, the largest set first; a single value is a line of the drawing and no row."""
    sets = [rows for rows in spec.get("datasets", {}).values() if len(rows) > 1 or any(len(row) > 1 for row in rows)]
    return [row for one in sorted(sets, key=len, reverse=True) for row in one]


def write_rows(spec: dict[str, Any], target: Path) -> int:
    """Write `rows_of` the Vega-Lite `spec` to the CSV file `target`; the number of rows. Without rows no file is written.

    Sets with other columns (observations, their means, published bands) stand below each other, empty where a set has no
    such column.
    """
    rows = rows_of(spec)
    if rows:
        with replacing(target) as part, part.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list(dict.fromkeys(name for row in rows for name in row)))
            writer.writeheader()
            writer.writerows(rows)
    return len(rows)
