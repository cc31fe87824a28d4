"""What a year of each subsystem costs, of a usable terabyte and of an IOPS of it, at the source's prices and today's."""

from itertools import product
from typing import Final

import polars as pl

from tierwise.costs.hardware import TB, members
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count, listed, number
from tierwise.report.run import Run
from tierwise.studies.survey_arrays.reading.money import DISKS, FLASHES, SUBSYSTEMS, days, priced
from tierwise.studies.survey_arrays.reading.names import PLACES

UNIT: Final = "subsystems"
EVIDENCE: Final = "simulated"
BOUGHT: Final = {**SUBSYSTEMS, "both": (DISKS, FLASHES)}
NAMES: Final = {**PLACES, "both": "disks and SSDs, both RAID5"}
COSTS: Final = {"bill": "A year", "per_tb": "A TB", "per_iops": "An IOPS"}
WHEN: Final = ("then", "now")
HEADER: Final = ["Subsystem", "Drives", "TB", "IOPS", *(f"{what}, {when}" for what, when in product(COSTS.values(), WHEN))]


def costs(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001 - the subsystems are those of the source
    rows = []
    for place, devices in BOUGHT.items():
        bought = {when: (priced(devices, book, now=now), book) for when, (book, now) in zip(WHEN, days(run), strict=True)}
        usd = {f"{what}_{when}": getattr(each, what).cost(book) for what in COSTS for when, (each, book) in bought.items()}
        drives = listed(f"{count(number_of)} `{member}`" for member, number_of in map(members, devices))
        one, _ = bought["then"]
        rows.append({"place": place, "drives": drives, "usable_tb": one.usable_bytes / TB, "iops": one.iops, **usd})
    return pl.DataFrame(rows)


SOURCE: Final = costs


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = [[NAMES[place], drives, number(size), count(round(iops)), *map(number, usd)] for place, drives, size, iops, *usd in rows.rows()]
    return Cells(HEADER, cells, "llrrrrrrrr")
