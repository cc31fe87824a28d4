"""How long a device takes for a request, and between which times that may lie, by the parameters that no source states.

Each of these parameters moves alone to both ends of its band. Their shifts are combined as those of a model interval (`analysis`): by the
root sum of their squares on the log scale, upward and downward apart.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from math import exp, hypot, log
from typing import Any, Final

from tierwise.advisor.service import SEED, Counted
from tierwise.core.units import PAGE_BYTES
from tierwise.costs.hardware import capacity_bytes
from tierwise.devices.model import build
from tierwise.devices.parameter import ASSUMED, UNITS, Parameter, sourced
from tierwise.devices.spec import DeviceSpec, load_device

FACTORS: Final = (0.5, 2.0)  # band of an assumed parameter whose file gives none, as the rule of ``data/sensitivity/bands.toml``
MOVED: Final = {"time", "rate", "frequency"}
Times = tuple[float, float, float]  # seconds of a random read, a random write and a commit of a client that waits alone


def times(spec: DeviceSpec, whole_bytes: int) -> Times:
    new = partial(build, spec, seed=SEED)
    counted = partial(Counted, sequential_reads=None, read_bytes=PAGE_BYTES, write_bytes=PAGE_BYTES, depth=1)
    read, write, commit = counted(reads=1, writes=0, log=False), counted(reads=0, writes=1, log=False), counted(reads=0, writes=1, log=True)
    return read.service_s(new, whole_bytes), write.service_s(new, whole_bytes), commit.service_s(new, whole_bytes)


@cache
def time_band(name: str) -> tuple[Times, Times]:
    """Return the shortest and the longest times of the device `name`."""
    spec, whole_bytes = load_device(name), capacity_bytes(name)
    own = times(spec, whole_bytes)
    shifts: list[list[tuple[float, float]]] = [[], [], []]
    for place, parameter in sourced(spec):
        moved = [times(other, whole_bytes) for other in _others(spec, place, parameter)]
        for kind, kept in enumerate(shifts):
            logs = [0.0, *(log(ends[kind] / own[kind]) for ends in moved)]
            kept.append((min(logs), max(logs)))
    low, high = (
        [time_s * exp(sign * hypot(*(shift[end] for shift in kept))) for time_s, kept in zip(own, shifts, strict=True)]
        for end, sign in enumerate((-1, 1))
    )
    return (low[0], low[1], low[2]), (high[0], high[1], high[2])


def _others(spec: DeviceSpec, place: str, parameter: object) -> Iterator[DeviceSpec]:
    """Yield the device with the parameter at either end, but for an end that the model refuses."""
    if not isinstance(parameter, Parameter) or not (parameter.low is not None or parameter.source == ASSUMED):
        return
    if parameter.low is not None and parameter.high is not None:
        ends = [parameter.low, parameter.high]
    else:
        ends = [parameter.value * factor for factor in FACTORS if UNITS[parameter.unit][0] in MOVED]
    for value in ends:
        with suppress(ValueError):
            yield type(spec).model_validate(_with(spec, place.split("."), value).model_dump())


def _with(part: Any, place: Sequence[str], value: float) -> Any:
    """Return `part` with the value at `place`."""
    name, *rest = place
    inner = getattr(part, name)
    changed = _with(inner, rest, value) if rest else inner.model_copy(update={"value": value, "low": None, "high": None})
    return part.model_copy(update={name: changed})
