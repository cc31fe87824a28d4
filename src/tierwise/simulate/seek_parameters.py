"""Seek curves that a file of parameters gives by formula (DiskSim's notation), in place of a table of measured times."""

import math
from pathlib import Path
from typing import Final

from tierwise.core.errors import InputError
from tierwise.devices.seek import SeekCurve
from tierwise.devices.spec import three_point_curve
from tierwise.simulate.parameter_text import Block

SINGLE: Final = "Single cylinder seek time"
AVERAGE: Final = "Average seek time"
FULL: Final = "Full strobe seek time"
EQUATION: Final = "HPL seek equation values"
FIRST_TEN: Final = "First ten seek times"
KINDS: Final = ("linear", "curve", "constant", "hpl", "hplplus10")


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
    number, kind = mechanism.number, mechanism.text("Seek type", "").lower()
    if kind not in KINDS:
        remedy = "give a table of cylinders and milliseconds with --seek"
        raise InputError(mechanism.where, field="Seek type", value=kind or None, rule=f"must be one of {', '.join(KINDS)}", remedy=remedy)
    if kind == "linear":
        curve_ms = _line(number(SINGLE), number(FULL), cylinders)
    elif kind == "curve":
        curve_ms = _three_points(number(SINGLE), number(AVERAGE), number(FULL), cylinders)
    elif kind == "constant":
        curve_ms = _line(number(AVERAGE), number(AVERAGE), cylinders)
    else:
        first_ms = _list(mechanism, FIRST_TEN, 10) if kind == "hplplus10" else []
        curve_ms = _equation(_list(mechanism, EQUATION, 6), first_ms)
    lowest_ms = min(curve_ms(distance) for distance in range(1, cylinders + 1))
    if lowest_ms < 0:
        raise InputError(mechanism.where, field="Seek type", value=kind, rule=f"gives {lowest_ms:g} ms at some distance, below zero")
    return lambda distance: curve_ms(max(1.0, distance)) / 1e3


def _line(single_ms: float, full_ms: float, cylinders: int) -> SeekCurve:
    return lambda distance: single_ms + (full_ms - single_ms) * (distance - 1) / max(1, cylinders - 2)


def _three_points(single_ms: float, mean_ms: float, full_ms: float, cylinders: int) -> SeekCurve:
    fixed_ms, root_ms, rest_ms = three_point_curve(single_ms, mean_ms, full_ms)

    def curve_ms(distance: float) -> float:
        share = (distance - 1) / cylinders
        return fixed_ms + root_ms * math.sqrt(share) + rest_ms * share

    return curve_ms


def _equation(values: list[float], first_ms: list[float]) -> SeekCurve:
    border, near_ms, root_ms, far_ms, slope_ms, single_ms = values

    def curve_ms(distance: float) -> float:
        if distance <= len(first_ms):
            return first_ms[round(distance) - 1]
        if distance <= 1 and single_ms != -1:
            return single_ms
        return near_ms + root_ms * math.sqrt(distance) if distance < border else far_ms + slope_ms * distance

    return curve_ms


def _list(mechanism: Block, name: str, count: int) -> list[float]:
    try:
        found = [float(item) for item in mechanism.items(name) if isinstance(item, str)]
    except ValueError:
        found = []
    if len(found) != count:
        raise InputError(mechanism.where, field=name, value=len(found), rule=f"must be {count} numbers in brackets")
    return found
