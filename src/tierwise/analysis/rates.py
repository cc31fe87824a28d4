"""Times and rates that the sources state beside ours: a model judges a claim if it meets the rates that the claim rests on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal, Self

import duckdb
from pydantic import Field, model_validator

from tierwise.analysis.causes import Cause, Reason, phrase
from tierwise.analysis.claim_rows import Rows, facts_of, mode_in
from tierwise.analysis.claims import CLAIM_ID, Claim, Expression, Facts, Name, load_claims
from tierwise.analysis.judging import ClaimVerdict, ruled
from tierwise.analysis.rules import DECIDED, Verdict
from tierwise.analysis.statistics import geometric_estimate
from tierwise.core import paths
from tierwise.core.toml import Strict, read_toml
from tierwise.timings.manifest import Manifest, load_manifest

WITHIN: Final = 2.0  # the factor up to which a model meets a stated rate


class Fact(Strict):
    """An entry of a study's facts that has simulated seconds by tier."""

    key: str
    where: dict[Name, str]
    tier: str


class Rate(Strict):
    """A time or rate that a source states, and where ours is."""

    name: str = Field(min_length=1)
    source: str
    published: float = Field(gt=0)
    least: bool = False
    unit: str
    stated: str = Field(min_length=1)
    how: Literal["stated", "histogram", "chart", "inferred", "log"]
    study: Name
    select: dict[Name, str] = Field(default_factory=dict)
    value: Expression | None = None
    fact: Fact | None = None
    why: str = Field(min_length=1)
    claims: tuple[Annotated[str, Field(pattern=rf"^{CLAIM_ID}$")], ...]

    @model_validator(mode="after")
    def _from_one_place(self) -> Self:
        if bool(self.fact) == bool(self.select and self.value):
            raise ValueError("a rate needs either `select` and `value`, or `fact`")
        return self


class LeftOut(Strict):
    source: str
    stated: str = Field(min_length=1)
    why: str = Field(min_length=1)


class Rates(Strict):
    rates: tuple[Rate, ...]
    left_out: tuple[LeftOut, ...]


class Compared(Strict):
    """Our value of a stated rate in one run; `factor` is ours over the published one, and None where the run has no value."""

    rate: Rate
    ours: float | None
    factor: float | None

    @property
    def miss(self) -> float:
        """Return by which factor the model misses the rate, 1 or more; 1 if nothing is known."""
        if self.factor is None or (self.rate.least and self.factor >= 1):
            return 1.0
        return max(self.factor, 1 / self.factor)

    @property
    def met(self) -> bool:
        return self.miss <= WITHIN


def load_rates() -> Rates:
    return read_toml(paths.data() / "published" / "rates.toml", Rates)


def compare_rates(rows: Rows) -> tuple[Compared, ...]:
    """Return every stated rate with that of the run's rows on the pair of its source."""
    return tuple(_compared(rate, rows) for rate in load_rates().rates)


def misses(connection: duckdb.DuckDBPyConnection, run_folder: Path, study: str, pair: str) -> bool:
    """Return whether the model of a source's `pair` misses a stated rate that a statement on `study` rests on."""
    known = load_claims()
    judged = [claim for claim in known.claims if study in {case.study for case in claim.cases}]
    own = {claim.id for claim in judged if (claim.pair or known.sources[claim.source].pair) == pair}
    rates = [rate for rate in load_rates().rates if own & set(rate.claims)]
    rows = Rows(connection, load_manifest(run_folder)) if rates else None
    return rows is not None and not all(_compared(rate, rows).met for rate in rates)


def _compared(rate: Rate, rows: Rows) -> Compared:
    pair = load_claims().sources[rate.source].pair
    values = _from_facts(rate.study, rate.fact, rows, pair) if rate.fact else _from_rows(rate, rows, pair)
    ours = geometric_estimate(values).value
    return Compared(rate=rate, ours=ours, factor=ours and ours / rate.published)


def _from_facts(study: str, fact: Fact, rows: Rows, pair: str) -> Sequence[float]:
    entries: Sequence[Mapping[str, object]] = facts_of(rows.manifest, Facts(study=study, key=fact.key), pair) or ()
    for entry in entries:
        seconds = entry.get("seconds")
        if isinstance(seconds, Mapping) and all(entry.get(name) == value for name, value in fact.where.items()):
            return list(seconds.get(fact.tier, ()))
    return ()


def _from_rows(rate: Rate, rows: Rows, pair: str) -> Mapping[int, float]:
    """Return a value a replicate; of replicates that are all flagged their values, because scatter is no factor of two."""
    mode = str(mode_in(rows.connection, rate.study, pair))
    chosen = " and ".join(f"{column} = ?" for column in rate.select)
    found = rows.connection.execute(
        f"select replicate, {rate.value}, coalesce(flagged, false) from {rate.study} where pair = ? and io_mode = ? and {chosen}",
        [pair, mode, *rate.select.values()],
    ).fetchall()
    known = [(replicate, value, flagged) for replicate, value, flagged in found if value]
    clean = {replicate: value for replicate, value, flagged in known if not flagged}
    return clean or {replicate: value for replicate, value, _ in known}


def held_to(claim: Claim, found: ClaimVerdict, compared: Sequence[Compared], manifest: Manifest) -> ClaimVerdict:
    """Return `found`; undecided where a model on which `claim` rests misses a stated rate, and with a condition where none is stated."""
    own = [one for one in compared if claim.id in one.rate.claims and one.factor is not None]
    if found.verdict not in DECIDED or claim.counts or (not claim.cases and not own):
        return found
    if not own:
        return found.model_copy(update={"conditions": (*found.conditions, phrase("conditions.not_comparable"))})
    worst = max(own, key=lambda one: one.miss)
    if worst.met:
        return found
    reason = Reason("stated_rate", {"rate": worst.rate.name, "factor": worst.miss, "verdict": found.verdict})
    open_ = ruled((Verdict.UNDECIDED, Cause.STATED_RATE, reason), manifest, worst.rate.study)
    return found.model_copy(update={**open_, "conditions": found.conditions})
