"""Which changes of rules apply to a claim, and whether one of them is newer than a run or was chosen after results had been seen."""

from collections.abc import Mapping
from typing import Final

from tierwise.analysis.claims import Claim, Kind
from tierwise.core.rule_history import Change, load_rules
from tierwise.timings.manifest import Manifest

SEVERAL: Final = 2  # the number of cases from which on a claim has several


def changes_of(claim: Claim, since: int = 0) -> list[Change]:
    """Return the changes that apply to `claim`, but for the first `since` of all."""
    groups = {claim.id, "all"}
    if claim.kind is Kind.ORDER and claim.bounds is None:
        groups.add("orders")
    if len(claim.orders or claim.cases) >= SEVERAL:
        groups.add("cases")
    return [change for change in load_rules().changes[since:] if groups & set(change.claims)]


def marks_of(claim: Claim, manifest: Manifest) -> Mapping[str, bool]:
    """Return the two marks of a verdict on `claim` by the run of `manifest`, as fields of the verdict."""
    changes = changes_of(claim)
    if manifest.rules is None:
        newer = any(change.day > manifest.started_at.date() for change in changes)
    else:
        newer = bool(changes_of(claim, since=manifest.rules.version))
    return {"rule_newer": newer, "rule_after_results": any(change.seen for change in changes)}
