"""Seek curves that a file of parameters gives by formula (DiskSim's notation), in place of a table of measured times."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tierwise.core.errors import InputError
from tierwise.devices.seek import SeekCurve
from tierwise.simulate.parameter_text import Block

SINGLE: Final = "Single cylinder seek time"
AVERAGE: Final = "Average seek time"
FULL: Final = "Full strobe seek time"
EQUATION: Final = "HPL seek equation values"
FIRST_TEN: Final = "First ten seek times"


def seek_table(mechanism: Block, model: Path) -> Path | None:
    """Return the table of measured times that `mechanism`, a block of the file `model`, names; it lies beside that file."""
    name = mechanism.text("Full seek curve", "").removeprefix("source ").strip()
    return model.with_name(name) if name and mechanism.text("Seek type", "").lower() == "extracted" else None


def seek_formula(mechanism: Block, cylinders: int) -> SeekCurve:
    """Return seconds over the distance on a drive of so many `cylinders`, by the block's *Seek type*.

    `linear`: from one cylinder to all; `curve`: ``a + b sqrt(d - 1) + c (d - 1)`` through the times for one cylinder, on average and for
    all of them; `constant`: the average at any distance; `hpl`: ``V2 + V3 sqrt(d)`` below V1 cylinders and ``V4 + V5 d`` from
    there, for one cylinder V6 unless it is -1; `hplplus10`: the same after ten times of their own.
    """
    kind = mechanism.text("Seek type", "").lower()
    curves: dict[str, Callable[[Block, int], SeekCurve]] = {
        "linear": _linear,
        "curve": _three_points,
        "constant": _constant,
        "hpl": _equation,
        "hplplus10": _after_ten,
    }
    if kind not in curves:
        remedy = "give a table of cylinders and milliseconds with --seek"
        raise InputError(mechanism.where, field="Seek type", value=kind or None, rule=f"must be one of {', '.join(curves)}", remedy=remedy)
    curve_ms = curves[kind](mechanism, cylinders)
    lowest_ms = min(curve_ms(distance) for distance in range(1, cylinders + 1))
    if lowest_ms < 0:
        raise InputError(mechanism.where, field="Seek type", value=kind, rule=f"gives {lowest_ms:g} ms at some distance, below zero")
    return lambda distance: curve_ms(max(1.0, distance)) / 1e3


def _linear(mechanism: Block, cylinders: int) -> SeekCurve:
    single_ms, full_ms = mechanism.number(SINGLE), mechanism.number(FULL)
    return lambda distance: single_ms + (full_ms - single_ms) * (distance - 1) / max(1, cylinders - 2)


def _three_points(mechanism: Block, cylinders: int) -> SeekCurve:
    single_ms, mean_ms, full_ms = (mechanism.number(name) for name in (SINGLE, AVERAGE, FULL))
    root_ms = 5 * (mean_ms - single_ms) - 5 / 3 * (full_ms - single_ms)
    rest_ms = full_ms - single_ms - root_ms

    def curve_ms(distance: float) -> float:
        share = (distance - 1) / cylinders
        return single_ms + root_ms * math.sqrt(share) + rest_ms * share

    return curve_ms


def _constant(mechanism: Block, _cylinders: int) -> SeekCurve:
    mean_ms = mechanism.number(AVERAGE)
    return lambda _distance: mean_ms


def _equation(mechanism: Block, _cylinders: int) -> SeekCurve:
    border, near_ms, root_ms, far_ms, slope_ms, single_ms = _list(mechanism, EQUATION, 6)

    def curve_ms(distance: float) -> float:
        if distance <= 1 and single_ms != -1:
            return single_ms
        return near_ms + root_ms * math.sqrt(distance) if distance < border else far_ms + slope_ms * distance

    return curve_ms


def _after_ten(mechanism: Block, cylinders: int) -> SeekCurve:
    first_ms, equation = _list(mechanism, FIRST_TEN, 10), _equation(mechanism, cylinders)
    return lambda distance: first_ms[round(distance) - 1] if distance <= len(first_ms) else equation(distance)


def _list(mechanism: Block, name: str, count: int) -> list[float]:
    try:
        found = [float(item) for item in mechanism.items(name) if isinstance(item, str)]
    except ValueError:
        found = []
    if len(found) != count:
        raise InputError(mechanism.where, field=name, value=len(found), rule=f"must be {count} numbers in brackets")
    return found
