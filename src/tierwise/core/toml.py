"""Read a TOML file into a pydantic model, with errors that name file, field, value and rule; and write a table as TOML."""

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tierwise.core import paths, renamed
from tierwise.core.errors import InputError, suggesting
from tierwise.core.paths import short
from tierwise.core.text_files import read_text

Model = TypeVar("Model", bound=BaseModel)
Checked = TypeVar("Checked")
FILE_NAME: Final = r"^[^/\x00-\x1f]{1,100}$"
"""What can be the name of a file or a folder, as a regular expression: no path, and not longer than any file system takes."""
FileName = Annotated[str, Field(pattern=FILE_NAME)]  # a name that files and folders are called by


class Strict(BaseModel):
    """Base of every configuration model: frozen, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def as_toml(table: Mapping[str, Any]) -> str:
    """Return `table` as TOML, a line for each entry; a table in it is an inline one."""
    return "".join(f"{name} = {_written(value)}\n" for name, value in table.items())


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name} = {_written(part)}' for name, part in value.items())} }}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        quoted = "".join(letter if letter.isprintable() else " " for letter in value).replace("\\", "\\\\").replace('"', '\\"')
        return f'"{quoted}"'
    return f"[{', '.join(map(_written, value))}]" if isinstance(value, list | tuple) else repr(value)


def input_file(folder: str, name: str) -> Path:
    """Return the place of ``data/FOLDER/NAME.toml``, whether or not it is there."""
    if not re.match(FILE_NAME, str(name)):
        raise InputError(f"data/{folder}", field="name", value=str(name), rule="not the name of a file")
    return paths.data() / folder / f"{name}.toml"


def read_toml(path: Path, model: type[Model]) -> Model:
    checked: Model = _checked(_text(path), model, path)
    return checked


@lru_cache(maxsize=256)
def _checked(text: str, model: type[Model], path: Path) -> Model:
    """Parse and check `text` once: judging a run loads the claims more than a hundred times."""
    return validate(_parsed(text, path), model, where=short(path))


def read_table(path: Path) -> dict[str, Any]:
    return dict(_parsed(_text(path), path))


def _text(path: Path) -> str:
    if not path.exists():
        there = sorted(p.stem for p in path.parent.glob("*.toml")) if path.is_relative_to(paths.data()) else []
        remedy = suggesting(path.stem, there, f"name one of: {', '.join(there)}") if there else "name a file that is there"
        raise InputError(short(path), rule="no such file", remedy=remedy)
    return read_text(path)


@lru_cache(maxsize=256)
def _parsed(text: str, path: Path) -> dict[str, Any]:
    """Parse `text` once: a chapter loads the same devices hundreds of times."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # too many digits of a number are the former, brackets in brackets the latter
        raise InputError(short(path), rule=f"not valid TOML: {error}") from error


def validate(table: object, model: type[Checked], *, where: str) -> Checked:
    try:
        return TypeAdapter(model).validate_python(table)
    except ValidationError as error:
        broken = error.errors(include_url=False)
        old = [each for each in broken if each["type"] == "extra_forbidden" and each["loc"][-1] in renamed.KEYS]
        first = (old or broken)[0]
        field = ".".join(str(part) for part in first["loc"]) or None
        value = None if first["type"] == "missing" or field is None else first["input"]  # without a field: the whole table
        rule, remedy = ("a key of version 0.2", renamed.remedy_for(str(first["loc"][-1]))) if old else (first["msg"], None)
        if not old and first["type"] == "extra_forbidden":
            rule, remedy = "no such key here", "leave it out, or correct its name"
        raise InputError(where, field=field, value=value, rule=rule, remedy=remedy) from error
