"""Which changes of rules apply to a claim, and whether one of them is newer than a run or was chosen after results had been seen."""

from collections.abc import Mapping, Set
from typing import Final

from tierwise.analysis.claims import Claim, Kind
from tierwise.core.rule_history import Change, load_rules
from tierwise.timings.manifest import Manifest

ADVICE: Final = "advice"  # the group of the rules by which the first page advises
SEVERAL: Final = 2  # the number of cases from which on a claim has several


def changes_of(claim: Claim, since: int = 0) -> list[Change]:
    """Return the changes that apply to `claim`, but for the first `since` of all."""
    return _changes(_groups(claim), since)


def marks_of(claim: Claim, manifest: Manifest) -> Mapping[str, bool]:
    """Return the two marks of a verdict on `claim` by the run of `manifest`, as fields of the verdict."""
    groups = _groups(claim)
    return {"rule_newer": changed_since(manifest, groups), "rule_after_results": any(change.seen for change in _changes(groups))}


def changed_since(manifest: Manifest, groups: Set[str]) -> bool:
    """Return whether a rule for one of `groups` is newer than the run of `manifest`."""
    if manifest.rules is None:
        return any(change.day > manifest.started_at.date() for change in _changes(groups))
    return bool(_changes(groups, since=manifest.rules.version))


def _groups(claim: Claim) -> Set[str]:
    orders = claim.kind is Kind.ORDER and claim.bounds is None
    several = len(claim.orders or claim.cases) >= SEVERAL
    return {claim.id, "all"} | ({"orders"} if orders else set()) | ({"cases"} if several else set())


def _changes(groups: Set[str], since: int = 0) -> list[Change]:
    return [change for change in load_rules().changes[since:] if groups & set(change.claims)]
