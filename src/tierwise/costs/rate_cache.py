"""Simulated rates, kept between processes: the kernels of a report's chapters and the commands ask for the same ones again and again."""

import hashlib
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path

from tierwise.core import paths
from tierwise.core.files import write_whole


def cached_rate(what: str, simulate: Callable[[], float]) -> float:
    """Return the number that `simulate` gives, kept by `what` (all of its inputs), the code and this Python, where files can be written."""
    if paths.installed():
        return simulate()  # a wheel is not written into
    named = hashlib.sha256(f"{_code()}\n{sys.version}\n{what}".encode()).hexdigest()
    place = paths.home() / "report" / "_build" / "rates" / named
    with suppress(OSError, ValueError):  # none yet, or what is no number
        return float(place.read_text(encoding="utf-8"))
    found = simulate()
    with suppress(OSError):  # another's checkout, or a full disk
        write_whole(place, repr(found))
    return found


@cache
def _code() -> str:
    package = Path(str(files("tierwise")))
    modules = [*sorted((package / "core").glob("*.py")), *sorted((package / "devices").glob("*.py")), package / "costs" / "iops.py"]
    return hashlib.sha256(b"\0".join(path.name.encode() + b"\0" + path.read_bytes() for path in modules)).hexdigest()
