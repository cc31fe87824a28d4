"""The queries behind a figure or a table, and each as it runs by itself: in DuckDB, from the files of a published folder."""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from tierwise.analysis.heat import HEAT
from tierwise.analysis.statistics import MACRO
from tierwise.analysis.views import ROWS
from tierwise.core import studies
from tierwise.core.toml import Strict
from tierwise.timings.reads import FOLDER, TABLE, sources

TOKENS: Final = re.compile(r"'(?:[^']|'')*'|--[^\n]*|\?|\$\w+")
"""What is passed over when parameters are put into a query (texts, comments), and the parameters."""
CREATED: Final = re.compile(r"create temp (?:view|table|macro) (\w+)")
HEAD_SQL: Final = (
    "-- Run this script with DuckDB (written with {version}) in the folder of the published run {run}. It returns rows of the report."
)
PARQUET: Final = "select * replace ({run} as run_id) from read_parquet({files}, hive_partitioning = false)"
TYPES: Final = {pl.String: "varchar", pl.Int32: "integer", pl.Int64: "bigint", pl.Float64: "double"}
NO_READS: Final = f"select {', '.join(f'null::{TYPES[kind]} as {name}' for name, kind in TABLE.items())} where false"
Parameters = Sequence[Any] | Mapping[str, Any]


class Query(Strict):
    """A query with its parameters in it, of the run `run_id`, which may have single reads."""

    run_id: str
    has_reads: bool
    sql: str


class Made(Strict):
    """What made a figure or a table: `queries`, and `steps`, the dotted names of what was called on their rows, in order."""

    queries: tuple[Query, ...] = ()
    steps: tuple[str, ...] = ()

    def scripts(self, label: str) -> dict[str, str]:
        """Return file names -> SQL that runs by itself: one for each run, which has all its queries."""
        runs = dict.fromkeys(query.run_id for query in self.queries)
        return {
            f"{label}{f'-{number}' if number > 1 else ''}.sql": script([query for query in self.queries if query.run_id == run])
            for number, run in enumerate(runs, 1)
        }


def of_run(run: Path, sql: str, parameters: Parameters) -> Query:
    """Return `sql` with its `parameters` as it ran on the run in the folder `run`."""
    return Query(run_id=run.name, has_reads=bool(sources(run)), sql=bound(sql, parameters))


def bound(sql: str, parameters: Parameters) -> str:
    """Return `sql` with its parameters, ``?`` in their order, ``$1`` or ``$name``, as literals."""
    named = parameters if isinstance(parameters, Mapping) else {str(place): value for place, value in enumerate(parameters, 1)}
    given = iter(named.values())

    def put(found: re.Match[str]) -> str:
        part = found[0]
        if part == "?":
            return literal(next(given))
        return literal(named[part[1:]]) if part.startswith("$") else part

    return TOKENS.sub(put, cleandoc(sql))


def literal(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool() | int() | float():
            return str(value).lower()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case list() | tuple():
            return f"[{', '.join(map(literal, value))}]"
    raise TypeError(f"{value!r}: a query's parameter is a text, a number, a truth value or a list of these")


def script(chosen: Sequence[Query]) -> str:
    """Return the queries `chosen` of one run below all views that they need, over the files of a folder in which it was published."""
    (run_id,) = {query.run_id for query in chosen}
    queries = "\n".join(query.sql for query in chosen)
    views = list(_packages(queries))
    whole = "\n".join([*views, queries])
    run = literal(run_id)
    base = {
        "raw_timings": PARQUET.format(run=run, files="'run/timings.parquet'"),
        "reads": PARQUET.format(run=run, files=f"'run/{FOLDER}/**/*.parquet'") if chosen[0].has_reads else NO_READS,
        "runs": f"select {run} as run_id, content as manifest from read_text('run/manifest.json')",
    }
    used = {"raw_timings", *(name for name in base if re.search(rf"\b(from|join) {name}\b", whole))}
    needed = [f"create temp view {name} as\n{sql};" for name, sql in base.items() if name in used]
    timings = (files("tierwise.timings") / "timings.sql").read_text(encoding="utf-8")
    parts = [
        HEAD_SQL.format(run=run_id, version=duckdb.__version__),
        *needed,
        f"{MACRO};",
        timings,
        *views,
        *(f"-- The rows.\n{query.sql.rstrip(';')};" for query in chosen),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _packages(query: str) -> Iterator[str]:
    for file in (ROWS, HEAT):
        for study in studies.having(file):
            text = studies.text(study, file)
            if any(re.search(rf"\b{name}\b", query) for name in CREATED.findall(text)):
                yield text
