"""What each variant and I/O mode says of a claim, as the report shows it: the published protocol among the others, in one order."""

from enum import StrEnum
from statistics import geometric_mean

from tierwise.analysis.claim_rows import PUBLISHED
from tierwise.analysis.judging import ClaimVerdict, named

__all__ = ["PUBLISHED", "Truth", "saves", "variants"]


class Truth(StrEnum):
    TRUE = "it is true"
    FALSE = "it is not true"
    UNKNOWN = "this run cannot tell"


def variants(claim: ClaimVerdict) -> list[ClaimVerdict]:
    """Return the verdict that decides and every other one with at least one case, from the one with the smallest values on."""
    every = [claim, *claim.others] if claim.cases else claim.others
    return sorted(every, key=lambda one: (_middle(one), named(one)))


def saves(one: ClaimVerdict, limit: float) -> Truth:
    """Return whether at most `limit` of the time is left: true by the whole interval of every case, false by one case."""
    if any(case.low is not None and case.low > limit for case in one.cases):
        return Truth.FALSE
    return Truth.TRUE if all(case.high is not None and case.high <= limit for case in one.cases) else Truth.UNKNOWN


def _middle(one: ClaimVerdict) -> float:
    values = [case.estimate for case in one.cases if case.estimate]
    return geometric_mean(values) if values else float("inf")
