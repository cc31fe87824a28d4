"""A run beside another one, such as the reference run: what both measured, and what both say of each claim."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import duckdb
import polars as pl

from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.runs import REFERENCE, find_run, newest_run
from tierwise.analysis.views import ROWS
from tierwise.core import paths, studies
from tierwise.core.errors import InputError
from tierwise.core.sql_files import named_statements
from tierwise.report import versions
from tierwise.report.formats import count, number, seconds
from tierwise.report.run import NoRowsError, Run, open_run
from tierwise.report.text_template import fill
from tierwise.report.words import found
from tierwise.timings.manifest import Manifest, manifests
from tierwise.timings.references import MANIFEST


class Both(NamedTuple):
    ours: ClaimVerdict
    theirs: ClaimVerdict

    @property
    def differs(self) -> bool:
        return self.ours.verdict is not self.theirs.verdict

    def as_json(self) -> dict[str, Any]:
        return {"id": self.ours.id, **_as_json(self.ours), **{f"reference_{name}": value for name, value in _as_json(self.theirs).items()}}


@dataclass(frozen=True)
class Beside:
    """A run and another one; `cells` are as `beside` has them."""

    run: Run
    reference: Run
    cells: pl.DataFrame
    claims: Sequence[Both]

    @property
    def same_size(self) -> bool:
        """Return whether both are of one profile, so that their times are of the same amount of data."""
        return self.run.manifest.profile.get("fraction") == self.reference.manifest.profile.get("fraction")

    @property
    def differing(self) -> Sequence[Both]:
        return [claim for claim in self.claims if claim.differs]

    @property
    def caution(self) -> str:
        here, there = (run.manifest.profile.get("name") for run in (self.run, self.reference))
        changed = [f"`{study}`" for study in recoded(self.run.manifest, self.reference.manifest)]
        return " ".join(fill("caution.txt", same_size=self.same_size, here=here, there=there, changed=changed).split())

    def as_json(self) -> dict[str, Any]:
        return {
            "run": self.run.run_id,
            "reference": self.reference.run_id,
            "reference_of": self.reference.origin,
            "caution": self.caution,
            "cells": self.cells.to_dicts(),
            "claims": [claim.as_json() for claim in self.claims],
        }

    def as_text(self) -> str:
        cells = self.cells.rows(named=True)
        known = {"run": self.run, "reference": self.reference, "differing": self.differing, "claims": self.claims}
        return fill("beside.txt", **known, caution=self.caution, cells=cells, stamped=stamped, valued=valued).rstrip()


def recoded(run: Manifest, other: Manifest) -> list[str]:
    both = sorted(run.fingerprints.keys() & other.fingerprints.keys())
    return [study for study in both if run.fingerprints[study].code != other.fingerprints[study].code]


def open_reference() -> Run | None:
    folder = paths.reference()
    manifests = sorted(folder.glob(f"*/{MANIFEST}"))
    return _opened(folder, manifests[0].stat().st_mtime_ns) if manifests else None


def open_newest(run_id: str = "") -> Run:
    """Return the run `run_id`, as `find_run` takes it; without one the newest complete run, else the reference run."""
    if run_id or newest_run(paths.raw()):
        return open_run(run_id)
    return open_reference() or open_run()


def open_before(run: Run, run_id: str = "") -> Run:
    """Return the run `run_id` to be held against `run`; without one the complete run before it, else the reference run."""
    if run_id:
        return open_run(run_id)
    complete = [one for one in manifests(paths.raw()).values() if one.status == "complete"]
    own = (run.manifest.finished_at or datetime.max.replace(tzinfo=UTC), run.run_id)
    earlier = [key for one in complete if one.finished_at and (key := (one.finished_at, one.run_id)) < own]
    other = open_run(max(earlier)[1]) if earlier else open_reference()
    if other is None:
        why = f"{run.run_id} is the only run, and there is no reference run"
        raise NoRowsError("another run", why=why, remedy="make report FRESH=1 measures one")
    return other


@lru_cache(maxsize=1)
def _opened(folder: Path, changed_ns: int) -> Run:  # noqa: ARG001  another manifest is another run
    return open_run(raw=folder)


def beside_reference(run: Run) -> Beside | None:
    reference = None if run.is_reference else open_reference()
    return None if reference is None else _beside(run, reference)


def _beside(run: Run, other: Run) -> Beside:
    theirs = {claim.id: claim for claim in other.judged}
    claims = [Both(claim, theirs[claim.id]) for claim in run.judged if claim.id in theirs]
    return Beside(run, other, beside(medians(run.store), medians(other.store)), claims)


def compare(before: str, after: str) -> Beside:
    """Return the run `after` beside the run `before`, each named by itself or by a version; the reference run is always before."""
    first, second = (_run_of(name) for name in ((after, before) if after == REFERENCE else (before, after)))
    if first == second:
        raise InputError("run", value=first, rule="cannot be compared with itself", remedy="name two runs")
    return _beside(open_run(second), open_run(first))


def _run_of(name: str) -> str:
    try:
        return find_run(name).name
    except InputError:
        return versions.find(name).run_id


def valued(value: float, unit: str) -> str:
    return seconds(value) if unit == "s" else f"{count(round(value)) if value >= 100 else number(value)} {unit}"


def stamped(claim: ClaimVerdict) -> str:
    return found(claim) if claim.estimate is None and claim.low is None else f"{found(claim)}, {claim.evidence}"


def _as_json(claim: ClaimVerdict) -> dict[str, str]:
    return {"verdict": str(claim.verdict), "verdict_text": claim.verdict_text, "found": stamped(claim)}


SQL: Final = named_statements(__package__, "queries.sql")
CELL: Final = ("study", "pair", "io_mode", "cell", "unit")  # what names a value in every run


def medians(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Return a row a cell of the views ``<study>_cells`` with enough unflagged rows: `CELL`, ``median`` and ``n`` of these, evidence."""
    queries = (f"select '{study}' as study, * from {study}_cells where not flagged" for study in studies.having(ROWS))
    query = SQL["medians"].format(cell=", ".join(CELL), cells=" union all by name ".join(queries))
    return pl.DataFrame(connection.sql(query).to_arrow_table())


def beside(ours: pl.DataFrame, theirs: pl.DataFrame) -> pl.DataFrame:
    """Return the cells that both have: those of `ours`, the values of `theirs` as ``*_reference``, and their ``ratio``."""
    both = ours.join(theirs, on=CELL, how="inner", suffix="_reference", maintain_order="left")
    return both.with_columns(ratio=pl.col("median") / pl.col("median_reference"))
