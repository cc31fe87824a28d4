"""Numbers as a reader wants them: three significant digits, a unit that keeps them short."""

import math
import re
from collections.abc import Iterable
from typing import Final

from tierwise.analysis.intervals import without_width
from tierwise.core.units import MIB

FOLD: Final = 10.0  # a ratio that no reader takes for a difference
SECONDS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
DASH: Final = "\N{EN DASH}"
NO_INTERVAL: Final = "no interval"  # what stands in place of an interval without a width: all replicates have the same value
MINUS: Final = "\N{MINUS SIGN}"
NBSP: Final = "\N{NO-BREAK SPACE}"  # the space that stands before a unit, so that no line ends between a number and what it counts
UNIT: Final = re.compile(r"(?<=\d) (?=(?:%|[mµ]?s|[kKMGT]i?B|IOPS)(?!\w))")


def number(value: float, digits: int = 3) -> str:
    """Return ``54445`` -> ``'54,400'``, ``0.09812`` -> ``'0.0981'``: `digits` significant digits, never an exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, decimals)
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(decimals, 0)}f}"


def count(value: int) -> str:
    """Return ``54445`` -> ``'54,445'``: what was counted is not rounded."""
    return f"{value:,}"


def seconds(value_s: float) -> str:
    """Return ``0.0123`` -> ``'12.3 ms'``."""
    scale, unit = next(((scale, unit) for scale, unit in SECONDS if abs(value_s) >= scale), SECONDS[-1])
    return f"{number(value_s / scale)}{NBSP}{unit}"


def size(value_bytes: float) -> str:
    """Return ``1010 * 2**20`` -> ``'1,010 MiB'``."""
    return f"{number(value_bytes / MIB)}{NBSP}MiB"


def percent(share: float) -> str:
    """Return ``0.0222`` -> ``'2.22 %'``."""
    return f"{number(100 * share)}{NBSP}%"


def fixed(value: float, decimals: int, unit: str) -> str:
    """Return ``12.3456, 2, "ms"`` -> ``'12.35 ms'``."""
    return f"{value:.{decimals}f}{NBSP}{unit}"


def difference(ratio: float) -> str:
    """Return ``1.0236`` -> ``'+2.4 %'``, ``0.9997`` -> ``'0.0 %'``, and from `FOLD` on ``140.45`` -> ``'140-fold'``."""
    if ratio >= FOLD:
        return f"{number(ratio)}-fold"
    tenths = round(1000 * (ratio - 1))
    sign = "+" if tenths > 0 else MINUS if tenths < 0 else ""
    return f"{sign}{abs(tenths) / 10:.1f}{NBSP}%"


def tied(text: str) -> str:
    """Return `text` with each number bound to its unit, so that no line ends between them."""
    return UNIT.sub(NBSP, text)


def bold(text: str, chosen: bool) -> str:
    return f"**{text}**" if chosen else text


def code(name: str) -> str:
    return f"`{name}`"


def escaped(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]()<>#+-.!|@~^$\"'" else letter for letter in text)


def percents(shares: Iterable[float]) -> str:
    """Return the range of shares: ``'97.9 to 99.8 %'``, ``'98.1 %'`` where both ends read alike."""
    ends = [*shares]
    low, high = percent(min(ends)), percent(max(ends))
    return low if low == high else f"{low.removesuffix(f'{NBSP}%')} to {high}"


def interval(low: float, high: float) -> str:
    """Return ``'0.968 to 0.991'``; an open end is said in words."""
    if math.isinf(high):
        return f"above {number(low)}"
    if math.isinf(low) or low == 0:
        return f"at most {number(high)}"
    return f"{number(low)} to {number(high)}"


def with_interval(value: float, low: float, high: float) -> str:
    """Return ``'0.981 (0.979 to 0.983)'``, and ``'1.72 (no interval)'`` where all replicates have the same value."""
    return f"{number(value)} ({NO_INTERVAL if without_width(low, high) else interval(low, high)})"


def between(low: float, high: float, digits: int = 2) -> str:
    """Return ``'93 to 130'``, and ``'2.0'`` where both ends read alike."""
    return " to ".join(dict.fromkeys((number(low, digits), number(high, digits))))


def span(values: Iterable[float]) -> str:
    """Return the range of counts: ``'7'`` where all agree, else the least and the most with a dash."""
    whole = sorted({round(value) for value in values})
    return count(whole[0]) if len(whole) == 1 else f"{count(whole[0])}{DASH}{count(whole[-1])}"


def listed(words: Iterable[str]) -> str:
    """Return ``'a, b and c'``."""
    *first, last = [*words] or [""]
    return f"{', '.join(first)} and {last}" if first else last
