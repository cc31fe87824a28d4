"""The meaning of every published column: in ``columns.toml``, those of a study's figures in its own, and in the files themselves."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import polars as pl

from tierwise.core import studies
from tierwise.core.errors import InputError
from tierwise.core.toml import Strict, validate
from tierwise.report.site import ROWS
from tierwise.report.text_template import fill
from tierwise.timings.parts import TIMINGS

COLUMNS: Final = "columns.toml"
OF_A_STUDY: Final = f"reading/{COLUMNS}"
FIGURES: Final = "figures"  # the table of the rows behind figures
UNITS: Final = {"per_s": "1/s", "_per_gb": "USD/GB", "_ms": "ms", "_us": "µs", "_s": "s", "_bytes": "B", "_gib": "GiB", "_pages": "pages"}
"""How a name ends -> its unit."""
MOST: Final = 8  # values of a coordinate that the dictionary lists


class Column(Strict):
    """One column: what it means, its unit where the name does not end in it, and its evidence where it is not simply the row's."""

    meaning: str
    unit: str = ""
    evidence: str = ""

    def unit_of(self, name: str) -> str:
        """Return the unit that is said, or that the end of its `name` tells; empty where it has none."""
        return self.unit or next((unit for end, unit in UNITS.items() if name.endswith(end)), "")


class Table(Strict):
    """One table: the `file` or files that hold it, what a row of it is, and its columns; those in a structure as ``column.field``."""

    file: str
    rows: str
    columns: dict[str, Column]


def tables() -> dict[str, Table]:
    """Return every table by its name, the figures' with the columns that the studies add."""
    entries = tomllib.loads((files("tierwise.report") / COLUMNS).read_text(encoding="utf-8"))
    known = {name: validate(table, Table, where=f"{COLUMNS}: {name}") for name, table in entries["tables"].items()}
    added = {
        name: validate(column, Column, where=f"{studies.path(study, OF_A_STUDY)}: {name}")
        for study in studies.having(OF_A_STUDY)
        for name, column in tomllib.loads(studies.text(study, OF_A_STUDY)).items()
    }
    return {**known, FIGURES: known[FIGURES].model_copy(update={"columns": {**known[FIGURES].columns, **added}})}


def described(rows: Path) -> list[dict[str, str]]:
    """Return the columns of a figure's `rows`, a file of CSV, as name, type, unit and meaning; each needs a meaning."""
    known = tables()[FIGURES].columns
    types = pl.read_csv(rows, infer_schema_length=None).schema
    entries = ((name, kind, _of(known, name, rows.name)) for name, kind in types.items())
    return [{"name": name, "type": _type(kind), "unit": one.unit_of(name), "meaning": one.meaning} for name, kind, one in entries]


def dictionary(published: Path) -> str:
    """Return the dictionary, as Markdown, of the folder `published`, which holds ``run/`` and ``rows/``."""
    known = tables()
    schemas = _schemas(published / "run").items()
    columns = [
        (known[name], [(one, kind, _of(known[name].columns, one, name)) for one, kind in schema.items()]) for name, schema in schemas
    ]
    keys = _coordinates(pl.read_parquet(published / "run" / TIMINGS))
    return fill("dictionary.md", tables=columns, keys=keys, figures=known[FIGURES], drawn=_figures(published / ROWS))


def _schemas(run: Path) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for path in sorted(run.rglob("*.parquet")):
        name = path.relative_to(run).parts[0].removesuffix(".parquet")
        if name not in tables():
            raise InputError(str(path.relative_to(run)), rule=f"is of a table without a meaning: {COLUMNS} lists {', '.join(tables())}")
        found.setdefault(name, {}).update(_columns(pl.read_parquet_schema(path)))
    return found


def _columns(schema: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, kind in schema.items():
        yield f"{above}{name}", _type(kind)
        inner = kind.inner if isinstance(kind, pl.List) else kind
        if isinstance(inner, pl.Struct):
            yield from _columns(dict(inner), f"{above}{name}.")


def _type(kind: Any) -> str:
    match kind:
        case pl.List():
            return f"list of {_type(kind.inner)}"
        case pl.Struct():
            return "structure"
        case pl.Datetime():
            return "timestamp"
    return str(kind).lower().replace("string", "text")


def _of(known: Mapping[str, Column], name: str, where: str) -> Column:
    if name not in known:
        remedy = f"give it one in src/tierwise/report/{COLUMNS}, or for a study's figure in its {OF_A_STUDY}"
        raise InputError(where, field="column", value=name, rule="has no meaning in the data dictionary", remedy=remedy)
    return known[name]


def _coordinates(timings: pl.DataFrame) -> Iterator[tuple[str, str, str, str]]:
    for (study,), rows in timings.group_by(["study"], maintain_order=True):
        for column in ("cell", "proof"):
            values: dict[str, dict[str, None]] = {}
            for text in rows[column].unique(maintain_order=True):
                for key, value in json.loads(text).items():
                    values.setdefault(key, {})[str(value)] = None
            for key, every in sorted(values.items()):
                shown = ", ".join(list(every)[:MOST]) + (", ..." if len(every) > MOST else "")
                yield str(study), column, key, shown if column == "cell" else ""


def _figures(rows: Path) -> dict[str, list[str]]:
    having: dict[str, list[str]] = {}
    for path in sorted(rows.glob("*.csv")):
        for column in described(path):
            line = f"`{column['name']}` | {column['type']} | {column['unit']} | {column['meaning']}"
            having.setdefault(line, []).append(f"`{path.stem}`")
    return having
