"""Read a TOML file into a pydantic model, with errors that name file, field, value and rule."""

import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from tierwise.core.errors import InputError
from tierwise.core.paths import short

Model = TypeVar("Model", bound=BaseModel)


class Strict(BaseModel):
    """Base of every configuration model: frozen, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def read_toml(path: Path, model: type[Model]) -> Model:
    """Parse and validate `path`.

    Raises:
        InputError: the file is absent, is not TOML, or a field breaks a rule (the first one is named).
    """
    return validate(read_table(path), model, where=short(path))


def read_table(path: Path) -> dict[str, Any]:
    """Parse `path` without validating its fields."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        there = ", ".join(sorted(p.stem for p in path.parent.glob("*.toml"))) or "none"
        raise InputError(short(path), rule="no such file", remedy=f"name one of: {there}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(short(path), rule=f"not valid TOML: {error}") from error


def validate(table: object, model: type[Model], *, where: str) -> Model:
    """`table` as `model`; the first broken rule becomes an `InputError`."""
    try:
        return model.model_validate(table)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or None
        value = None if first["type"] == "missing" or field is None else first["input"]  # without a field: the whole table
        raise InputError(where, field=field, value=value, rule=first["msg"]) from error
