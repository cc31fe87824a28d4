"""Which data sets there are, and what is known of each without loading it: from the files of their packages alone, so on any side."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from tierwise.core.errors import InputError, suggesting

FACTS: Final = "data_set.toml"  # a folder of ``tierwise/datasets`` is a data set's package where it has this file
SYNTHETIC: Final = "synthetic"  # the source of a data set unless another is named


@dataclass(frozen=True)
class DataSet:
    """What is known of the data set `what`: the rows of the whole and where that was read, and whether a reader may choose their source."""

    what: str
    choice: bool = False
    published_rows: int | None = None
    read: str | None = None


def names() -> list[str]:
    return sorted(package.name for package in (files("tierwise") / "datasets").iterdir() if (package / FACTS).is_file())


@cache
def facts(name: str) -> DataSet:
    if name not in names():
        rule = f"no such data set; there are: {', '.join(names())}"
        raise InputError("data set", value=name, rule=rule, remedy=suggesting(name, names()))
    text = (files("tierwise") / "datasets" / name / FACTS).read_text(encoding="utf-8")
    return DataSet(**tomllib.loads(text))


def whole_rows(name: str) -> int:
    rows = facts(name).published_rows
    assert rows is not None, f"datasets/{name}/{FACTS} has no published_rows"
    return rows


def published_rows(record: str) -> int | None:
    """Return how many rows the whole of `record` has; None where nobody published that, and of what is no longer a data set."""
    return facts(record).published_rows if record in names() else None


def with_choice() -> list[str]:
    return [name for name in names() if facts(name).choice]


def chosen(sources: Mapping[str, str]) -> dict[str, str]:
    """Choose from `sources` (data set -> ``synthetic``, ``download``, ``file:PATH`` and what else it knows) what is not the default."""
    for name, source in sources.items():
        if not facts(name).choice and source != SYNTHETIC:
            raise InputError("data set", field=name, value=source, rule="this data set has only one source")
    return {name: source for name, source in sorted(sources.items()) if source != SYNTHETIC}
