"""A figure's query as it runs by itself: in DuckDB, from the files of a published folder to the rows that the figure is given."""

import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any, Final

import duckdb
import polars as pl

from tierwise.analysis.heat import HEAT
from tierwise.analysis.statistics import MACRO
from tierwise.analysis.views import ROWS
from tierwise.core import studies
from tierwise.report.display import show
from tierwise.report.run import Run
from tierwise.timings.reads import FOLDER, TABLE, read_files

QUERY_MIME: Final = "application/vnd.tierwise.query+json"
"""An output with a query that was asked for a figure: the `query` alone, and the `script` that runs without tierwise."""
TOKENS: Final = re.compile(r"'(?:[^']|'')*'|--[^\n]*|\?|\$\d+")
"""What is passed over when parameters are put into a query (texts, comments), and the parameters."""
CREATED: Final = re.compile(r"create temp (?:view|table|macro) (\w+)")
HEAD: Final = "-- In DuckDB ({version} made it), from the folder in which run {run} was published: the rows that the figure is given."
PARQUET: Final = "select * replace ({run} as run_id) from read_parquet({files}, hive_partitioning = false)"
TYPES: Final = {pl.String: "varchar", pl.Int32: "integer", pl.Int64: "bigint", pl.Float64: "double"}
NO_READS: Final = f"select {', '.join(f'null::{TYPES[kind]} as {name}' for name, kind in TABLE.items())} where false"


def ask(run: Run, sql: str, parameters: Sequence[Any] = ()) -> pl.DataFrame:
    """Return the rows of `sql` for a figure of a notebook, which keeps the query beside them: the figure's menu shows it."""
    query = bound(sql, parameters)
    show({QUERY_MIME: {"query": query, "script": script(run, query)}, "text/plain": query})
    return run.query(sql, parameters)


def bound(sql: str, parameters: Sequence[Any]) -> str:
    """Return `sql` with its parameters, ``?`` in their order or ``$1``, as literals."""
    given = iter(parameters)

    def put(found: re.Match[str]) -> str:
        part = found[0]
        if part == "?":
            return literal(next(given))
        return literal(parameters[int(part[1:]) - 1]) if part.startswith("$") else part

    return TOKENS.sub(put, sql).strip()


def literal(value: object) -> str:
    """Return `value` as SQL writes it."""
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


def script(run: Run, query: str) -> str:
    """Return `query` with all views that it needs, over the files of a folder in which `run` was published."""
    rooms = list(_rooms(query))
    asked = "\n".join([*rooms, query])
    run_id = literal(run.run_id)
    base = {
        "raw_timings": PARQUET.format(run=run_id, files="'run/timings.parquet'"),
        "reads": PARQUET.format(run=run_id, files=f"'run/{FOLDER}/**/*.parquet'") if read_files(run.folder) else NO_READS,
        "runs": f"select {run_id} as run_id, content as manifest from read_text('run/manifest.json')",
    }
    needed = [f"create temp view {name} as\n{sql};" for name, sql in base.items() if name == "raw_timings" or _asks(asked, name)]
    timings = (files("tierwise.timings") / "timings.sql").read_text(encoding="utf-8")
    parts = [
        HEAD.format(run=run.run_id, version=duckdb.__version__),
        *needed,
        f"{MACRO};",
        timings,
        *rooms,
        f"-- The rows.\n{query.rstrip(';')};",
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _rooms(query: str) -> Iterator[str]:
    """What the studies' rooms say of the views that `query` names."""
    for file in (ROWS, HEAT):
        for study in studies.having(file):
            text = studies.text(study, file)
            if any(re.search(rf"\b{name}\b", query) for name in CREATED.findall(text)):
                yield text


def _asks(sql: str, view: str) -> bool:
    return re.search(rf"\b(from|join) {view}\b", sql) is not None
