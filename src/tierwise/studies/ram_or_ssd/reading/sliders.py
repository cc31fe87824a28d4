"""Sliders for prices, and costs as Vega expressions of them."""

from decimal import Decimal
from typing import Final

import altair as alt

SHOWN: Final = {
    "ram": ("RAM, USD per GiB", 2.0**30),
    "ssd-enterprise": ("SSD, USD per TB", 1e12),
    "hdd-enterprise": ("disk, USD per TB", 1e12),
    "server-microserver-gen11": ("machine, USD", 1.0),
    "electricity": ("electricity, USD per kWh", 1.0),
}
"""Item -> the label of its slider, and how many base units its price is shown for."""
COLUMNS: Final = {item: item.replace("-", "_") for item in SHOWN}
STEPS: Final = 20
"""The least number of steps of a slider up to the price that was read; it goes on to five times that."""


def slider(item: str, now: float) -> alt.Parameter:
    """Return a slider that begins at the price `now`."""
    step = _step(now)
    return alt.param(
        name=f"price_{COLUMNS[item]}", value=now, bind=alt.binding_range(min=step, max=now * 5, step=step, name=SHOWN[item][0])
    )


def _step(price: float) -> float:
    exact = Decimal(repr(price)).normalize()
    unit = Decimal(1).scaleb(int(exact.as_tuple().exponent))
    units = int(exact / unit)
    tens = 10 ** max(0, 3 - len(str(units)))  # a price of one digit has steps of two digits more
    units, unit = units * tens, unit / tens
    return float(unit * max(step for step in range(1, max(units // STEPS, 1) + 1) if units % step == 0))


def cost_of(prefix: str = "") -> str:
    """Return the sum of needs times prices; `prefix`: of the columns of the needs."""
    return " + ".join(f"datum.{prefix}{name} * price_{name}" for name in COLUMNS.values())
