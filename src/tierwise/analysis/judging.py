"""One claim on one pair of tiers: the verdict on the published protocol, and beside it the verdict of every other arm.

Who judges is found by the claim's kind in `JUDGES`; those of costs, which rows do not decide alone, are the studies' own and handed in.

An *arm* is one way of running the study: a variant of the published protocol, with one way of doing I/O. Its name is the
variant's, with ``/buffered`` or ``/asynchronous`` behind it where I/O is not direct. Which one decides stands in the profile: the published
protocol by direct I/O, or the arm that is named beside the source as the nearest to what it ran.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import duckdb
from pydantic import Field, computed_field

from tierwise.analysis import evidence, rules
from tierwise.analysis.claims import Claim, Kind
from tierwise.analysis.left_open import OpenMap, map_of
from tierwise.analysis.open_claims import Cause, cure
from tierwise.analysis.rules import CaseVerdict, Outcome, Series, Verdict
from tierwise.core.toml import Strict
from tierwise.core.words import IoArm, Substrate
from tierwise.timings.manifest import Manifest

WITHHELD: Final = {Verdict.INPUT: Outcome(Verdict.INPUT, Cause.INPUT), Verdict.MIXED: Outcome(Verdict.MIXED, Cause.MIXED)}
"""What stands in a verdict's place, with its cause."""
TIMES: Final = ("heap_io_s", "index_io_s", "other_io_s")

ByPlacement = dict[str, dict[str, float]]
"""Case -> placement (table's tier/index's tier) -> median over the blocks."""


class Through(Strict):
    """What comes between a placement and its ratio: pages that a query asks of the storage, and the storage's time for them.

    There are those of the table, of the index in question, and of the table's other indexes, whose first pages planning reads.

    `io_basis` says how the times were found. They are `None` where one of them is not known, and `reason` says why.
    """

    heap_reads: ByPlacement
    index_reads: ByPlacement
    other_reads: ByPlacement
    heap_io_s: ByPlacement | None
    index_io_s: ByPlacement | None
    other_io_s: ByPlacement | None
    io_basis: str
    reason: str | None


class Ruling(Strict):
    """A verdict, the `conditions` that it was found under, and where the claim is open its `cause`, the `reason`, the `cure`."""

    verdict: Verdict
    reason: str = ""
    cause: Cause | None = None
    cure: str = ""
    conditions: tuple[str, ...] = ()

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorator above a property
    @property
    def verdict_text(self) -> str:
        """Return the verdict in words: where it is undecided with why and what would decide it, else with its conditions."""
        aside = f"{self.reason}; needs {self.cure}" if self.verdict is Verdict.UNDECIDED else ", ".join(self.conditions)
        return f"{self.verdict} ({aside})" if aside else str(self.verdict)


class Finding(Ruling):
    """A ruling with what it rests on: `estimate` and `pairs`, the number of its repeats, are of `deciding_case`, `substrate` is of all
    cases together."""

    cases: tuple[CaseVerdict, ...] = ()
    deciding_case: str | None = None
    estimate: float | None = None
    pairs: int = 0
    flagged: int = 0
    substrate: Substrate | None = None
    through: Through | None = None


class ArmVerdict(Finding):
    """What another arm than the published protocol says of the claim, by the same rules."""

    interval: tuple[float, float] | None

    @property
    def low(self) -> float | None:
        return self.interval and self.interval[0]

    @property
    def high(self) -> float | None:
        return self.interval and self.interval[1]


class Judgement(Finding):
    """What one pair of tiers says of one claim, by the published protocol, and in `arms` by every other arm.

    `estimate`, `low` and `high` are those of `deciding_case` in `deciding_arm`, the case furthest outside the bounds,
    else the one with the widest interval; `cases` has them all. The verdict is that of the arm `decided_by`, whose way of I/O is
    `rests_on`; `arms` has every other. What is open has a `cause`, and a `cure` that would decide it. `open_map` is over what the text
    leaves open, where that was simulated or follows from the rows.
    """

    pair: str
    low: float | None = None
    high: float | None = None
    decided_by: str = evidence.PUBLISHED
    deciding_arm: IoArm | None = None
    rests_on: tuple[IoArm, ...] = ()
    arms: dict[str, ArmVerdict] = Field(default_factory=dict)
    open_map: OpenMap | None = None
    evidence: Any = None


@dataclass(frozen=True)
class Rows:
    """The rows of one run."""

    connection: duckdb.DuckDBPyConnection
    manifest: Manifest


@dataclass(frozen=True)
class Grounds:
    """What a claim is judged on: a pair of tiers, and the rows of one run, if there is one.

    `readers`: the pair is the one that the reader named; all its tiers must share a substrate, not only those that a claim touches.
    `nearest`: the arm nearest to what the claim's source ran, if one is named.
    """

    pair: str
    rows: Rows | None
    readers: bool = False
    nearest: str | None = None

    def absent(
        self, reason: str = "no row of this run is about it", study: str = "", arms: Mapping[str, ArmVerdict] | None = None
    ) -> Judgement:
        """Judge that nothing was measured, for `reason` or because there is no run; `arms` are what other arms say all the same."""
        cause = Cause.MISSING if self.rows else Cause.NO_RUN
        return Judgement(
            pair=self.pair,
            verdict=Verdict.NOT_MEASURED,
            reason=reason if self.rows else "there is no complete run",
            cause=cause,
            cure=cure(cause, self.rows.manifest if self.rows else None, study),
            arms=dict(arms or {}),
        )

    def substrate(self) -> Substrate | None:
        """Return the one substrate of all rows on the pair, else mixed; `None` where there is no row."""
        return evidence.pair_substrate(self.rows.connection, self.pair) if self.rows else None


Judge = Callable[[Claim, Grounds], Judgement]
"""A judge says what the grounds say of a claim."""


def ruled(
    outcome: Outcome,
    manifest: Manifest | None = None,
    study: str = "",
    cases: Sequence[CaseVerdict] = (),
    aside: Sequence[str] = (),
) -> Ruling:
    """Return `outcome` with the conditions of `cases` and those `aside`, and what would decide it in the run of `manifest`, by `study`."""
    return Ruling(
        verdict=outcome.verdict,
        reason=outcome.reason,
        cause=outcome.cause,
        cure="" if outcome.cause is None else cure(outcome.cause, manifest, study),
        conditions=(*sorted({condition for case in cases for condition in case.conditions}), *aside),
    )


def as_judgement(
    found: ArmVerdict,
    *,
    pair: str,
    decided_by: str,
    deciding_arm: IoArm,
    arms: Mapping[str, ArmVerdict],
    ruling: Ruling | None = None,
    open_map: OpenMap | None = None,
) -> Judgement:
    """Return what an arm says as what the pair says, which `arms` say otherwise; a `ruling` takes the place of its verdict."""
    shared = {name: getattr(found, name) for name in Finding.model_fields}
    return Judgement(
        **shared | dict(ruling or {}),
        pair=pair,
        low=found.low,
        high=found.high,
        decided_by=decided_by,
        deciding_arm=deciding_arm,
        rests_on=(deciding_arm,),
        arms=dict(arms),
        open_map=open_map,
    )


def judge_cases(claim: Claim, on: Grounds) -> Judgement:
    """Return the verdict on a claim with cases, by the arm that decides, with those of the other arms."""
    if on.rows is None:
        return on.absent()
    arms = _arms(claim, on, on.rows)
    name = _decider(claim, on, on.rows, arms)
    if name is None:
        return on.absent(study=claim.cases[0].study, arms=arms)
    found, manifest = arms.pop(name), on.rows.manifest
    mapped = map_of(claim, manifest, on.pair, found.verdict) if claim.left_open else None
    own = Outcome(found.verdict, found.cause, found.reason)
    ruling = ruled(mapped.outcome(own) if mapped else own, manifest, claim.cases[0].study, found.cases, _aside(claim, on, name, mapped))
    arm = rules.deciding(found.cases, rules.needed_bounds(claim)).arm
    return as_judgement(found, pair=on.pair, decided_by=name, deciding_arm=arm, arms=arms, ruling=ruling, open_map=mapped)


def _aside(claim: Claim, on: Grounds, decider: str, mapped: OpenMap | None) -> list[str]:
    """What else a verdict by the arm `decider` was found under, beside the conditions of its cases."""
    assert on.rows is not None, "an arm was measured"
    told = []
    if decides_nearest(on.rows.manifest) and on.nearest not in {None, decider}:
        told.append(f"by {decider}: {on.nearest} was not measured")
    if claim.left_open and mapped is None:
        told.append(f"at one setting of {' and '.join(claim.left_open.axes)} alone, which the text leaves open")
    return told


def decides_nearest(manifest: Manifest) -> bool:
    """Return whether the run of `manifest` is judged by the arms nearest to the sources."""
    return manifest.profile.get("decides") == "nearest"


def _decider(claim: Claim, on: Grounds, rows: Rows, arms: Mapping[str, ArmVerdict]) -> str | None:
    """The name of the arm that decides; the nearest one only where it was measured in every case that it speaks of."""
    nearest = arms.get(on.nearest or "") if decides_nearest(rows.manifest) else None
    if nearest is not None and len(nearest.cases) == len(claim.orders or claim.cases):
        return on.nearest
    published = (arm_name(evidence.PUBLISHED, arm) for arm in IoArm)
    return next((name for name in published if name in arms), None)


def report_facts(claim: Claim, on: Grounds) -> Judgement:
    """Report what the manifest keeps as evidence of a claim that is shown and not judged; one without facts rests on the Method's
    argument."""
    if on.rows is not None and claim.facts is None:
        return Judgement(pair=on.pair, verdict=Verdict.REPORTED, reason=claim.unjudged or "")
    if claim.facts is None:
        return on.absent()
    found = evidence.facts_of(on.rows.manifest, claim.facts, on.pair) if on.rows else None
    if found is None:
        return on.absent(f"the run has no {claim.facts.key} of {claim.facts.study}", claim.facts.study)
    substrate = on.substrate()
    verdict = Verdict.MIXED if on.readers and substrate is Substrate.MIXED else Verdict.REPORTED
    return Judgement(pair=on.pair, substrate=substrate, verdict=verdict, evidence=found)


def leave_open(claim: Claim, on: Grounds) -> Judgement:  # noqa: ARG001  a judge
    """Leave `claim` open, because nothing here judges a claim of its kind."""
    return on.absent()


JUDGES: Final[Mapping[Kind, Judge]] = {
    Kind.RATIO: judge_cases,
    Kind.ABSOLUTE: judge_cases,
    Kind.SHARE: judge_cases,
    Kind.ORDER: judge_cases,
    Kind.PRESENCE: judge_cases,
    Kind.COST: leave_open,
    Kind.SHAPE: report_facts,
}
"""Who judges a claim of which kind from rows alone; ``report.rooms`` puts the studies' judges in the place of `leave_open`."""


def arm_name(variant: str, arm: IoArm) -> str:
    """Return the key of an arm in `Judgement.arms`."""
    return variant if arm is IoArm.DIRECT else f"{variant}/{arm}"


def _arms(claim: Claim, on: Grounds, rows: Rows) -> dict[str, ArmVerdict]:
    """Every arm that the run measured, by name: the published protocol and its variants, by each way of I/O."""
    arms = {}
    for variant in (evidence.PUBLISHED, *evidence.variants_of(rows.connection, claim, on.pair)):
        series = evidence.series_of(rows.connection, claim, on.pair, variant)
        for arm in sorted({one.arm for one in series}, key=list(IoArm).index):
            through = _through(claim, on.pair, rows, arm, variant)
            arms[arm_name(variant, arm)] = _found(claim, on, rows, [one for one in series if one.arm is arm], through)
    return arms


def _found(claim: Claim, on: Grounds, rows: Rows, series: Sequence[Series], through: Through | None) -> ArmVerdict:
    """What `series` say of the claim together."""
    substrate = Substrate.of({part for one in series for part in one.substrates})
    withheld = _withheld(claim, on, rows, substrate)
    cases, bounds = rules.judge_series(claim, series, withheld), rules.needed_bounds(claim)
    outcome = WITHHELD[withheld] if withheld else rules.combine(cases, len(claim.orders or claim.cases), bounds)
    decider = rules.deciding(cases, bounds)
    return ArmVerdict(
        **dict(ruled(outcome, rows.manifest, claim.cases[0].study, cases)),
        cases=cases,
        deciding_case=decider.case,
        estimate=decider.estimate,
        interval=None if decider.low is None or decider.high is None else (decider.low, decider.high),
        pairs=decider.pairs,
        flagged=sum(case.flagged for case in cases),
        substrate=substrate,
        through=through,
    )


def _withheld(claim: Claim, on: Grounds, rows: Rows, substrate: Substrate) -> Verdict | None:
    """What stands in a verdict's place where there may be none."""
    if claim.id in evidence.fitted_claims(rows.manifest.pairs.get(on.pair)):
        return Verdict.INPUT
    mixed = Substrate.MIXED in {substrate, on.substrate() if on.readers else substrate}
    return Verdict.MIXED if mixed else None


def _through(claim: Claim, pair: str, rows: Rows, arm: IoArm, variant: str | None = None) -> Through | None:
    """The reads of the cases that were measured; `None` for a study whose view tells no reads."""
    found = evidence.reads_of(rows.connection, claim, pair, arm, variant)
    cases = {case: places for case, places in found.items() if places}
    if not cases:
        return None
    table = {name: {case: {at: reads[name] for at, reads in of.items()} for case, of in cases.items()} for name in evidence.READS}
    known = all(value is not None for name in TIMES for of in table[name].values() for value in of.values())
    basis = "; ".join(sorted({basis for of in table["io_basis"].values() for told in of.values() for basis in told}))
    times = {} if known else dict.fromkeys(TIMES)
    return Through.model_validate({**table, **times, "io_basis": basis, "reason": None if known else basis})
