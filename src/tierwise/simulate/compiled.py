"""Loops that numba compiles, as mypy sees them: with the types that they are written with.

numba keeps compiled code until the file of the outermost function changes; here, until any module beside it that has compiled code
does, because inner parts may stand there.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numba import extending, types
from numba.core import caching
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Return `function` as machine code, kept on disk between processes; a division by zero gives infinity, as in C."""
    return _kept(function)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Return the same, and compiled into each loop that calls it: several times as fast where the call counts references to arrays."""
    return _kept(function, inline="always")


def released(function: Callable[P, R]) -> Callable[P, R]:
    """Compile as `compiled` does, without the interpreter's lock while it runs: threads really run it at once."""
    return _kept(function, nogil=True)


def bits_set(number: int) -> int:
    """Return how many of the lowest 32 bits of `number` are 1: one instruction, which numba has no name for."""
    return (number & 2**32 - 1).bit_count()


@extending.intrinsic
def _bits_set(_: Any, number: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.zext(builder.ctpop(builder.trunc(arguments[0], context.get_value_type(types.int32))), arguments[0].type)

    return types.int64(types.int64), generate


@extending.overload(bits_set)
def _overloaded(number: Any) -> Any:  # noqa: ARG001
    def counted(number: Any) -> int:
        return int(_bits_set(number))  # type: ignore[call-arg]  # the first is numba's own

    return counted


def _kept(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    numba.config.CACHE_LOCATOR_CLASSES = _PLACES  # type: ignore[attr-defined]  # a setting that numba makes of its environment
    return cast("Callable[P, R]", numba.njit(cache=True, error_model="numpy", **options)(function))


class _WithNeighbours:
    """Where compiled code is kept, as numba asks for it: stale once a module beside the function's has changed."""

    _py_file: str

    def get_source_stamp(self) -> bytes:
        return _texts(Path(self._py_file).parent)


class Named(_WithNeighbours, caching.UserProvidedCacheLocator):
    """A cache in ``NUMBA_CACHE_DIR``, where that is set."""


class InTree(_WithNeighbours, caching.InTreeCacheLocator):
    """Compiled code is kept beside the module, where that can be written."""


class UserWide(_WithNeighbours, caching.UserWideCacheLocator):
    """A cache in the user's folder."""


_PLACES: Final = ",".join(f"{place.__module__}.{place.__name__}" for place in (Named, InTree, UserWide))


@cache
def _texts(folder: Path) -> bytes:
    """A digest of the modules in `folder` that import this one."""
    every = hashlib.sha256()
    for module in sorted(folder.glob("*.py")):
        text = module.read_bytes()
        every.update(text if __name__.encode() in text else b"")
    return every.digest()
