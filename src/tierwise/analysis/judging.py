"""One claim on one pair of tiers: the verdict by the variant and I/O mode that decide, and beside it the verdicts of every other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from pydantic import Field, PlainSerializer, SerializerFunctionWrapHandler, computed_field, model_serializer

from tierwise.analysis import rules
from tierwise.analysis.causes import Cause, Reason, cure, phrase
from tierwise.analysis.claim_rows import PUBLISHED, Rows, facts_of, fitted_claims, pair_evidence, series_of, variants_of
from tierwise.analysis.claims import Claim, Deciding, Fitted, Kind, load_claims
from tierwise.analysis.left_open import OpenMap, map_of, measured_map
from tierwise.analysis.model_interval import CLAIM, Key, shifts_of
from tierwise.analysis.rules import DECIDED, CaseVerdict, Outcome, Series, Verdict
from tierwise.analysis.today import Today
from tierwise.core.toml import Strict
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.timings.manifest import Manifest

WITHHELD: Final = {Verdict.INPUT: Cause.INPUT, Verdict.MIXED: Cause.MIXED}  # what stands in a verdict's place -> its cause
NO_ROW: Final = Reason("no_row")
NO_RUN: Final = Reason("no_run")

WITH_PROCESSORS: Final = "with-processors"  # variant of slowed drives, in which the processors take their own time too


class ClaimVerdict(Strict):
    """What one variant in one I/O mode says of a claim on one pair of tiers, and in `others` what every other says.

    `estimate`, `low`, `high` and `pairs` are those of `deciding_case`: the case furthest outside the bounds, else the one with the widest
    interval. From `id` on the fields describe the claim, and are empty in `others` and `here`.
    """

    verdict: Verdict
    reason: str = ""
    cause: Annotated[Cause, PlainSerializer(str, when_used="json")] | None = None
    cure: str = ""  # what would decide an open claim
    conditions: tuple[str, ...] = ()  # that it was found under
    pair: str = ""
    variant: str = PUBLISHED
    io_mode: IoMode | None = None  # None where nothing decides
    cases: tuple[CaseVerdict, ...] = ()
    deciding_case: str | None = None
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: int = 0  # the number of repeats
    flagged: int = 0
    evidence: Evidence | None = None  # of all cases together
    others: "tuple[ClaimVerdict, ...]" = ()
    open_map: OpenMap | None = None  # over what the text leaves open, where that was simulated or follows from the rows
    facts: Any = Field(default=None, description="of a claim that is reported: what the manifest keeps as its evidence")

    id: str = ""
    source: str = ""
    statement: str = ""
    kind: Kind | None = None
    how: str = ""
    where: str = ""
    quotation: str = ""
    unjudged: str | None = None
    fitted: Fitted | None = None
    certain: str | None = None
    bounds: tuple[float | None, float | None] | None = None
    bounds_how: str | None = None
    bounds_text: str = ""
    run_id: str | None = None
    profile: str | None = None
    rule_newer: bool = Field(default=False, description="its rule changed after the run began")
    rule_after_results: bool = Field(default=False, description="its rule was chosen after results had been seen")
    here: "ClaimVerdict | None" = None  # the verdict on the reader's own pair, if one was named
    today: tuple[Today, ...] = ()  # what the pairs of today show, on which no verdict rests

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorator above a property
    @property
    def verdict_text(self) -> str:
        """Return the verdict in words: where it is undecided with why and what would decide it, else with its conditions."""
        aside = f"{self.reason}; needs {self.cure}" if self.verdict is Verdict.UNDECIDED else ", ".join(self.conditions)
        return f"{self.verdict} ({aside})" if aside else str(self.verdict)

    @model_serializer(mode="wrap")
    def _serialized(self, as_fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = as_fields(self)
        return fields if self.id else {name: value for name, value in fields.items() if name not in OF_A_CLAIM}


OF_A_CLAIM: Final = frozenset([*ClaimVerdict.model_fields][[*ClaimVerdict.model_fields].index("id") :])
"""The fields of a verdict that describe its claim."""


@dataclass(frozen=True)
class Grounds:
    """What a claim is judged on; `readers`: the reader named the pair, and all its tiers must share one evidence."""

    pair: str
    rows: Rows | None
    readers: bool = False

    def absent(self, reason: Reason | str = NO_ROW, study: str = "", others: tuple[ClaimVerdict, ...] = ()) -> ClaimVerdict:
        """Return that nothing was measured, for `reason` or because there is no run; `others` may say something all the same."""
        cause = Cause.MISSING if self.rows else Cause.NO_RUN
        return ClaimVerdict(
            pair=self.pair,
            verdict=Verdict.NOT_MEASURED,
            reason=str(reason if self.rows else NO_RUN),
            cause=cause,
            cure=cure(cause, self.rows.manifest if self.rows else None, study),
            others=others,
        )

    def evidence(self) -> Evidence | None:
        return pair_evidence(self.rows.connection, self.pair) if self.rows else None


Judge = Callable[[Claim, Grounds], ClaimVerdict]


def ruled(
    outcome: Outcome, manifest: Manifest | None = None, study: str = "", cases: Sequence[CaseVerdict] = (), aside: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the fields of a verdict with this `outcome`; an open one says what would decide it in the run of `manifest`, by `study`."""
    verdict, cause, reason = outcome
    return {
        "verdict": verdict,
        "reason": str(reason),
        "cause": cause,
        "cure": "" if cause is None else cure(cause, manifest, study),
        "conditions": (*sorted({condition for case in cases for condition in case.conditions}), *aside),
    }


def judge_cases(claim: Claim, on: Grounds) -> ClaimVerdict:
    """Return the verdict on a claim with cases, by the variant and I/O mode that decide, with those of the others."""
    if on.rows is None:
        return on.absent()
    every, manifest, study = _every(claim, on, on.rows), on.rows.manifest, claim.cases[0].study
    found = _decider(claim, every)
    if found is None:
        return on.absent(study=study, others=every)
    mapped = map_of(claim, manifest, on.pair, found.verdict)
    if claim.settings and found.io_mode:
        variants = [found.variant, *sorted({name for case in found.cases for name in case.hangs_on})]
        mapped = measured_map(claim, on.rows, on.pair, variants, found.io_mode, at_one=found.verdict)
    own = _agreed(claim, found, every)
    outcome = mapped.outcome(own) if mapped else own
    aside = [*_aside(claim, found, mapped), *([] if claim.counts else _of_replicates(outcome[0], found))]
    ruling = ruled(outcome, manifest, study, found.cases, aside)
    others = tuple(one for one in every if one is not found)
    return found.model_copy(update={**ruling, "others": others, "open_map": mapped})


def _agreed(claim: Claim, found: ClaimVerdict, every: Sequence[ClaimVerdict]) -> Outcome:
    """Return the verdict of `found`; undecided where it hangs on a variant that does not give the same one."""
    own = (found.verdict, found.cause, found.reason)
    for variant in sorted({name for case in found.cases for name in case.hangs_on}):
        twin = next((one for one in every if (one.variant, one.io_mode) == (variant, found.io_mode)), None)
        if found.verdict in DECIDED and (twin is None or twin.verdict is not found.verdict or _opposite(claim, found, twin)):
            cause = Cause.SLOWED if variant == WITH_PROCESSORS else Cause.LOG
            return Verdict.UNDECIDED, cause, Reason(cause.value, {"variant": variant, "verdict": twin and twin.verdict})
    return own


def _opposite(claim: Claim, one: ClaimVerdict, other: ClaimVerdict) -> bool:
    """Return whether the bounds lie between the values of the two: what is between them may be inside."""
    lower = claim.bounds.lower if claim.bounds else None
    if lower is None or one.estimate is None or other.estimate is None:
        return False
    return (one.estimate < lower) is not (other.estimate < lower)


def _aside(claim: Claim, decider: ClaimVerdict, mapped: OpenMap | None) -> list[str]:
    found = []
    deciding = load_claims().deciding[claim.cases[0].study]
    if not decides(decider, deciding):
        found.append(phrase("conditions.other_mode", decider=named(decider), wanted=named(deciding)))
    if claim.open_axes and mapped is None:
        found.append(phrase("conditions.one_setting", axes=" and ".join(claim.open_axes)))
    return found


def decides(one: ClaimVerdict, deciding: Deciding) -> bool:
    return one.variant == deciding.variant and one.io_mode == (deciding.io_mode or one.io_mode)


def named(one: ClaimVerdict | Deciding) -> str:
    """Return ``published``, and the I/O mode behind it where that is not direct: ``published (buffered)``."""
    return one.variant if one.io_mode in {None, IoMode.DIRECT} else f"{one.variant} ({one.io_mode})"


def _decider(claim: Claim, every: Sequence[ClaimVerdict]) -> ClaimVerdict | None:
    """Which of `every` decides: that of ``claims.toml`` only where it was measured in each case of the claim."""
    deciding = load_claims().deciding[claim.cases[0].study]
    found = next((one for one in every if decides(one, deciding)), None)
    if found is not None and len(found.cases) == len(claim.orders or claim.cases):
        return found
    published = {one.io_mode: one for one in every if one.variant == PUBLISHED}
    return next((published[mode] for mode in IoMode if mode in published), None)


def report_facts(claim: Claim, on: Grounds) -> ClaimVerdict:
    """Report what the manifest keeps as evidence of a claim that is shown and not judged."""
    if on.rows is not None and claim.facts is None:
        return ClaimVerdict(pair=on.pair, verdict=Verdict.REPORTED, reason=claim.unjudged or "")
    if claim.facts is None:
        return on.absent()
    found = facts_of(on.rows.manifest, claim.facts, on.pair) if on.rows else None
    if found is None:
        return on.absent(Reason("no_fact", {"key": claim.facts.key, "study": claim.facts.study}), claim.facts.study)
    evidence = on.evidence()
    verdict = Verdict.MIXED if on.readers and evidence is Evidence.MIXED else Verdict.REPORTED
    return ClaimVerdict(pair=on.pair, evidence=evidence, verdict=verdict, facts=found)


Judges = Mapping[Kind, Judge]
JUDGES: Final[Judges] = {
    **dict.fromkeys((Kind.RATIO, Kind.ABSOLUTE, Kind.SHARE, Kind.ORDER, Kind.PRESENCE), judge_cases),
    Kind.COST: lambda claim, on: on.absent(),  # noqa: ARG005  a judge
    Kind.SHAPE: report_facts,
}
"""Who judges a claim of which kind from rows alone; ``report.study_registry`` puts in the studies' judges of costs."""


def _every(claim: Claim, on: Grounds, rows: Rows) -> tuple[ClaimVerdict, ...]:
    found, study = [], claim.cases[0].study
    machines = {one.replicate: one.machine for one in rows.manifest.attempts if one.study == study}
    for variant in (PUBLISHED, *variants_of(rows, claim, on.pair)):
        series = [replace(one, machines=machines) for one in series_of(rows, claim, on.pair, variant)]
        for mode in sorted({one.io_mode for one in series}, key=list(IoMode).index):
            found.append(_found(claim, on, rows, variant, [one for one in series if one.io_mode is mode]))
    return tuple(found)


def _found(claim: Claim, on: Grounds, rows: Rows, variant: str, series: Sequence[Series]) -> ClaimVerdict:
    evidence = Evidence.of({part for one in series for part in one.evidence_kinds})
    withheld = _withheld(claim, on, rows, evidence)
    bounds, mode = rules.needed_bounds(claim), str(series[0].io_mode)
    judged = rules.judge_series(claim, series, withheld)
    cases = tuple(rules.with_model(claim, case, shifts_of(Key(on.pair, CLAIM, claim.id, case.case, variant, mode))) for case in judged)
    outcome = (withheld, WITHHELD[withheld], "") if withheld else rules.combine(cases, len(claim.orders or claim.cases), bounds)
    furthest = rules.furthest_outside(cases, bounds)
    return ClaimVerdict(
        **ruled(outcome, rows.manifest, claim.cases[0].study, cases),
        pair=on.pair,
        variant=variant,
        io_mode=series[0].io_mode,
        cases=cases,
        deciding_case=furthest.case,
        **furthest.as_estimate.fields,
        flagged=sum(case.flagged for case in cases),
        evidence=evidence,
    )


def _of_replicates(verdict: Verdict, found: ClaimVerdict) -> list[str]:
    """Return the condition of a decided `verdict` that lacks its model interval; a real device has no assumed parameter."""
    lacking = verdict in DECIDED and any(case.low is not None and case.model_low is None for case in found.cases)
    return [phrase("conditions.replicates_alone")] if lacking and found.evidence is not Evidence.MEASURED else []


def _withheld(claim: Claim, on: Grounds, rows: Rows, evidence: Evidence) -> Verdict | None:
    if claim.id in fitted_claims(rows.manifest.pairs.get(on.pair)):
        return Verdict.INPUT
    mixed = Evidence.MIXED in {evidence, on.evidence() if on.readers else evidence}
    return Verdict.MIXED if mixed else None
