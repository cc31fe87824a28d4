"""How far runs lie apart, which one run cannot tell: from whole runs of other seeds, in a table that ships (scripts/distil_between.py)."""

from collections.abc import Iterator, Mapping

import duckdb
import numpy as np
from pydantic import Field

from tierwise.analysis.claim_rows import series_of
from tierwise.analysis.claims import Claim
from tierwise.core import paths
from tierwise.core.toml import Strict, read_toml
from tierwise.timings.replicates import run_number

FILE = "between-runs.toml"


class Between(Strict):
    """Standard deviations of the logarithms of runs' geometric means, by claim and case; `runs` are their ids, of one `profile`."""

    runs: tuple[str, ...] = Field(min_length=3)
    profile: str
    spreads: dict[str, dict[str, float]]


def load_between() -> Between:
    """Return the table that ships.

    Raises:
        InputError: it is not there, or breaks the schema.
    """
    return read_toml(paths.data() / "published" / FILE, Between)


def spreads_of(connection: duckdb.DuckDBPyConnection, claim: Claim, pair: str) -> Iterator[tuple[str, float]]:
    """Yield (case, standard deviation of the logarithms of the runs' geometric means) of each series of `claim` in a merged run."""
    for series in series_of(connection, claim, pair):
        if min(series.values.values(), default=0.0) > 0:
            means = _means(series.values)
            if len(means) > 1:
                yield series.case, float(np.std(means, ddof=1))


def _means(values: Mapping[int, float]) -> list[float]:
    logs: dict[int, list[float]] = {}
    for replicate, value in values.items():
        logs.setdefault(run_number(replicate), []).append(float(np.log(value)))
    return [float(np.mean(run)) for run in logs.values()]
