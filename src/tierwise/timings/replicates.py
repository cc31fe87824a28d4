"""How the replicates of a run differ: replicates, each with draws of its own, and the runs that a merged one is made of."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

RUN_REPLICATES: Final = 1000  # numbers of replicates that each run of a merged one has; also in ``timings.sql``
PREDICTIONS: Final = "predictions"  # the fact of a study that holds what was predicted of its queries
REPLICATES: Final = "replicates"
"""The key of an entry of a fact with the replicates, in simulation seeds, whose values the entry's other lists of that length hold."""

Facts = dict[str, Any]


def run_number(replicate: int) -> int:
    return replicate // RUN_REPLICATES


def replicates_of(entry: Facts, repeats: int) -> Sequence[int]:
    """Return the replicates of the `repeats` values in an entry's lists; an entry of one run may lack them."""
    return entry.get(REPLICATES) or range(repeats)


def by_replicate(fact: Any) -> bool:
    return isinstance(fact, list) and bool(fact) and all(isinstance(one, dict) and isinstance(one.get(REPLICATES), list) for one in fact)


def joined(before: Sequence[Facts], others: Sequence[Facts]) -> list[Facts]:
    """Return the entries of a fact `before` with the replicates of `others`, entry by entry, matched by their words and order."""
    known = _by_words(before)
    for words, one in _by_words(others).items():
        known[words] = _longer(known[words], one) if words in known else one
    return list(known.values())


def _by_words(entries: Sequence[Facts]) -> dict[tuple[tuple[str, ...], int], Facts]:
    seen: Counter[tuple[str, ...]] = Counter()
    found = {}
    for one in entries:
        words = tuple(value for value in one.values() if isinstance(value, str))
        found[words, seen[words]] = one
        seen[words] += 1
    return found


def _longer(entry: Facts, other: Facts) -> Facts:
    replicates = len(entry[REPLICATES])

    def both(value: Any, theirs: Any) -> Any:
        if isinstance(value, dict):
            return {name: both(one, theirs[name]) for name, one in value.items()}
        return [*value, *theirs] if isinstance(value, list) and len(value) == replicates else value

    return {name: both(value, other[name]) for name, value in entry.items()}
