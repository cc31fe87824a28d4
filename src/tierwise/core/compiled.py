"""Loops that numba compiles, typed as they are written; kept until a module beside the function's that has such loops changes."""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, ParamSpec, Protocol, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # as numba has it
from numba import extending, types
from numba.core import caching, cgutils
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FOR_WRITING, _TO_KEEP, _DATA = 1, 3, 1
"""The arguments of LLVM's intrinsic: the number will be written as well, it will be used again, and it is no code."""

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=np.generic)


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Return `function` as machine code, kept on disk between processes; a division by zero gives infinity, as in C."""
    return _kept(function)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Return the same, and compiled into each loop that calls it: several times as fast where the call counts references to arrays."""
    return _kept(function, inline="always")


def released(function: Callable[P, R]) -> Callable[P, R]:
    """Compile as `compiled` does, without the interpreter's lock while it runs: threads really run it at once."""
    return _kept(function, nogil=True)


@extending.intrinsic
def _bits_set(_: Any, number: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.zext(builder.ctpop(builder.trunc(arguments[0], context.get_value_type(types.int32))), arguments[0].type)

    return types.int64(types.int64), generate


@extending.intrinsic
def _prefetch(_: Any, table: Any, at: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.gep(context.make_array(signature.args[0])(context, builder, arguments[0]).data, [arguments[1]])
        number, byte = ir.IntType(32), builder.bitcast(place, cgutils.voidptr_t)
        kind = ir.FunctionType(ir.VoidType(), [byte.type, number, number, number])
        instruction = builder.module.declare_intrinsic("llvm.prefetch", [byte.type], kind)
        builder.call(instruction, [byte, number(_FOR_WRITING), number(_TO_KEEP), number(_DATA)])
        return context.get_dummy_value()

    return types.void(table, types.int64), generate


@extending.intrinsic
def _uncounted(_: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = context.make_array(signature.args[0])(context, builder, arguments[0])
        found.meminfo = context.get_constant_null(types.voidptr)  # numba leaves counting out without this pointer
        return found._getvalue()

    return array(array), generate


class Uncounted(Protocol):
    def __call__(self, array: NDArray[T]) -> NDArray[T]: ...


# For compiled code alone: instructions that numba has no name for.
bits_set = cast("Callable[[Any], int]", _bits_set)
"""Return how many of the lowest 32 bits of a number are 1."""
prefetch = cast("Callable[[NDArray[Any], int], None]", _prefetch)
"""Have the processor fetch an entry of a table while it goes on, which changes nothing but time."""
uncounted = cast("Uncounted", _uncounted)
"""Return an array as one whose references are not counted: somebody else must hold it for as long as it is used."""


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
    every = hashlib.sha256()
    for module in sorted(folder.glob("*.py")):
        text = module.read_bytes()
        every.update(text if __name__.encode() in text else b"")
    return every.digest()
