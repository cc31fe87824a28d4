"""The verdict under the rules that held before.

They held each interval alone, whatever its width, against the bounds, on the value and at the one setting of then. Direct and buffered I/O
had to agree where both were measured.
"""

from collections.abc import Sequence
from typing import Final

import duckdb

from tierwise.analysis import rules
from tierwise.analysis.claim_rows import PUBLISHED, series_of
from tierwise.analysis.claims import Claim, Kind
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.rules import CaseVerdict, Verdict
from tierwise.core.vocabulary import IoMode

BY_INTERVAL: Final = {Verdict.CONFIRMED, Verdict.CONTRADICTED, Verdict.UNDECIDED}
IO_MODES: Final = (IoMode.DIRECT, IoMode.BUFFERED)
"""The ways of I/O that there were."""


def verdict_before(connection: duckdb.DuckDBPyConnection, claim: Claim, found: ClaimVerdict) -> Verdict | None:
    """Return what the rules of before say of the rows on which `found` rests; `None` where these have no interval to be judged by."""
    if found.open_map is not None:
        return found.open_map.at_one
    before = claim.before
    bounds = (before and before.bounds) or rules.needed_bounds(claim, rules.ABOVE_ONE)
    if bounds is None or claim.kind is Kind.PRESENCE or (claim.kind is Kind.COST and before is None):
        return None
    cases: Sequence[CaseVerdict] = _published(found)
    if before and before.value:
        then = claim.model_copy(update={"cases": tuple(case.model_copy(update={"value": before.value}) for case in claim.cases)})
        absolute = then.model_copy(update={"kind": Kind.ABSOLUTE if claim.kind is Kind.SHARE else claim.kind, "bounds": bounds})
        measured = [series for series in series_of(connection, then, found.pair) if series.io_mode in IO_MODES]
        cases = [case for series in measured for case in rules.judge_series(absolute, [series])]
    if not cases or any(case.low is None for case in cases):
        return None
    held = [case.model_copy(update={"verdict": rules.by_interval(bounds, case.as_estimate)}) for case in cases]
    outcomes = {_combined([case for case in held if case.io_mode is io_mode], claim) for io_mode in {case.io_mode for case in held}}
    return outcomes.pop() if len(outcomes) == 1 else Verdict.UNDECIDED


def verdict_shown(connection: duckdb.DuckDBPyConnection, claim: Claim, found: ClaimVerdict) -> Verdict | None:
    """Return `verdict_before` where a rule of this claim alone was changed, or where another change made another verdict; else `None`."""
    then = None if found.unjudged else verdict_before(connection, claim, found)
    return then if claim.before or (then is not found.verdict and found.verdict in BY_INTERVAL) else None


def _published(found: ClaimVerdict) -> Sequence[CaseVerdict]:
    every = {one.io_mode: one for one in (*found.others, found) if one.variant == PUBLISHED}
    return [case for mode in IO_MODES if mode in every for case in every[mode].cases]


def _combined(cases: Sequence[CaseVerdict], claim: Claim) -> Verdict:
    return rules.combine(cases, len(claim.orders or claim.cases) or len(cases))[0]
