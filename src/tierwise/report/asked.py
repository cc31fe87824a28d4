"""The queries that were asked since something was last shown: what is shown next rests on them, and a table tells them."""

from collections.abc import Sequence
from inspect import cleandoc
from typing import Any, Final

_SINCE: Final[dict[str, None]] = {}


def note(sql: str, parameters: Sequence[Any]) -> None:
    """Keep `sql`, with its `parameters` in their order above it, until `take` is called."""
    told = f"-- with {', '.join(map(repr, parameters))}\n" if parameters else ""
    _SINCE[f"{told}{cleandoc(sql)};"] = None


def take() -> str:
    """Return the queries, each once and a line between them; they are then no longer kept. Empty where there were none."""
    told = "\n\n".join(_SINCE)
    _SINCE.clear()
    return told
