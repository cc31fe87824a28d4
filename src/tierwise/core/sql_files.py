"""SQL in files of the package, where each statement stands below a line ``-- name: NAME``."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

NAME: Final = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


@cache
def named_statements(package: str, file: str) -> Mapping[str, str]:
    """Return name -> statement of `file`, which lies in `package`."""
    _, *parts = NAME.split((files(package) / file).read_text(encoding="utf-8"))
    return dict(zip(parts[::2], (text.strip() for text in parts[1::2]), strict=True))
