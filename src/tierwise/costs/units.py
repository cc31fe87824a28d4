"""What a price is a price of: an amount and a unit, such as ``piece``, ``8 GiB`` or ``IOPS-month``."""

import re
from typing import Final

from tierwise.core.units import GB, GIB, KIB, MB, MIB

DAYS_A_YEAR: Final = 365.25
HOURS_A_YEAR: Final = DAYS_A_YEAR * 24
MONTHS_A_YEAR: Final = 12
SECONDS_A_YEAR: Final = HOURS_A_YEAR * 3600

_SIZES: Final[dict[str, float]] = {"KB": 1e3, "MB": MB, "GB": GB, "TB": 1e12, "KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": 2.0**40}

UNITS: Final[dict[str, tuple[str, float]]] = {
    "piece": ("piece", 1.0),
    "hour": ("hour", 1.0),
    "request": ("request", 1.0),
    "kWh": ("kWh", 1.0),
    "IOPS-month": ("IOPS-month", 1.0),
    **{name: ("byte", size) for name, size in _SIZES.items()},
    **{f"{name}-month": ("byte-month", size) for name, size in _SIZES.items()},
    **{f"{name}/s-month": ("byte/s-month", size) for name, size in _SIZES.items()},
}
"""Unit -> what it measures, and its worth in that: decimal (GB) and binary (GiB) sizes differ."""

_CURRENCY: Final = re.compile(r"[A-Z]{3}([12][0-9]{3})?")
_AMOUNT: Final = re.compile(r"(?:([0-9]+(?:\.[0-9]+)?) )?(\S+)")


def measure(unit: str) -> tuple[str, float]:
    """Return (what `unit` measures, its worth in that): ``8 GiB`` -> ``("byte", 2**33)``; a currency measures itself."""
    found = _AMOUNT.fullmatch(unit)
    amount, name = (float(found[1] or 1), found[2]) if found else (0.0, unit)
    if amount > 0 and name in UNITS:
        dimension, worth = UNITS[name]
        return dimension, amount * worth
    if amount > 0 and _CURRENCY.fullmatch(name):
        return name, amount
    raise ValueError(f"must be one of {', '.join(UNITS)} or a currency, a number before it or not, not {unit!r}")
