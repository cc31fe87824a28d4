"""Text that a person wrote or may have touched: read as UTF-8, or refused with the reason."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tierwise.core.errors import InputError
from tierwise.core.paths import short


def read_text(path: Path, where: str = "") -> str:
    """Return the text of the file `path`, its ends of lines as they stand there; `where`: what a reader calls it, if not by its place."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(where or short(path), rule=f"cannot be read: {error.strerror}") from error
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line, wrong = content.count(b"\n", 0, error.start) + 1, content[error.start : error.end]
        raise InputError(f"{where or short(path)} line {line}", value=wrong, rule="not UTF-8", remedy="save the file as UTF-8") from error


def read_json(path: Path, where: str = "") -> Any:
    text = read_text(path, where)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # too many digits of a number are the former, brackets in brackets the latter
        raise InputError(where or short(path), rule=f"must be JSON ({error})") from error


def read_csv(path: Path) -> Iterator[list[str]]:
    rows = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    number = 1
    try:
        for cells in rows:
            yield cells
            number += 1
    except csv.Error as error:
        raise InputError(f"{short(path)} row {number}", rule=f"not valid CSV: {error}", remedy="close every quote") from error
