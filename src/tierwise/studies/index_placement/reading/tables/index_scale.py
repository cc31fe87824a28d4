"""The ratio of a cold count's times, index on SSD over index on disks, at several sizes of the table."""

from typing import Final

import polars as pl

from tierwise.analysis.statistics import geometric_estimate
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count
from tierwise.report.run import Run
from tierwise.report.scaling_table import Sizes, entries_of, ratios, table
from tierwise.studies.index_placement.reading.names import INDEX, STUDY

UNIT: Final = "paired ratios"
EMULATED_SQL: Final = """
select replicate, ratio from index_placement_gains
where variant = 'published' and pair = $pair and io_mode = 'direct' and cache = 'cold' and row = 'NV' and placement = 'index on SSD'
"""
"""Of the state that is counted at each size."""
COLUMNS: Final = ["evidence", "rows", "published_rows", "replicate", "ratio"]


def rows(run: Run, pair: str) -> pl.DataFrame:
    """Return a row for each size and replicate: the simulated ratio; and for each emulated replicate; none without several sizes."""
    entries = entries_of(run, STUDY, pair, "seconds")
    lines = ratios(entries, "seconds", "rows", of="ssd", over="hdd")
    published = [float(one["published_rows"]) for one in entries[:1]]
    simulated = [("simulated", size, *published, *one) for size, line in lines.items() for one in line.items()]
    emulated = [("emulated", max(lines), *published, *one) for one in run.query(EMULATED_SQL, {"pair": pair}).rows() if lines]
    return pl.DataFrame([*simulated, *emulated], schema=COLUMNS, orient="row")


SOURCE = rows


def facts(rows: pl.DataFrame) -> dict[str, object]:
    emulated = rows.filter(pl.col("evidence") == "emulated").height if rows.height else 0
    return {"n": emulated, "simulated": rows.height - emulated}


def sizes_of(rows: pl.DataFrame) -> Sizes:
    """Return the simulated ratios by size, and the emulated one, of the rows of `SOURCE`."""
    by_size = rows.filter(evidence="simulated").group_by("rows", maintain_order=True)
    line = {float(str(size)): dict(part.select("replicate", "ratio").rows()) for (size,), part in by_size}
    emulated = geometric_estimate(dict(rows.filter(evidence="emulated").select("replicate", "ratio").rows()))
    known = {} if emulated.value is None else {INDEX: emulated}
    return Sizes({INDEX: line}, rows["published_rows"][0], lambda size: f"{count(round(size))} rows", known)


def tabulate(rows: pl.DataFrame) -> Cells:
    return table(sizes_of(rows), "Ratio of times")
