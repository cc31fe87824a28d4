"""A device at the ends of what nobody states of it: every parameter that has a band, at the end that makes the device quick or slow."""

from typing import TypeVar

from pydantic import BaseModel

from tierwise.devices.parameter import UNITS, Parameter
from tierwise.devices.spec import DeviceSpec

Part = TypeVar("Part", bound=BaseModel)


def banded(spec: BaseModel, place: str = "") -> dict[str, Parameter]:
    """Return ``write_cache.latency`` -> parameter, of everything in `spec` that has a band."""
    found: dict[str, Parameter] = {}
    for name in type(spec).model_fields:
        inner = getattr(spec, name)
        if isinstance(inner, Parameter):
            found |= {place + name: inner} if inner.low is not None else {}
        elif isinstance(inner, BaseModel):
            found |= banded(inner, f"{place}{name}.")
    return found


def at_end(spec: DeviceSpec, *, quick: bool) -> DeviceSpec:
    """Return the device `spec` with what has a band at one end of it: times short and everything else much, or the other way round."""
    return _moved(spec, quick=quick)


def _moved(spec: Part, *, quick: bool) -> Part:
    inner = {name: getattr(spec, name) for name in type(spec).model_fields}
    moved = {
        name: _end(one, quick=quick) if isinstance(one, Parameter) else _moved(one, quick=quick)
        for name, one in inner.items()
        if isinstance(one, BaseModel)
    }
    return spec.model_copy(update=moved)


def _end(one: Parameter, *, quick: bool) -> Parameter:
    low = quick is (UNITS[one.unit][0] == "time")
    end = one.low if low else one.high
    return one if end is None else one.model_copy(update={"value": end})
