"""The store with the views of every study's SQL file on top."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import duckdb

from tierwise.analysis.heat import HEAT
from tierwise.analysis.statistics import MACRO
from tierwise.core import studies
from tierwise.timings.store import connect

ROWS: Final = "reading/rows.sql"  # the query of a study over the raw rows


def open_views(
    raw: Path, run_id: str | None = None, change: Callable[[duckdb.DuckDBPyConnection], None] | None = None
) -> duckdb.DuckDBPyConnection:
    """Return `timings.store.connect` with the views that each study's SQL creates, one of which bears its name.

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
