"""The verdict on every published claim, from the raw rows of one run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from tierwise.analysis import evidence, rules
from tierwise.analysis.claims import Claim, Facts, Kind, load_claims
from tierwise.analysis.rules import StateVerdict, Verdict
from tierwise.analysis.views import open_views
from tierwise.core.toml import Strict
from tierwise.core.words import IoArm, Substrate
from tierwise.timings.manifest import Manifest, load_manifest
from tierwise.timings.store import manifests

TABLE_COLUMNS: Final[dict[str, Any]] = {
    "id": pl.String,
    "source": pl.String,
    "kind": pl.String,
    "statement": pl.String,
    "how": pl.String,
    "bounds_text": pl.String,
    "estimate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "substrate": pl.String,
    "deciding_state": pl.String,
    "arms": pl.String,
    "pairs": pl.Int64,
    "flagged": pl.Int64,
    "verdict": pl.String,
    "here_estimate": pl.Float64,
    "here_low": pl.Float64,
    "here_high": pl.Float64,
    "here_substrate": pl.String,
    "here_verdict": pl.String,
}
"""Columns of `claims_table`."""

DECISIVE_PROFILE: Final = "full"
"""The profile that measures most; what it leaves undecided stays so."""


class Judgement(Strict):
    """What one pair of tiers says of one claim.

    `estimate`, `low` and `high` are those of `deciding_state` in `deciding_arm`, the state furthest outside the bounds,
    else the one with the widest interval; `substrate` is that of all states together.
    """

    pair: str
    substrate: Substrate | None = None
    verdict: str
    reason: str = ""
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: int = 0
    flagged: int = 0
    deciding_state: str | None = None
    deciding_arm: IoArm | None = None
    arms: tuple[IoArm, ...] = ()
    states: tuple[StateVerdict, ...] = ()
    evidence: Any = None


class ClaimVerdict(Judgement):
    """A claim, the judgement on its source's own pair, and in `here` the one on the reader's pair, if one was named."""

    id: str
    source: str
    statement: str
    kind: Kind
    how: str
    where: str
    bounds: tuple[float | None, float | None] | None
    bounds_how: str | None
    bounds_text: str
    run_id: str | None
    profile: str | None
    here: Judgement | None = None


def newest_run(raw: Path) -> str | None:
    """Id of the complete run that was finished last, or `None`."""
    finished = [(run.finished_at, run.run_id) for run in manifests(raw).values() if run.status == "complete" and run.finished_at]
    return max(finished)[1] if finished else None


def judge(raw: Path, run_id: str | None = None) -> list[ClaimVerdict]:
    """One verdict for each claim of ``claims.toml``, in its order, from run `run_id` (the newest complete one).

    Raises `InputError` where `run_id` is unknown or its files break the schema. Without any run nothing is measured.
    """
    published = load_claims()
    pair_of = {letter: source.pair for letter, source in published.sources.items()}
    chosen = newest_run(raw) if run_id is None else run_id
    if chosen is None:
        reason = "there is no complete run"
        absent = {letter: Judgement(pair=pair, verdict=Verdict.NOT_MEASURED, reason=reason) for letter, pair in pair_of.items()}
        return [_verdict(claim, absent[claim.source]) for claim in published.claims]
    with open_views(raw, chosen) as connection:
        manifest = load_manifest(raw / chosen)
        verdicts = []
        for claim in published.claims:
            own = _on_pair(connection, manifest, claim, pair_of[claim.source])
            here = _on_pair(connection, manifest, claim, manifest.reader_pair, whole_pair=True) if manifest.reader_pair else None
            verdicts.append(_verdict(claim, own, manifest, here))
        return verdicts


def as_json(verdicts: Sequence[ClaimVerdict]) -> list[dict[str, Any]]:
    """`verdicts` as JSON values, one object a claim."""
    return [verdict.model_dump(mode="json") for verdict in verdicts]


def as_text(verdicts: Sequence[ClaimVerdict]) -> str:
    """`verdicts` for a terminal: a line for each claim, one more for the reader's pair, and the statement below."""
    lines = []
    for verdict in verdicts:
        lines.append(f"{verdict.id:4}{verdict.verdict}")
        lines.append(f"    {verdict.statement}")
        lines.append(f"    published {verdict.bounds_text}; {_finding(verdict)}")
        if verdict.here is not None:
            lines.append(f"    here: {verdict.here.verdict}; {_finding(verdict.here)}")
    run = f"run {verdicts[0].run_id}, profile {verdicts[0].profile}" if verdicts[0].run_id else "no complete run: make report measures one"
    return "\n".join([*lines, run])


def claims_table(raw: Path, run_id: str | None = None) -> pl.DataFrame:
    """One row a claim for the report: what was published, what was found and on which substrate, and both verdicts."""
    return pl.DataFrame([_table_row(verdict) for verdict in judge(raw, run_id)], schema=TABLE_COLUMNS)


def _table_row(verdict: ClaimVerdict) -> dict[str, Any]:
    here = verdict.here or Judgement(pair="", verdict="")
    shown = ("estimate", "low", "high", "substrate", "verdict")
    own = verdict.model_dump(mode="json", include=set(TABLE_COLUMNS))
    return {**own, "arms": ", ".join(verdict.arms), **{f"here_{name}": getattr(here, name) or None for name in shown}}


def _finding(judgement: Judgement) -> str:
    """The numbers behind a verdict, with their substrate."""
    if judgement.evidence is not None:
        return f"found on {judgement.pair}, {judgement.substrate}: see the report, or --format json"
    if judgement.estimate is None:
        return judgement.reason
    interval = "no interval" if judgement.low is None else f"{judgement.low:.3g} to {judgement.high:.3g}"
    counted = f"{judgement.pairs} pairs" + (f", {judgement.flagged} flagged" if judgement.flagged else "")
    where = f"{judgement.deciding_state} on {judgement.pair}, {judgement.deciding_arm}, {judgement.substrate}"
    return f"found {judgement.estimate:.3g} ({interval}; {where}; {counted})"


def _verdict(claim: Claim, own: Judgement, manifest: Manifest | None = None, here: Judgement | None = None) -> ClaimVerdict:
    bounds = rules.needed_bounds(claim)
    return ClaimVerdict(
        **own.model_dump(),
        **claim.model_dump(include={"id", "statement", "kind", "how", "where", "bounds_how"}),
        source=claim.source,
        bounds=None if bounds is None else (bounds.lower, bounds.upper),
        bounds_text=_bounds_text(claim),
        run_id=None if manifest is None else manifest.run_id,
        profile=None if manifest is None else manifest.profile.get("name"),
        here=here,
    )


def _bounds_text(claim: Claim) -> str:
    """The published bounds in words; a star marks those that the text does not give itself."""
    if claim.orders:
        return ", ".join(f"{order.greater} > {order.than}" for order in claim.orders)
    if claim.bounds is None:
        return "no bounds"
    return f"{claim.bounds}{'*' if claim.bounds_how == 'assumed' else ''}"


def _on_pair(connection: duckdb.DuckDBPyConnection, manifest: Manifest, claim: Claim, pair: str, *, whole_pair: bool = False) -> Judgement:
    """Judge `claim` on `pair`; with `whole_pair` all tiers of the pair must share a substrate, not only the claim's."""
    if claim.facts is not None:
        return _reported(connection, manifest, claim.facts, pair, whole_pair=whole_pair)
    series = evidence.series_of(connection, claim, pair)
    if not series:
        return Judgement(pair=pair, verdict=Verdict.NOT_MEASURED, reason="no row of this run is about it")
    substrate = Substrate.of({part for one in series for part in one.substrates})
    withheld = None
    if claim.id in evidence.fitted_claims(manifest.pairs.get(pair)):
        withheld = Verdict.INPUT
    elif Substrate.MIXED in {substrate, evidence.pair_substrate(connection, pair) if whole_pair else substrate}:
        withheld = Verdict.MIXED
    states = [rules.judge_series(claim, one, withheld) for one in series]
    verdict, reason = (withheld, "") if withheld else rules.combine(states, len(claim.orders or claim.states))
    decider = rules.deciding(states, rules.needed_bounds(claim))
    return Judgement(
        pair=pair,
        substrate=substrate,
        verdict=_words(verdict, reason, manifest, states),
        reason=reason,
        estimate=decider.estimate,
        low=decider.low,
        high=decider.high,
        pairs=decider.pairs,
        flagged=sum(state.flagged for state in states),
        deciding_state=decider.state,
        deciding_arm=decider.arm,
        arms=tuple(sorted({state.arm for state in states})),
        states=tuple(states),
    )


def _reported(connection: duckdb.DuckDBPyConnection, manifest: Manifest, facts: Facts, pair: str, *, whole_pair: bool) -> Judgement:
    found = evidence.facts_of(manifest, facts, pair)
    if found is None:
        return Judgement(pair=pair, verdict=Verdict.NOT_MEASURED, reason=f"the run has no {facts.key} of {facts.study}")
    substrate = evidence.pair_substrate(connection, pair)
    verdict = Verdict.MIXED if whole_pair and substrate is Substrate.MIXED else Verdict.REPORTED
    return Judgement(pair=pair, substrate=substrate, verdict=verdict, evidence=found)


def _words(verdict: Verdict, reason: str, manifest: Manifest, states: Sequence[StateVerdict]) -> str:
    """`verdict` with the conditions that it was found under, and where it is undecided, what would decide it."""
    if verdict is not Verdict.UNDECIDED:
        conditions = sorted({condition for state in states for condition in state.conditions})
        return f"{verdict} ({', '.join(conditions)})" if conditions else str(verdict)
    obstacles = {obstacle for state in states for obstacle in state.obstacles}
    if reason in obstacles or reason.startswith("the arms disagree") or manifest.profile.get("name") == DECISIVE_PROFILE:
        return f"{verdict} ({reason})"
    return f"{verdict} (needs PROFILE={DECISIVE_PROFILE})"
