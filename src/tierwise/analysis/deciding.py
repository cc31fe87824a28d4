"""Whose rows decide: of each study one variant and one I/O mode, as ``claims.toml`` fixes them for every run."""

from collections.abc import Iterable

import duckdb

from tierwise.analysis.claims import load_claims
from tierwise.core.vocabulary import IoMode


def mode_of(study: str, measured: Iterable[str]) -> IoMode:
    """Return the I/O mode that decides among those that were `measured`: that of ``claims.toml``, else the first of `IoMode`."""
    found = {IoMode(mode) for mode in measured}
    decides = load_claims().deciding.get(study)
    return decides.io_mode if decides and decides.io_mode in found else next((mode for mode in IoMode if mode in found), IoMode.DIRECT)


def mode_in(connection: duckdb.DuckDBPyConnection, view: str, pair: str, *, study: str = "") -> IoMode:
    """Return `mode_of` the rows of `view` on `pair`; `study`: the one that the view is of, where it has another name."""
    rows = connection.execute(f"select distinct io_mode from {view} where pair = ?", [pair]).fetchall()
    return mode_of(study or view, (mode for (mode,) in rows))
