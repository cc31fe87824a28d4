"""Which data sets there are, from the names of their rooms, and where a reader wants each from."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from tierwise.core.errors import InputError

SYNTHETIC: Final = "synthetic"
"""The source of a data set that nobody asked to have from elsewhere."""


def names() -> list[str]:
    """Every data set, by the name of its folder in ``tierwise/datasets``, in alphabetical order."""
    rooms = files("tierwise") / "datasets"
    return sorted(room.name for room in rooms.iterdir() if (room / "__init__.py").is_file())


def chosen(sources: Mapping[str, str]) -> dict[str, str]:
    """Those of `sources` (data set -> ``synthetic``, ``download``, ``file:PATH`` and what else it knows) that are not the default.

    Raises:
        InputError: there is no such data set.
    """
    for name in sources:
        if name not in names():
            raise InputError("data set", value=name, rule=f"no such data set; there are: {', '.join(names())}")
    return {name: source for name, source in sorted(sources.items()) if source != SYNTHETIC}
