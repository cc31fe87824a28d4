"""Sliders for prices, and costs and answers as Vega expressions of them."""

from decimal import Decimal
from math import isqrt
from typing import Any, Final

import altair as alt
import polars as pl

from tierwise.report import colours
from tierwise.report.figures import parts

WAYS: Final = {
    "flash": ("one SSD", colours.BLUE),
    "memory": ("more RAM over a disk", colours.GREEN),
    "disks": ("more disks", colours.VERMILLION),
    "disk": ("one disk, with fewer reads", colours.ORANGE),
}
"""Way to serve the reads -> its name and colour."""
ANSWERS: Final = {"flash": "one SSD", "memory": "more RAM", "disks": "more disks"}
SHOWN: Final = {
    "ram": ("RAM, USD per GiB", 2.0**30),
    "ssd-enterprise": ("SSD, USD per TB", 1e12),
    "hdd-enterprise": ("disk, USD per TB", 1e12),
    "server-microserver-gen11": ("machine, USD", 1.0),
    "electricity": ("electricity, USD per kWh", 1.0),
}
"""Item -> the label of its slider, and how many base units its price is shown for."""
COLUMNS: Final = {item: item.replace("-", "_") for item in SHOWN}
STEPS: Final = 20  # the least number of steps of a slider up to the price that was read; it goes on to five times that


def slider(item: str, now: float) -> alt.Parameter:
    step = _step(now)
    bound = alt.binding_range(min=step, max=now * 5, step=step, name=SHOWN[item][0])
    return alt.param(name=f"price_{COLUMNS[item]}", value=now, bind=bound)


def _step(price: float) -> float:
    exact = Decimal(repr(price)).normalize()
    unit = Decimal(1).scaleb(int(exact.as_tuple().exponent))
    units = int(exact / unit)
    tens = 10 ** max(0, 3 - len(str(units)))  # a price of one digit has steps of two digits more
    units, unit = units * tens, unit / tens
    halves = (step for step in range(1, isqrt(units) + 1) if units % step == 0)
    return float(unit * (units // min(steps for half in halves for steps in (half, units // half) if steps >= STEPS)))


def cost_of(prefix: str = "") -> str:
    """Return the sum of needs times prices; `prefix`: of the columns of the needs."""
    return " + ".join(f"datum.{prefix}{name} * price_{name}" for name in COLUMNS.values())


def answers(rows: pl.DataFrame) -> alt.Chart:
    """Return a line of text for each ratio of data to RAM: the cheapest way, and the others over it; `rows`: needs by way and ratio."""
    named: dict[float, dict[str, Any]] = {ratio: {"ratio": f"data {ratio:g} x RAM"} for ratio in dict.fromkeys(rows["ratio"])}
    for way in ANSWERS:
        for row in rows.filter(way=WAYS[way][0]).rows(named=True):
            named[row["ratio"]] |= {f"{way}_{name}": row[name] for name in COLUMNS.values()}
    chart = alt.Chart(pl.DataFrame(list(named.values())))
    for way in ANSWERS:
        chart = chart.transform_calculate(**{f"cost_{way}": cost_of(f"{way}_")})
    others = f"datum.cost_memory <= datum.cost_disks ? {_answer('memory')} : {_answer('disks')}"
    first = f"datum.cost_flash <= min(datum.cost_memory, datum.cost_disks) ? {_answer('flash')} : {others}"
    shown: alt.Chart = (
        chart.transform_calculate(answer=first)
        .mark_text(align="left", fontSize=11)
        .encode(y=alt.Y("ratio:N", title=None, sort=None), x=alt.value(4), text="answer:N")
        .properties(width=parts.PLOT_PX, height=22 * len(named), title="The cheapest way")
    )
    return shown


def _answer(first: str) -> str:
    ratios = {name: f"format(datum.cost_{other} / datum.cost_{first}, '.3~r')" for other, name in ANSWERS.items() if other != first}
    return " + ".join([f"'{ANSWERS[first]}'", *(f"'; {name} ' + {ratio} + ' times as much'" for name, ratio in ratios.items())])
