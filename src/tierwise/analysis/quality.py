"""How good the observations of a run are: how many were rejected, and how far the machines of a campaign lie apart."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import duckdb
import numpy as np
import polars as pl

from tierwise.analysis.statistics import CONFIDENCE, enough, holm
from tierwise.core.sql_files import named_statements
from tierwise.core.vocabulary import Evidence
from tierwise.timings.manifest import UsedAttempt

SQL: Final = named_statements(__package__, "queries.sql")


@dataclass(frozen=True)
class Rejections:
    """Rejected rows of one evidence: `rejected` of `observations`."""

    evidence: Evidence
    observations: int
    rejected: int


def rejections(connection: duckdb.DuckDBPyConnection, study: str = "", pair: str = "") -> list[Rejections]:
    """Return one entry for each evidence of the run's rows, of `study` and on `pair` where they are named; simulated ones last."""
    counted = connection.execute(SQL["rejections"], [study, pair]).fetchall()
    return [Rejections(Evidence(evidence), rows, rejected) for evidence, rows, rejected in counted]


def never_accepted(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Return by study how many live measurements have no replicate that was accepted; repeats in real time only compare."""
    return dict(connection.execute(SQL["never_accepted"]).fetchall())


@dataclass(frozen=True)
class MachineEffect:
    """Times on a machine over those on the others, with a 95 % interval; without one, there are too few replicates."""

    machine: str
    replicates: int
    factor: float | None = None
    low: float | None = None
    high: float | None = None
    differs: bool = False  # after Holm's correction for all machines


def machine_effects(connection: duckdb.DuckDBPyConnection, attempts: Sequence[UsedAttempt]) -> list[MachineEffect]:
    """Return the effect of each machine that measured `attempts`; none where fewer than two machines did."""
    used = [(one.study, one.replicate, one.machine) for one in attempts]
    by_replicate = pl.DataFrame(used, schema=["study", "replicate", "machine"], orient="row")
    names = by_replicate["machine"].unique().sort().to_list() if used else []
    if len(names) < 2:
        return []
    from scipy.stats import ttest_ind  # noqa: PLC0415  it takes a second to load, and only campaigns need it

    rows = connection.sql(SQL["deviations"]).pl().cast({"replicate": pl.Int64}).join(by_replicate, on=["study", "replicate"])
    found, p_values = list[MachineEffect](), list[float]()
    for name in names:
        own, others = (part["deviation"].to_numpy() for part in (rows.filter(machine=name), rows.filter(pl.col("machine") != name)))
        if not (enough(len(own)) and enough(len(others))):
            found.append(MachineEffect(name, len(own)))
            continue
        welch = ttest_ind(own, others, equal_var=False)
        interval = welch.confidence_interval(CONFIDENCE)
        p_values.append(float(welch.pvalue))
        factor, low, high = (float(np.exp(one)) for one in (own.mean() - others.mean(), interval.low, interval.high))
        found.append(MachineEffect(name, len(own), factor, low, high))
    corrected = iter(holm(p_values))
    return [one if one.factor is None else replace(one, differs=next(corrected) < 1 - CONFIDENCE) for one in found]
