"""How many observations of a run were rejected, and why: by evidence, because what is only simulated can hardly be."""

from collections.abc import Mapping
from dataclasses import dataclass

import duckdb

from tierwise.core.vocabulary import Evidence


@dataclass(frozen=True)
class Rejections:
    """Rejected rows of one evidence: `rejected` of `observations`; `reasons`: flag -> rows that bear it (a row may bear several)."""

    evidence: Evidence
    observations: int
    rejected: int
    reasons: Mapping[str, int]

    @property
    def share(self) -> float:
        return self.rejected / self.observations


def rejections(connection: duckdb.DuckDBPyConnection, study: str = "", pair: str = "") -> list[Rejections]:
    """Return one entry for each evidence of the run's rows, of `study` and on `pair` where they are named; simulated ones last."""
    where = "(? in ('', study)) and (? in ('', pair))"
    counted = connection.execute(
        f"""
        select evidence, count(*), count(*) filter (len(flags) > 0) from timings where {where} group by evidence order by evidence
        """,
        [study, pair],
    ).fetchall()
    reasons: dict[str, dict[str, int]] = {}
    for evidence, flag, rows in connection.execute(
        f"""
        select evidence, flag, count(*) from (select evidence, unnest(flags) as flag from timings where {where})
        group by all order by flag
        """,
        [study, pair],
    ).fetchall():
        reasons.setdefault(evidence, {})[flag] = rows
    found = [Rejections(Evidence(evidence), rows, rejected, reasons.get(evidence, {})) for evidence, rows, rejected in counted]
    return sorted(found, key=lambda one: one.evidence is Evidence.SIMULATED)


def never_accepted(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Return by study how many live measurements have no replicate that was accepted; repeats in real time only compare."""
    found = connection.execute(
        """
        with measurements as (
            select study, bool_and(len(flags) > 0) as rejected
            from timings
            where evidence <> 'simulated' and (clock <> 'real' or evidence = 'measured')
            group by study, pair, trial, step
        )
        select study, count(*) from measurements where rejected group by study order by study
        """
    ).fetchall()
    return dict(found)
