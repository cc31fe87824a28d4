"""How many times as long a read of the RAID10 takes as one of the SSD, by every measure that both histograms have."""

from collections.abc import Callable, Mapping
from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import number, seconds
from tierwise.report.run import Run
from tierwise.studies.read_latency.reading import histograms
from tierwise.studies.read_latency.reading.names import SPACES

QUERY: Final = histograms.COUNTED_SQL
UNIT: Final = "reads"
PARAMETERS: Final = histograms.MEMORY
HEADER: Final = ["Measure", "Whose", SPACES["hdd"], SPACES["ssd"], "Times as long"]
MEASURES: Final[Mapping[str, Callable[[pl.DataFrame], float]]] = {
    "Mean": histograms.mean_us,
    "Middle of the fullest bucket": lambda rows: histograms.middle_us(int(rows.sort("reads")["bucket"][-1])),
    "Middle of the median's bucket": lambda rows: histograms.middle_us(histograms.quantile_bucket(rows, 0.5)),
}
REPLAYED: Final = "Mean, RAID10's reads on either"


def derive(run: Run, pair: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return disks_s, ssd_s and times by measure and whose, the last of them replayed; reads: how many were recorded."""
    if not {"hdd", "ssd"} <= set(rows["tablespace"]):
        return rows.clear()
    lines = []
    for measure, of in MEASURES.items():
        for whose, each in (("here", rows), ("published", histograms.published())):
            disks_s, ssd_s = (of(each.filter(tablespace=space)) / 1e6 for space in ("hdd", "ssd"))
            lines.append({"measure": measure, "whose": whose, "disks_s": disks_s, "ssd_s": ssd_s})
    means = {line["tier"]: line["mean_s"] for line in histograms.moved(run, pair) if line["tablespace"] == "hdd"}
    if {"hdd", "ssd"} <= means.keys():
        lines.append({"measure": REPLAYED, "whose": "simulated", "disks_s": means["hdd"], "ssd_s": means["ssd"]})
    every = histograms.total(rows.filter(tablespace="all"))
    return pl.DataFrame(lines).with_columns(times=pl.col("disks_s") / pl.col("ssd_s"), reads=pl.lit(every))


def facts(rows: pl.DataFrame) -> Mapping[str, object]:
    return {"n": rows["reads"][0] if rows.height else 0}


def tabulate(rows: pl.DataFrame) -> Cells:
    shown = rows.select("measure", "whose", "disks_s", "ssd_s", "times").iter_rows()
    return Cells(HEADER, [[*names, seconds(disks_s), seconds(ssd_s), number(times)] for *names, disks_s, ssd_s, times in shown], "llrrr")
