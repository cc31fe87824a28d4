"""One number, yes or no of a device, with its unit, where it was read, of which day, and the band of what nobody states."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from tierwise.core.dates import Day
from tierwise.core.toml import Strict

ASSUMED = "assumed"  # the source of a parameter that nobody of this study has read anywhere

WORTHS: dict[str, dict[str, float]] = {
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6},
    "size": {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40, "MB": 1e6, "GB": 1e9, "TB": 1e12},
    "rate": {"MB/s": 1e6, "MiB/s": 2.0**20},
    "turnover": {"MiB/s/TiB": 2.0**-20},
    "frequency": {"IOPS": 1.0},
    "density": {"IOPS/GiB": 2.0**-30},
    "rotation": {"rpm": 1 / 60},
    "count": {"1": 1.0},
}
"""What is measured -> its units, each with its worth in seconds, bytes, bytes per second (of each byte), requests per second (of each
byte), turns per second or pieces."""
UNITS = {unit: (dimension, worth) for dimension, units in WORTHS.items() for unit, worth in units.items()}
"""Unit -> what it measures, and its worth in that."""


BOUNDS: dict[str, tuple[float, float]] = {
    "time": (0.0, 1e4),
    "size": (1.0, 2.0**60),
    "rate": (1.0, 1e13),
    "turnover": (1e-9, 1e3),
    "frequency": (1e-3, 1e10),
    "density": (1e-15, 1.0),
    "rotation": (1e-2, 1e4),
    "count": (1.0, 4096.0),
}
"""Least and most of a value, in the units of `Parameter.base`: far beyond any device, and near enough for its model to reckon with."""


class Sourced(Strict):
    source: str = Field(pattern=r"\S", description=f"what was read, or exactly `{ASSUMED}`")
    date: Day | None = None  # of what was read; of an undated page the day on which it was read
    fitted_on: str | None = Field(default=None, description="the data that the value was fitted on; no claim on them is judged with it")


class Parameter(Sourced):
    value: float = Field(strict=True, allow_inf_nan=False)
    unit: str
    low: float | None = Field(default=None, strict=True, allow_inf_nan=False, description="with high: between which the value may lie")
    high: float | None = Field(default=None, strict=True, allow_inf_nan=False)

    @property
    def band(self) -> tuple[float, float]:
        """Return the bounds of the value, (lower, upper) in the unit of `base`, which are both the value where it has no band."""
        worth = UNITS[self.unit][1]
        return (self.value if self.low is None else self.low) * worth, (self.value if self.high is None else self.high) * worth

    @property
    def base(self) -> float:
        """Return the value in seconds, bytes, bytes per second, requests per second, turns per second or pieces."""
        return self.value * UNITS[self.unit][1]


class Flag(Sourced):
    value: bool = Field(strict=True)


def _measures(parameter: Parameter, *, dimension: str, zero: bool = False) -> Parameter:
    if parameter.unit not in (units := WORTHS[dimension]):
        raise ValueError(f"its unit must be one of {', '.join(units)}, not {parameter.unit!r}")
    if parameter.value < 0 or (parameter.value == 0 and not zero):
        raise ValueError(f"its value must be {'zero or more' if zero else 'above zero'}, not {parameter.value:g} {parameter.unit}")
    if dimension == "count" and parameter.value % 1:
        raise ValueError(f"its value must be a whole number, not {parameter.value:g}")
    if (parameter.low is None) != (parameter.high is None):
        raise ValueError("low and high go together")
    least, most = BOUNDS[dimension]
    if parameter.value and not all(bound == 0 or least <= bound <= most for bound in (parameter.base, *parameter.band)):
        worth = UNITS[parameter.unit][1]
        raise ValueError(f"its value must be from {least / worth:g} to {most / worth:g} {parameter.unit}, not {parameter.value:g}")
    if parameter.low is not None and parameter.high is not None and not 0 <= parameter.low <= parameter.value <= parameter.high:
        raise ValueError(f"its value must lie in its band, {parameter.low:g} to {parameter.high:g} {parameter.unit}")
    return parameter


Time = Annotated[Parameter, AfterValidator(partial(_measures, dimension="time", zero=True))]
Size = Annotated[Parameter, AfterValidator(partial(_measures, dimension="size"))]
Rate = Annotated[Parameter, AfterValidator(partial(_measures, dimension="rate"))]
Frequency = Annotated[Parameter, AfterValidator(partial(_measures, dimension="frequency"))]
Density = Annotated[Parameter, AfterValidator(partial(_measures, dimension="density"))]
Turnover = Annotated[Parameter, AfterValidator(partial(_measures, dimension="turnover"))]
Rotation = Annotated[Parameter, AfterValidator(partial(_measures, dimension="rotation"))]
Count = Annotated[Parameter, AfterValidator(partial(_measures, dimension="count"))]


def assumed(value: float, unit: str) -> Parameter:
    return Parameter(value=value, unit=unit, source=ASSUMED)


def sourced(spec: BaseModel, place: str = "") -> Iterator[tuple[str, Sourced]]:
    """Yield (``limits.iops``, parameter) of everything in `spec` that has a source."""
    for name in type(spec).model_fields:
        inner = getattr(spec, name)
        if isinstance(inner, Sourced):
            yield place + name, inner
        elif isinstance(inner, BaseModel):
            yield from sourced(inner, f"{place}{name}.")
