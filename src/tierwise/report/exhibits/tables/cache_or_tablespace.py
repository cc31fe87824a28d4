"""The same bytes of SSD as a tablespace and as a cache of the disks."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import number, percent, seconds, size
from tierwise.report.run import Run
from tierwise.report.values.validation import CACHE, load

UNIT: Final = "sizes of SSD"
OF_RUN: Final = "nothing"
POLICIES: Final = ("smq", "bcache", "l2arc")


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  nothing of it hangs on a run
    return pl.DataFrame(load(*CACHE)["rows"])


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = []
    for row in rows.iter_rows(named=True):
        taken_s = {"tablespace": row["tablespace_s"], **{name: row[name]["seconds"] for name in POLICIES}}
        fastest = min(taken_s, key=taken_s.__getitem__)
        faster = {
            name: (f"**{number(row['disk_s'] / own_s)}**" if name == fastest else number(row["disk_s"] / own_s))
            for name, own_s in taken_s.items()
        }
        learned = {
            name: f" ({percent(row[name]['hit_ratio'])}, {seconds(row[name]['warm_s'])})" for name in POLICIES if row[name]["warm_s"]
        }
        cached = (faster[name] + learned.get(name, "") for name in POLICIES)
        cells.append([row["work"], f"{row['ssd']} ({size(row['ssd_bytes'])})", seconds(row["disk_s"]), faster["tablespace"], *cached])
    return Cells(["Work", "SSD as large as", "On disks", "Tablespace", "dm-cache (smq)", "bcache", "L2ARC"], cells, "llrrrrr")
