"""How far the replicates behind each interval of a run lie apart, and from how many replicates on a case is expected to be decided."""

import math
from collections.abc import Sequence
from typing import Final

from tierwise.analysis.claims import Claim, Kind, load_claims
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.rules import CaseVerdict, Verdict, needed_bounds, odds, within
from tierwise.analysis.statistics import MINIMUM_REPEATS, Estimate, t_of

MOST: Final = 100  # the largest number of replicates that is looked at
Spread = tuple[str, str, float, int]
"""Claim, case, standard deviation of the logs of one replicate's value, and the replicates that decide the case (0: none do)."""


def spreads(verdicts: Sequence[ClaimVerdict]) -> dict[str, list[Spread]]:
    """Return the spread of every case with an interval, by study: those of the variant and I/O mode that decide."""
    of_claim = {claim.id: claim for claim in load_claims().every if claim.cases}
    found: dict[str, list[Spread]] = {}
    for verdict in verdicts:
        claim = of_claim.get(verdict.id)
        for case in verdict.cases if claim else ():
            if claim and (one := _spread(claim, case)):
                found.setdefault(claim.cases[0].study, []).append(one)
    return found


def _spread(claim: Claim, case: CaseVerdict) -> Spread | None:
    values = case.as_estimate
    if values.value is None or values.low is None or values.high is None or values.flat or values.freedom <= 0:
        return None
    share = claim.kind is Kind.SHARE
    value, low, high = (odds(one) if share else one for one in (values.value, values.low, values.high))
    sd = math.log(high / low) / 2 / t_of(values.freedom) * math.sqrt(case.pairs)
    return claim.id, case.case, float(f"{sd:.4g}"), _decided_from(claim, value, sd)


def _decided_from(claim: Claim, value: float, sd: float) -> int:
    bounds = needed_bounds(claim)
    if bounds is None:
        return MINIMUM_REPEATS
    for replicates in range(MINIMUM_REPEATS, MOST + 1):
        half = t_of(replicates - 1) * sd / math.sqrt(replicates)
        ends = [value * math.exp(-half), value, value * math.exp(half)]
        low, middle, high = (one / (1 + one) for one in ends) if claim.kind is Kind.SHARE else ends
        if within(bounds, Estimate(middle, low, high, replicates)) is not Verdict.UNDECIDED:
            return replicates
    return 0
