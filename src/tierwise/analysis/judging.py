"""One claim on one pair of tiers: the verdict on the published protocol, and beside it the verdict of every other arm.

An *arm* is one way of running the study: a variant of the published protocol, with one way of doing I/O. Its name is the
variant's, with ``/buffered`` behind it where I/O is buffered.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import duckdb
from pydantic import Field

from tierwise.analysis import evidence, rules
from tierwise.analysis.claims import Claim, Facts
from tierwise.analysis.open_claims import Cause, cure
from tierwise.analysis.rules import Outcome, Series, StateVerdict, Verdict
from tierwise.core.toml import Strict
from tierwise.core.words import IoArm, Substrate
from tierwise.timings.manifest import Manifest

WITHHELD: Final = {Verdict.INPUT: Outcome(Verdict.INPUT, Cause.INPUT), Verdict.MIXED: Outcome(Verdict.MIXED, Cause.MIXED)}
"""What stands in a verdict's place, with its cause."""
TIMES: Final = ("heap_io_s", "index_io_s", "other_io_s")

ByPlacement = dict[str, dict[str, float]]
"""State -> placement (table's tier/index's tier) -> median over the blocks."""


class Through(Strict):
    """Through which reads a ratio comes about: blocks that a query asks of the storage, and the storage's time for them.

    Of the table, of the index in question, and of the table's other indexes, whose first pages planning reads.

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


class ArmVerdict(Strict):
    """What another arm than the published protocol says of the claim, by the same rules."""

    verdict: str
    reason: str = ""
    cause: Cause | None = None
    cure: str = ""
    states: tuple[StateVerdict, ...]
    deciding_state: str | None
    estimate: float | None
    interval: tuple[float, float] | None
    pairs: int
    flagged: int
    substrate: Substrate | None
    through: Through | None

    @property
    def low(self) -> float | None:
        return self.interval and self.interval[0]

    @property
    def high(self) -> float | None:
        return self.interval and self.interval[1]


class Judgement(Strict):
    """What one pair of tiers says of one claim, by the published protocol, and in `arms` by every other arm.

    `estimate`, `low` and `high` are those of `deciding_state` in `deciding_arm`, the state furthest outside the bounds,
    else the one with the widest interval; `substrate` is that of all states together. The verdict rests on the I/O arms `rests_on`,
    and `through` speaks of direct I/O where that is among them. What is open has a `cause`, and a `cure` that would decide it.
    """

    pair: str
    substrate: Substrate | None = None
    verdict: str
    reason: str = ""
    cause: Cause | None = None
    cure: str = ""
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: int = 0
    flagged: int = 0
    deciding_state: str | None = None
    deciding_arm: IoArm | None = None
    rests_on: tuple[IoArm, ...] = ()
    states: tuple[StateVerdict, ...] = ()
    through: Through | None = None
    arms: dict[str, ArmVerdict] = Field(default_factory=dict)
    evidence: Any = None


@dataclass(frozen=True)
class Judge:
    """The rows of one run on one pair. `whole_pair`: all its tiers must share a substrate, not only those that a claim touches."""

    connection: duckdb.DuckDBPyConnection
    manifest: Manifest
    pair: str
    whole_pair: bool = False

    def judge(self, claim: Claim) -> Judgement:
        """The verdict on `claim` by the published protocol, with those of the other arms."""
        if claim.facts is not None:
            return self._reported(claim.facts)
        series = evidence.series_of(self.connection, claim, self.pair)
        if not series:
            absent = self._absent("no row of this run is about it", claim.states[0].study if claim.states else "")
            return absent.model_copy(update={"arms": self._arms(claim, ())})
        judged = self._judged(claim, series)
        through = self._through(claim, IoArm.DIRECT if IoArm.DIRECT in judged.rests_on else IoArm.BUFFERED)
        return judged.model_copy(update={"through": through, "arms": self._arms(claim, judged.rests_on)})

    def _arms(self, claim: Claim, rests_on: Collection[IoArm]) -> dict[str, ArmVerdict]:
        """Every other arm that the run measured, by name: the variants, and the published protocol by its second way of I/O."""
        arms = {}
        for variant in (evidence.PUBLISHED, *evidence.variants_of(self.connection, claim, self.pair)):
            alike = evidence.under(claim, variant)
            series = evidence.series_of(self.connection, alike, self.pair)
            for arm in sorted({one.arm for one in series}, reverse=True):
                if variant != evidence.PUBLISHED or (arm is IoArm.BUFFERED and IoArm.DIRECT in rests_on):
                    judged = self._judged(alike, [one for one in series if one.arm is arm])
                    arms[arm_name(variant, arm)] = _as_arm(judged, self._through(alike, arm))
        return arms

    def _judged(self, claim: Claim, series: Sequence[Series]) -> Judgement:
        substrate = Substrate.of({part for one in series for part in one.substrates})
        withheld = self._withheld(claim, substrate)
        states = [rules.judge_series(claim, one, withheld) for one in series]
        outcome = WITHHELD[withheld] if withheld else rules.combine(states, len(claim.orders or claim.states))
        decider = rules.deciding(states, rules.needed_bounds(claim))
        return Judgement(
            pair=self.pair,
            substrate=substrate,
            verdict=self._words(outcome, claim.states[0].study, states),
            reason=outcome.reason,
            cause=outcome.cause,
            cure="" if outcome.cause is None else cure(outcome.cause, self.manifest, claim.states[0].study),
            estimate=decider.estimate,
            low=decider.low,
            high=decider.high,
            pairs=decider.pairs,
            flagged=sum(state.flagged for state in states),
            deciding_state=decider.state,
            deciding_arm=decider.arm,
            rests_on=tuple(sorted({state.arm for state in states})),
            states=tuple(states),
        )

    def _withheld(self, claim: Claim, substrate: Substrate) -> Verdict | None:
        """What stands in a verdict's place where there may be none."""
        if claim.id in evidence.fitted_claims(self.manifest.pairs.get(self.pair)):
            return Verdict.INPUT
        mixed = Substrate.MIXED in {substrate, self._pair_substrate() if self.whole_pair else substrate}
        return Verdict.MIXED if mixed else None

    def _reported(self, facts: Facts) -> Judgement:
        found = evidence.facts_of(self.manifest, facts, self.pair)
        if found is None:
            return self._absent(f"the run has no {facts.key} of {facts.study}", facts.study)
        substrate = self._pair_substrate()
        verdict = Verdict.MIXED if self.whole_pair and substrate is Substrate.MIXED else Verdict.REPORTED
        return Judgement(pair=self.pair, substrate=substrate, verdict=verdict, evidence=found)

    def _through(self, claim: Claim, arm: IoArm) -> Through | None:
        """The reads of the states that were measured; `None` for a study whose view tells no reads."""
        found = evidence.reads_of(self.connection, claim, self.pair, arm)
        states = {state: places for state, places in found.items() if places}
        if not states:
            return None
        table = {name: {state: {at: reads[name] for at, reads in of.items()} for state, of in states.items()} for name in evidence.READS}
        known = all(value is not None for name in TIMES for of in table[name].values() for value in of.values())
        basis = "; ".join(sorted({basis for of in table["io_basis"].values() for told in of.values() for basis in told}))
        times = {} if known else dict.fromkeys(TIMES)
        return Through.model_validate({**table, **times, "io_basis": basis, "reason": None if known else basis})

    def _pair_substrate(self) -> Substrate | None:
        return evidence.pair_substrate(self.connection, self.pair)

    def _absent(self, reason: str, study: str) -> Judgement:
        needs = cure(Cause.MISSING, self.manifest, study)
        return Judgement(pair=self.pair, verdict=Verdict.NOT_MEASURED, reason=reason, cause=Cause.MISSING, cure=needs)

    def _words(self, outcome: Outcome, study: str, states: Sequence[StateVerdict]) -> str:
        """The verdict with the conditions that it was found under, and where it is undecided, why and what would decide it."""
        if outcome.verdict is not Verdict.UNDECIDED or outcome.cause is None:
            conditions = sorted({condition for state in states for condition in state.conditions})
            return f"{outcome.verdict} ({', '.join(conditions)})" if conditions else str(outcome.verdict)
        return f"{outcome.verdict} ({outcome.reason}; needs {cure(outcome.cause, self.manifest, study)})"


def arm_name(variant: str, arm: IoArm) -> str:
    """The key of an arm in `Judgement.arms`."""
    return variant if arm is IoArm.DIRECT else f"{variant}/{arm}"


def _as_arm(judged: Judgement, through: Through | None) -> ArmVerdict:
    shared = {name: getattr(judged, name) for name in ArmVerdict.model_fields if name in Judgement.model_fields}
    interval = None if judged.low is None or judged.high is None else (judged.low, judged.high)
    return ArmVerdict.model_validate({**shared, "interval": interval, "through": through})
