"""The store with the views of every study's SQL file on top."""

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from tierwise.analysis.heat import HEAT
from tierwise.analysis.statistics import MACRO
from tierwise.core import studies
from tierwise.core.errors import InputError
from tierwise.core.progress import say
from tierwise.timings.manifest import Manifest, manifests, named_manifest
from tierwise.timings.parts import rows_so_far
from tierwise.timings.reads import TABLE, Source, sources, sql_text
from tierwise.timings.schema import SCHEMA

OFFLINE: Final[dict[str, Any]] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
"""DuckDB fetches no extension from the network."""


def connect(raw: Path, run_id: str | None = None) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB connection in memory with the views `raw_timings` (raw rows, `SCHEMA`), `timings` (the same columns, as ``timings.sql``
    has them), `reads` (single reads, `reads.TABLE`, left in their files) and `runs` (the manifest of each as JSON).

    `runs` has every run below `raw`, `timings` the rows of those that are complete or partial; with `run_id`, both hold that run alone,
    merged or not. A row bears the id of the run that it is read for: a row that several runs take by reference is in each.
    An invalid run is reported on the terminal and left out, unless it is the named one.
    """
    known = {run_id: _named(raw, run_id)} if run_id is not None else manifests(raw)
    runs, rows, reads = [], [pl.DataFrame(schema=SCHEMA)], dict[str, list[Source]]()
    for name, manifest in known.items():
        try:
            if manifest.status != "running" or name == run_id:
                rows.append(rows_so_far(raw / name).with_columns(run_id=pl.lit(name)))
                reads[name] = sources(raw / name)
            runs.append({"run_id": name, "manifest": manifest.model_dump_json()})
        except InputError as error:
            if name == run_id:
                raise
            say(f"left alone: {error}")
    connection = duckdb.connect(":memory:", config=OFFLINE)
    connection.register("raw_timings", pl.concat(rows).to_arrow())
    connection.execute((files("tierwise.timings") / "timings.sql").read_text(encoding="utf-8"))
    _register_reads(connection, reads)
    connection.register("runs", pl.DataFrame(runs, schema={"run_id": pl.String, "manifest": pl.String}).to_arrow())
    return connection


def _register_reads(connection: duckdb.DuckDBPyConnection, reads: Mapping[str, Sequence[Source]]) -> None:
    if not any(reads.values()):
        connection.register("reads", pl.DataFrame(schema=TABLE).to_arrow())
        return
    selects = [
        f"select * replace ({sql_text(name)} as run_id) from read_parquet([{', '.join(map(sql_text, one.files))}], "
        f"hive_partitioning = false) where {one.condition}"
        for name, found in reads.items()
        for one in found
    ]
    connection.execute(f"create temp view reads as {' union all '.join(selects)}")


def _named(raw: Path, run_id: str) -> Manifest:
    if run_id not in {entry.name for entry in raw.glob("*") if entry.is_dir()}:
        there = ", ".join(manifests(raw)) or "none"
        raise InputError("run", value=run_id, rule=f"no such run; there are: {there}", remedy="make report measures one")
    return named_manifest(raw / run_id)


ROWS: Final = "reading/rows.sql"  # the query of a study over the raw rows


def open_views(
    raw: Path, run_id: str | None = None, change: Callable[[duckdb.DuckDBPyConnection], None] | None = None
) -> duckdb.DuckDBPyConnection:
    """Return `connect` with the views that each study's SQL creates, one of which bears its name.

    `change` may alter the table `timings` of the connection before these views are made over it.

    A claim is judged on the view ``<study>``, with one row for each value. Its columns are ``run_id``, ``pair``, ``io_mode``,
    ``replicate``, ``evidence``, ``flagged`` (some row behind the value gives no verdict), coordinates and values.
    A view ``<study>_cells`` has what two runs are compared by: ``pair``, ``io_mode``, ``cell`` and ``unit`` (words), ``replicate``,
    ``evidence``, ``value``, ``flagged``. The view ``<study>_heat`` is of `analysis.heat`, where relations can be placed. A study that
    varies its protocol adds the column ``variant``.
    """
    connection = connect(raw, run_id)
    connection.execute(MACRO)
    if change is not None:
        change(connection)
    for file in (ROWS, HEAT):
        for study in studies.having(file):
            connection.execute(studies.text(study, file))
    return connection
