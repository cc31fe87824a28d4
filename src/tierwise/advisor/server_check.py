"""What a move saved, against what was predicted for it."""

import math
from collections.abc import Sequence
from typing import Final

from tierwise.advisor.server_advice import UnitTime, relative_noise, saving, steady_s, unit_times
from tierwise.advisor.server_question import LOG, TEMPORARY, Question, Unit, together
from tierwise.advisor.server_tiers import FAST, SLOW
from tierwise.core.activity import Band, Steadiness
from tierwise.core.errors import InputError
from tierwise.core.toml import Strict

MIX: Final = 1.5  # times that a relation may be read more or less often a transaction, before the transactions are others (chosen)
LEAST_SHARE: Final = 0.05  # of a transaction's time, from which on a relation tells of what kind transactions are (chosen)
SHRUNK: Final = 0.98  # a relation that keeps less of its size was rewritten without its bloat (chosen)


class CheckedUnit(UnitTime):
    """What was seen after the move. `rewrite_s`: saved because a rewrite made it smaller."""

    seen_s: float
    rewrite_s: float
    size_share: float | None
    reads: tuple[float, float]  # of a transaction, before and after


class ServerCheck(Strict):
    """The answer of `check`: savings of a transaction's time; `seen_s` leaves out what the rewrite saved.

    `other_work`: units that transactions read far more or less often than before, so that the savings say nothing.
    """

    database: str
    before_s: float
    after_s: float
    moved: tuple[str, ...]
    predicted_s: Band
    seen_s: Band
    rewrite_s: float
    held: bool
    transactions_per_s: tuple[float, float]
    units: tuple[CheckedUnit, ...]
    other_work: tuple[str, ...]
    steady: bool  # after the move

    @property
    def outside(self) -> list[str]:
        """Return the units whose waiting after the move lies outside its own range."""
        return [unit.unit for unit in self.units if not unit.predicted_s.low <= unit.seen_s <= unit.predicted_s.high]


def check_move(before: Question, after: Question, *, by_hand: Sequence[str] = ()) -> ServerCheck:
    """Compare two watches of one server, between which relations moved to the faster tier, and what `by_hand` names."""
    first, second = before.activity, after.activity
    whole_s, left_s = steady_s(first, "--before"), steady_s(second, "--after", Steadiness.DRIFTING)
    if first.database != second.database:
        raise InputError("--after", field="database", value=second.database, rule=f"must be that of --before ({first.database})")
    moved = [unit.name for unit in before.every_unit if (before.placement[unit.name], after.placement.get(unit.name)) == (SLOW, FAST)]
    unseen = [unit.name for unit in before.every_unit if unit.kind in {LOG, TEMPORARY} and before.placement[unit.name] == SLOW]
    if wrong := next((name for name in by_hand if name not in unseen), None):
        remedy = f"name one of: {', '.join(unseen) or 'nothing'}"
        raise InputError("--moved", value=wrong, rule="must be on the hdd by --tiers, and no relation", remedy=remedy)
    moved += by_hand
    if not moved:
        remedy = "name in --tiers the tablespaces on the SSD, and watch again after the move"
        raise InputError("--after", rule="has no relation that moved to the SSD since --before", remedy=remedy)
    units = tuple(_units(before, after, moved))
    rewrite_s = sum(unit.rewrite_s for unit in units)
    noise_s = math.hypot(relative_noise(first) * whole_s, relative_noise(second) * left_s)
    saved_s = whole_s - left_s - rewrite_s
    predicted = saving(before, moved, relative_noise(first))
    seen = Band(low=saved_s - noise_s, high=saved_s + noise_s)
    return ServerCheck(
        database=first.database,
        before_s=whole_s,
        after_s=left_s,
        moved=tuple(moved),
        predicted_s=predicted,
        seen_s=seen,
        rewrite_s=rewrite_s,
        held=predicted.low <= saved_s <= predicted.high,
        transactions_per_s=(first.transactions_per_s.high, second.transactions_per_s.high),
        units=units,
        other_work=tuple(unit.unit for unit in units if unit.before_s > LEAST_SHARE * whole_s and _is_other_work(unit)),
        steady=second.steadiness is Steadiness.STEADY,
    )


def _is_other_work(unit: CheckedUnit) -> bool:
    """Return whether its reads a transaction changed, without a rewrite that made it smaller."""
    before, after = unit.reads
    return before > 0 and not (1 / MIX <= after / before <= MIX) and not unit.rewrite_s


def _units(before: Question, after: Question, moved: list[str]) -> list[CheckedUnit]:
    found = {unit.name: unit for unit in after.every_unit}
    rows = []
    for unit, times in zip(before.units, unit_times(before, moved, relative_noise(before.activity)), strict=True):
        there = [found[name] for name in unit.members or (unit.name,) if name in found]
        now = together(there) if unit.members and there else next(iter(there), None)
        share = now.size_bytes / unit.size_bytes if now and now.size_bytes and unit.size_bytes else None
        shrunk = now is not None and times.moved and share is not None and share < SHRUNK
        was_read, is_read = _reads(before, unit), _reads(after, now) if now else 0.0
        rows.append(
            CheckedUnit(
                **times.model_dump(),
                seen_s=now.waiting_s if now else 0.0,
                rewrite_s=unit.waiting_s * max(0.0, 1 - is_read / was_read) if shrunk and was_read else 0.0,
                size_share=share,
                reads=(was_read, is_read),
            )
        )
    return rows


def _reads(question: Question, unit: Unit) -> float:
    return unit.reads_per_s / question.activity.transactions_per_s.high
