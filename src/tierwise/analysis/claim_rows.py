"""What a run holds about a claim: series of values and reads from the studies' views, and facts from the manifest."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any, Final

import duckdb
import polars as pl

from tierwise.analysis.claims import CLAIM_ID, Case, Claim, Facts, load_claims
from tierwise.analysis.rules import Series, order_series
from tierwise.core import paths
from tierwise.core.errors import EvidenceError, InputError, suggesting
from tierwise.core.paths import short
from tierwise.core.sql_files import named_statements
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.timings.manifest import Manifest

SQL: Final = named_statements(__package__, "queries.sql")
VARIANT: Final = "variant"  # column of a study's view that names what differs from the published protocol, in views that have variants
PUBLISHED: Final = "published"  # the variant that a claim is judged on

_CLAIM_ID: Final = re.compile(rf"\b{CLAIM_ID}\b")
_NO_COLUMN: Final = re.compile(r'column "(\w+)" not found')  # in a message of DuckDB

Row = tuple[int, str, bool, float, str, float | None, str | None]
"""Replicate, evidence, whether it is flagged, value, note, outstanding requests, and variants that must agree."""
Found = tuple[list[pl.DataType], dict[tuple[object, ...], list[tuple[str, Row]]]]
"""Types of the pair and of the columns that a case selects by; I/O mode and rows by what stands in these columns."""


@dataclass(frozen=True)
class Rows:
    """The views and the manifest of one run. What was read for one claim is kept for the others, so no view may change meanwhile."""

    connection: duckdb.DuckDBPyConnection
    manifest: Manifest

    @cached_property
    def _read(self) -> dict[tuple[object, ...], Found]:
        return {}

    def of_case(self, case: Case, *, flags: bool) -> Found:
        """Return the rows of `case` and of every other one that differs only in the words that it selects by.

        Without `flags`, of what is counted, which no flag of a time touches.
        """
        key = (case.study, *case.select, case.value, case.note, flags)
        if key in self._read:
            return self._read[key]
        columns = self.connection.table(case.study).columns
        query = SQL["series"].format(
            study=case.study,
            chosen="".join(f"{column}, " for column in case.select),
            flagged="coalesce(flagged, false)" if flags else "false",
            value=case.value,
            note=case.note or "''",
            **{name: name if name in columns else "null" for name in ("outstanding", "hangs_on")},
        )
        try:
            found = self.connection.sql(query).pl()
        except duckdb.BinderException as error:
            named = _NO_COLUMN.search(str(error))
            where, field = short(paths.data() / "published" / "claims.toml"), f"a column of the case {case.name!r} on {case.study}"
            wrong, rule = (named[1], "the study's view has no such column") if named else (case.value, str(error))
            remedy = suggesting(wrong, columns, f"name one of: {', '.join(columns)}")
            raise InputError(where, field=field, value=wrong, rule=rule, remedy=remedy) from error
        words = 1 + len(case.select)
        types, by_words = self._read[key] = found.dtypes[:words], {}
        for row in found.rows():
            by_words.setdefault(row[:words], []).append((row[words], row[words + 1 :]))
        return types, by_words


def series_of(rows: Rows, claim: Claim, pair: str, variant: str | None = None) -> list[Series]:
    """Return every series of `claim` on `pair`, a case or order and I/O mode each, by the rows of `variant` where a study has variants."""
    cases = {case.name: _case_series(rows, case, pair, variant, flags=claim.counts is None) for case in claim.cases}
    if not claim.orders:
        return [series for by_io_mode in cases.values() for series in by_io_mode.values()]
    return [
        order_series(greater, cases[order.than][io_mode])
        for order in claim.orders
        for io_mode, greater in cases[order.greater].items()
        if io_mode in cases[order.than]
    ]


def variants_of(rows: Rows, claim: Claim, pair: str) -> list[str]:
    """Return every variant but the published one that the run measured on `pair` in a study of `claim`."""
    found = {PUBLISHED}
    for case in (case for case in claim.cases if case.select.get(VARIANT) == PUBLISHED):
        at = 1 + list(case.select).index(VARIANT)  # behind the pair
        _, by_words = rows.of_case(case, flags=claim.counts is None)
        found.update(str(words[at]) for words in by_words if words[0] == pair)
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


def _case_series(rows: Rows, case: Case, pair: str, variant: str | None, *, flags: bool) -> dict[IoMode, Series]:
    """Return the series of `case` by I/O mode."""
    select, (types, by_words) = selected(case, variant), rows.of_case(case, flags=flags)
    words = zip([pair, *select.values()], types, strict=True)
    found = by_words.get(tuple(word if of == pl.String else pl.Series([word]).cast(of).item() for word, of in words), [])
    return {
        IoMode(io_mode): _one_series(case, select, IoMode(io_mode), [row for measured, row in found if measured == io_mode])
        for io_mode in dict.fromkeys(measured for measured, _ in found)
    }


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
