"""A device at the ends of what nobody states of it: every parameter that has a band, at the end that makes the device quick or slow."""

from typing import TypeVar

from pydantic import BaseModel

from tierwise.devices.parameter import UNITS, Parameter, sourced

Part = TypeVar("Part", bound=BaseModel)


def banded(spec: BaseModel) -> dict[str, Parameter]:
    """Return ``write_cache.latency`` -> parameter, of everything in `spec` that has a band."""
    return {place: one for place, one in sourced(spec) if isinstance(one, Parameter) and one.low is not None}


def at_end(spec: Part, *, quick: bool) -> Part:
    """Return the device `spec` with what has a band at one end of it: times short and everything else much, or the other way round."""
    inner = {name: getattr(spec, name) for name in type(spec).model_fields}
    moved = {
        name: _end(one, quick=quick) if isinstance(one, Parameter) else at_end(one, quick=quick)
        for name, one in inner.items()
        if isinstance(one, BaseModel)
    }
    return spec.model_copy(update=moved)


def _end(one: Parameter, *, quick: bool) -> Parameter:
    low = quick is (UNITS[one.unit][0] == "time")
    end = one.low if low else one.high
    return one if end is None else one.model_copy(update={"value": end})
