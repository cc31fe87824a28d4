"""Reads, misses and device reads by drive and size of the data, beside the author's logs and Che's approximation."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, count, difference, number, percent
from tierwise.studies.ram_or_ssd.reading.sizes import SEEDS_SQL, SSD, simulated, with_references

QUERY: Final = SEEDS_SQL
UNIT: Final = "simulated runs"
PARAMETERS: Final = SSD
HEADER: Final = [
    "Drive",
    "Data, GiB",
    "Reads/s, simulated",
    "Missed",
    "Device reads/s",
    "Reads/s, published log",
    "Difference",
    "Reads/s by Che",
]
derive = with_references
facts = simulated


def tabulate(rows: pl.DataFrame) -> Cells:
    others = {
        (how, drive, size): reads for how, drive, size, reads in rows.select("how", "drive", "dataset_gib", "reads_per_s").iter_rows()
    }
    measures = pl.col("reads_per_s", "miss_ratio", "device_iops").mean()
    means = rows.filter(how="simulated").sort("tier", "dataset_gib").group_by("drive", "dataset_gib", maintain_order=True).agg(measures)
    lines = []
    for drive, size, reads, missed, iops in means.iter_rows():
        log, other = (others.get((how, drive, size)) for how in ("published", "Che"))
        compared = [number(log) if log else DASH, difference(reads / log) if log else DASH, number(other) if other else DASH]
        lines.append([drive, count(size), number(reads), percent(missed), number(iops), *compared])
    return Cells(HEADER, lines, "lrrrrrrr")
