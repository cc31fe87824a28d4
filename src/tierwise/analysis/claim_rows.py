"""What a run holds about a claim: series of values and reads from the studies' views, and facts from the manifest."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

import duckdb

from tierwise.analysis.claims import CLAIM_ID, Case, Claim, Facts, load_claims
from tierwise.analysis.rules import Series, order_series
from tierwise.core.errors import EvidenceError
from tierwise.core.sql_files import named_statements
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.timings.manifest import Manifest

SQL: Final = named_statements(__package__, "queries.sql")
VARIANT: Final = "variant"  # column of a study's view that names what differs from the published protocol, in views that have variants
PUBLISHED: Final = "published"  # the variant that a claim is judged on

_CLAIM_ID: Final = re.compile(rf"\b{CLAIM_ID}\b")


@dataclass(frozen=True)
class Rows:
    connection: duckdb.DuckDBPyConnection
    manifest: Manifest


def series_of(connection: duckdb.DuckDBPyConnection, claim: Claim, pair: str, variant: str | None = None) -> list[Series]:
    """Return every series of `claim` on `pair`, a case or order and I/O mode each, by the rows of `variant` where a study has variants."""
    cases = {case.name: _case_series(connection, case, pair, variant, flags=claim.counts is None) for case in claim.cases}
    if not claim.orders:
        return [series for by_io_mode in cases.values() for series in by_io_mode.values()]
    return [
        order_series(greater, cases[order.than][io_mode])
        for order in claim.orders
        for io_mode, greater in cases[order.greater].items()
        if io_mode in cases[order.than]
    ]


def variants_of(connection: duckdb.DuckDBPyConnection, claim: Claim, pair: str) -> list[str]:
    """Return every variant but the published one that the run measured on `pair` in a study of `claim`."""
    studies = sorted({case.study for case in claim.cases if case.select.get(VARIANT) == PUBLISHED})
    found = {
        name
        for study in studies
        for (name,) in connection.execute(f"select distinct {VARIANT} from {study} where pair = ?", [pair]).fetchall()
    }
    return sorted(found - {PUBLISHED})


def relations(connection: duckdb.DuckDBPyConnection) -> set[str]:
    return {name for (name,) in connection.execute("select table_name from information_schema.tables").fetchall()}


def pair_evidence(connection: duckdb.DuckDBPyConnection, pair: str) -> Evidence | None:
    """Return the one evidence of all rows on `pair`, else ``mixed``; `None` where it has no row."""
    found = connection.execute("select distinct evidence from timings where pair = ?", [pair]).fetchall()
    return Evidence.of({Evidence(word) for (word,) in found}) if found else None


def facts_of(manifest: Manifest, facts: Facts, pair: str) -> Any | None:
    records = (record for record in manifest.studies if (record.name, record.pair) == (facts.study, pair))
    return next((record.facts.get(facts.key) for record in records), None)


def fitted_claims(record: object) -> set[str]:
    """Return the ids of the claims whose values went into a parameter (``fitted_on``) of a pair's devices, at any depth."""
    if isinstance(record, dict):
        named = set(_CLAIM_ID.findall(str(record.get("fitted_on") or "")))
        return named.union(*map(fitted_claims, record.values()))
    if isinstance(record, list | tuple):
        return set().union(*map(fitted_claims, record))
    return set()


def selected(case: Case, variant: str | None) -> dict[str, str]:
    """Return column -> word, by which the rows of `case` are chosen: those of `variant`, if given, in place of the published."""
    return {**case.select, VARIANT: variant} if variant is not None and case.select.get(VARIANT) == PUBLISHED else case.select


def _case_series(connection: duckdb.DuckDBPyConnection, case: Case, pair: str, variant: str | None, *, flags: bool) -> dict[IoMode, Series]:
    """Return the series of `case` by I/O mode; without `flags`, of what is counted, which no flag of a time touches."""
    select = selected(case, variant)
    columns = connection.table(case.study).columns
    query = SQL["series"].format(
        study=case.study,
        chosen=" and ".join(f"{column} = ?" for column in select),
        flagged="coalesce(flagged, false)" if flags else "false",
        value=case.value,
        note=case.note or "''",
        **{name: name if name in columns else "null" for name in ("outstanding", "hangs_on")},
    )
    rows = connection.execute(query, [pair, *select.values()]).fetchall()
    return {
        IoMode(io_mode): _one_series(case, select, IoMode(io_mode), [row[1:] for row in rows if row[0] == io_mode])
        for io_mode in dict.fromkeys(row[0] for row in rows)
    }


Row = tuple[int, str, bool, float, str, float | None, str | None]


def _one_series(case: Case, select: Mapping[str, str], io_mode: IoMode, rows: list[Row]) -> Series:
    replicates = [replicate for replicate, *_ in rows]
    if len(set(replicates)) != len(replicates):
        raise EvidenceError(f"{case.study}: {select} selects several values of one replicate, so they cannot be paired")
    return Series(
        case=case.name,
        io_mode=io_mode,
        evidence_kinds=frozenset(Evidence(evidence) for _, evidence, *_ in rows),
        values={replicate: value for replicate, _, flagged, value, *_ in rows if not flagged},
        flagged=frozenset(replicate for replicate, _, flagged, *_ in rows if flagged),
        conditions=frozenset(note for _, _, flagged, _, note, *_ in rows if note and not flagged),
        obstacles=frozenset(note for _, _, flagged, _, note, *_ in rows if note and flagged),
        outstanding=fmean(known) if (known := [depth for *_, depth, _ in rows if depth is not None]) else None,
        hangs_on=frozenset(one for _, _, flagged, *_, variants in rows if variants and not flagged for one in variants.split(",")),
    )


def mode_of(study: str, measured: Iterable[str]) -> IoMode:
    """Return the I/O mode that decides among those that were `measured`: that of ``claims.toml``, else the first of `IoMode`."""
    found = {IoMode(mode) for mode in measured}
    decides = load_claims().deciding.get(study)
    return decides.io_mode if decides and decides.io_mode in found else next((mode for mode in IoMode if mode in found), IoMode.DIRECT)


def mode_in(connection: duckdb.DuckDBPyConnection, view: str, pair: str, *, study: str = "") -> IoMode:
    """Return `mode_of` the rows of `view` on `pair`; `study`: the one that the view is of, where it has another name."""
    rows = connection.execute(f"select distinct io_mode from {view} where pair = ?", [pair]).fetchall()
    return mode_of(study or view, (mode for (mode,) in rows))
