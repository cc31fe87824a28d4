"""The queries that a cell of a notebook asks, and each as it runs by itself: in DuckDB, from the files of a published folder.

A cell ends with an output that holds what it asked, folded up; figures and tables are made of these (`report.exhibit_origin`).
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
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

QUERIES_MIME: Final = "application/vnd.tierwise.queries+json"
"""An output with the queries that a cell asked, each a `Query`."""
TOKENS: Final = re.compile(r"'(?:[^']|'')*'|--[^\n]*|\?|\$\w+")
"""What is passed over when parameters are put into a query (texts, comments), and the parameters."""
CREATED: Final = re.compile(r"create temp (?:view|table|macro) (\w+)")
HEAD: Final = "-- In DuckDB ({version} made it), from the folder in which run {run} was published: the rows that the report is given."
PARQUET: Final = "select * replace ({run} as run_id) from read_parquet({files}, hive_partitioning = false)"
TYPES: Final = {pl.String: "varchar", pl.Int32: "integer", pl.Int64: "bigint", pl.Float64: "double"}
NO_READS: Final = f"select {', '.join(f'null::{TYPES[kind]} as {name}' for name, kind in TABLE.items())} where false"
CATALOG: Final = "information_schema"
"""Who asks this asks whether there is a view, and nothing of the run."""

Parameters = Sequence[Any] | Mapping[str, Any]

_ASKED: Final[dict[tuple[Path, str], None]] = {}


class Query(Strict):
    """A query with its parameters in it, of the run `run_id`, which may have single reads."""

    run_id: str
    has_reads: bool
    sql: str


class Noting:
    """A connection that has `note` know every query that `sql` or `execute` asks; all else of it is the connection's own."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, note: Callable[[str, Parameters], None]):
        self._connection, self._note = connection, note

    def sql(self, query: str, *, params: Parameters = ()) -> duckdb.DuckDBPyRelation:
        self._note(query, params)
        return self._connection.sql(query, params=_as_given(params))

    def execute(self, query: str, parameters: Parameters = ()) -> duckdb.DuckDBPyConnection:
        self._note(query, parameters)
        return self._connection.execute(query, _as_given(parameters))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def _as_given(parameters: Parameters) -> list[Any] | dict[str, Any]:
    return dict(parameters) if isinstance(parameters, Mapping) else list(parameters)


def note(run: Path, sql: str, parameters: Parameters) -> None:
    """Keep `sql` with its `parameters`, asked of the run in folder `run`, once, for the end of the cell; a query of the catalog is none."""
    if CATALOG not in sql:
        _ASKED[run, bound(sql, parameters)] = None


def show_asked(*_: object) -> None:
    having = {run: bool(sources(run)) for run in {run for run, _ in _ASKED}}
    asked = [Query(run_id=run.name, has_reads=having[run], sql=sql) for run, sql in _ASKED]
    _ASKED.clear()
    if asked:
        from IPython.display import display  # noqa: PLC0415  only a notebook shows anything

        told = "\n\n".join(f"{query.sql.rstrip(';')};" for query in asked)
        folded = f"<details><summary>Asked</summary>\n\n```sql\n{told}\n```\n\n</details>"
        display({QUERIES_MIME: [query.model_dump() for query in asked], "text/markdown": folded}, raw=True)


def of_run(run: Path, sql: str, parameters: Parameters) -> Query:
    """Return `sql` with its `parameters` as it was asked of the run in the folder `run`."""
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


def script(asked: Sequence[Query]) -> str:
    """Return the queries `asked` of one run, in their order, below all views that they need, over the files of a folder in which that run
    was published.
    """
    (run_id,) = {query.run_id for query in asked}
    queries = "\n".join(query.sql for query in asked)
    views = list(_packages(queries))
    whole = "\n".join([*views, queries])
    run = literal(run_id)
    base = {
        "raw_timings": PARQUET.format(run=run, files="'run/timings.parquet'"),
        "reads": PARQUET.format(run=run, files=f"'run/{FOLDER}/**/*.parquet'") if asked[0].has_reads else NO_READS,
        "runs": f"select {run} as run_id, content as manifest from read_text('run/manifest.json')",
    }
    needed = [f"create temp view {name} as\n{sql};" for name, sql in base.items() if name == "raw_timings" or _asks(whole, name)]
    timings = (files("tierwise.timings") / "timings.sql").read_text(encoding="utf-8")
    parts = [
        HEAD.format(run=run_id, version=duckdb.__version__),
        *needed,
        f"{MACRO};",
        timings,
        *views,
        *(f"-- The rows.\n{query.sql.rstrip(';')};" for query in asked),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _packages(query: str) -> Iterator[str]:
    for file in (ROWS, HEAT):
        for study in studies.having(file):
            text = studies.text(study, file)
            if any(re.search(rf"\b{name}\b", query) for name in CREATED.findall(text)):
                yield text


def _asks(sql: str, view: str) -> bool:
    return re.search(rf"\b(from|join) {view}\b", sql) is not None


if (shell := getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()) is not None:
    shell.events.register("post_run_cell", show_asked)
