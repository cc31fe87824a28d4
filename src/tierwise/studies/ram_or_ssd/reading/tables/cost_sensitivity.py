"""How far each price may move before another way to serve the Zipfian reads is the cheapest."""

from collections.abc import Mapping
from typing import Final

import polars as pl

from tierwise.costs.sensitivity import limits
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, number
from tierwise.report.run import Run
from tierwise.studies.ram_or_ssd.reading.days import beyond_memory, evidence, then_and_now

UNIT: Final = "prices"
HEADER: Final = ["Prices of", "Item", "Price", "Another way below", "Another way above"]


def edges(run: Run, _pair: str) -> pl.DataFrame:
    """Return day, item, price, unit, and below and above which price which other way is the cheapest; of the smallest data beyond RAM."""
    rows = []
    for day in reversed(then_and_now(run, beyond_memory(run)[0])):
        names = {day.three.flash.name: "one SSD", day.three.memory.name: "more RAM", day.three.disks.name: "more disks"}
        for limit in limits(day.three.bills, day.book):
            ways = {"below_way": names.get(limit.then_below or ""), "above_way": names.get(limit.then_above or "")}
            prices = {"price": limit.now, "unit": limit.unit, "below": limit.first_below, "above": limit.first_above}
            rows.append({"day": day.book.on, "item": limit.item, **prices, **ways, "of": evidence(run)})
    return pl.DataFrame(rows)


SOURCE = edges


def facts(rows: pl.DataFrame) -> Mapping[str, object]:
    return {"evidence": rows["of"][0]}


def tabulate(rows: pl.DataFrame) -> Cells:
    lines = [
        [
            f"{row['day']:%Y-%m}",
            f"`{row['item']}`",
            f"{row['price']:,g} {row['unit']}",
            *(f"{number(row[edge])}: {row[f'{edge}_way']}" if row[f"{edge}_way"] else DASH for edge in ("below", "above")),
        ]
        for row in rows.rows(named=True)
    ]
    return Cells(HEADER, lines, "llrll")
