"""What a run holds about a claim: series of values from the studies' views, and facts from the manifest."""

import re
from typing import Any, Final

import duckdb

from tierwise.analysis.claims import Claim, Facts, State
from tierwise.analysis.rules import Series, order_series
from tierwise.core.errors import EvidenceError
from tierwise.core.words import IoArm, Substrate
from tierwise.timings.manifest import Manifest

_CLAIM_ID: Final = re.compile(r"\b[LMVHR][1-9][0-9]*\b")


def series_of(connection: duckdb.DuckDBPyConnection, claim: Claim, pair: str) -> list[Series]:
    """Every series that `claim` needs and the run of `connection` has on `pair`: one for each state, or order, and arm."""
    states = {state.name: _state_series(connection, state, pair) for state in claim.states}
    if not claim.orders:
        return [series for by_arm in states.values() for series in by_arm.values()]
    return [
        order_series(greater, states[order.than][arm])
        for order in claim.orders
        for arm, greater in states[order.greater].items()
        if arm in states[order.than]
    ]


def pair_substrate(connection: duckdb.DuckDBPyConnection, pair: str) -> Substrate | None:
    """The one substrate of all rows on `pair`, else ``mixed``; `None` where it has no row."""
    found = connection.execute("select distinct substrate from timings where pair = ?", [pair]).fetchall()
    return Substrate.of({Substrate(word) for (word,) in found}) if found else None


def facts_of(manifest: Manifest, facts: Facts, pair: str) -> Any | None:
    """What the study found out once on `pair`, as the manifest keeps it."""
    records = (record for record in manifest.studies if (record.name, record.pair) == (facts.study, pair))
    return next((record.facts.get(facts.key) for record in records), None)


def fitted_claims(record: object) -> set[str]:
    """Ids of the claims whose values went into a parameter (``fitted_on``) of a pair's devices, at any depth."""
    if isinstance(record, dict):
        named = set(_CLAIM_ID.findall(str(record.get("fitted_on") or "")))
        return named.union(*map(fitted_claims, record.values()))
    if isinstance(record, list | tuple):
        return set().union(*map(fitted_claims, record))
    return set()


def _state_series(connection: duckdb.DuckDBPyConnection, state: State, pair: str) -> dict[IoArm, Series]:
    chosen = " and ".join(f"{column} = ?" for column in state.select)
    rows = connection.execute(
        f"""
        select arm, block, substrate, coalesce(flagged, false), {state.value}::double, {state.note or "''"}
        from {state.study}
        where pair = ? and {chosen} and ({state.value} is not null or flagged)
        order by arm, block
        """,
        [pair, *state.select.values()],
    ).fetchall()
    return {IoArm(arm): _one_series(state, IoArm(arm), [row[1:] for row in rows if row[0] == arm]) for arm in {row[0] for row in rows}}


def _one_series(state: State, arm: IoArm, rows: list[tuple[int, str, bool, float, str]]) -> Series:
    blocks = [block for block, *_ in rows]
    if len(set(blocks)) != len(blocks):
        raise EvidenceError(f"{state.study}: {state.select} selects several values of one block, so they cannot be paired")
    return Series(
        state=state.name,
        arm=arm,
        substrates=frozenset(Substrate(substrate) for _, substrate, *_ in rows),
        values={block: value for block, _, flagged, value, _ in rows if not flagged},
        flagged=frozenset(block for block, _, flagged, *_ in rows if flagged),
        conditions=frozenset(note for _, _, flagged, _, note in rows if note and not flagged),
        obstacles=frozenset(note for _, _, flagged, _, note in rows if note and flagged),
    )
