"""Loops that numba compiles, as mypy sees them: with the types that they are written with."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """`function` as machine code, kept on disk between processes; a division by zero gives infinity, as in C."""
    return cast("Callable[P, R]", numba.njit(cache=True, error_model="numpy")(function))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """The same, and compiled into each loop that calls it: several times as fast where the call counts references to arrays."""
    return cast("Callable[P, R]", numba.njit(cache=True, error_model="numpy", inline="always")(function))


def released(function: Callable[P, R]) -> Callable[P, R]:
    """As `compiled`, and without the interpreter's lock while it runs: threads really run it at once."""
    return cast("Callable[P, R]", numba.njit(cache=True, error_model="numpy", nogil=True)(function))
