"""What the reads of the SSD machine cost in a year from one SSD, from more RAM and from more disks, then and now."""

from collections.abc import Mapping
from typing import Final

import polars as pl

from tierwise.costs.sensitivity import ratio_over_band
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count, interval, number
from tierwise.report.run import Run
from tierwise.studies.ram_or_ssd.reading.days import beyond_memory, evidence, then_and_now

UNIT: Final = "comparisons"
HEADER: Final = ["Data over RAM", "Prices of", "One SSD", "More RAM", "More disks", "RAM over SSD", "Disks over RAM"]
WAYS: Final = ("flash", "memory", "disks")


def same_reads(run: Run, _pair: str) -> pl.DataFrame:
    """Return a row for each data size and day: cost in USD, drives and machines of each way, and the ratios over the price band."""
    rows = []
    for case in beyond_memory(run):
        for day in reversed(then_and_now(run, case)):
            plans = {way: getattr(day.three, way) for way in WAYS}
            row = {"data_over_ram": case.data_to_ram, "day": day.book.on, "of": evidence(run)}
            for way, plan in plans.items():
                row |= {f"{way}_usd": plan.bill.cost(day.book), f"{way}_drives": plan.devices, f"{way}_machines": plan.machines}
            for over, under in (("memory", "flash"), ("disks", "memory")):
                low, high = ratio_over_band(plans[over].bill, plans[under].bill, day.book)
                row |= {f"{over}_low": low, f"{over}_high": high}
            rows.append(row)
    return pl.DataFrame(rows)


SOURCE = same_reads


def facts(rows: pl.DataFrame) -> Mapping[str, object]:
    return {"evidence": rows["of"][0]}


def tabulate(rows: pl.DataFrame) -> Cells:
    lines = [
        [
            f"{row['data_over_ram']:g}",
            f"{row['day']:%Y-%m}",
            *(_bought(row, way) for way in WAYS),
            *(interval(row[f"{over}_low"], row[f"{over}_high"]) for over in ("memory", "disks")),
        ]
        for row in rows.rows(named=True)
    ]
    return Cells(HEADER, lines, "llrrrrr")


def _bought(row: Mapping[str, float], way: str) -> str:
    pieces = ((int(row[f"{way}_drives"]), "drive"), (int(row[f"{way}_machines"]), "machine"))
    each = (f"{count(number_of)} {what}{'' if number_of == 1 else 's'}" for number_of, what in pieces)
    return f"{number(row[f'{way}_usd'])} ({', '.join(each)})"
