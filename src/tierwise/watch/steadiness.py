"""Whether a load was the same all the time that it was watched: by the time of a transaction in windows of equal length."""

from statistics import median
from typing import Final, NamedTuple

from tierwise.core.activity import MOST_DRIFT, MOST_SPREAD, Steadiness, Window
from tierwise.watch import activity_file as kept
from tierwise.watch.causes import Time
from tierwise.watch.statements import CHECKPOINTER, DATABASE
from tierwise.watch.totals import Totals

LEAST_WINDOWS: Final = 5
LEAST_TRANSACTIONS: Final = 100
LEAST_CHECKPOINTS: Final = 2
UNSEEN: Final = 0.5
"""Of the time that samples show, the least share that must have ended in statements that ended: all else is not counted yet."""
UNEQUAL: Final = 0.2


class Verdict(NamedTuple):
    steadiness: Steadiness
    spread: float | None
    drift: float | None
    checkpoints: int | None


def windows(totals: Totals) -> tuple[Window, ...]:
    """Return the windows in which the database's counters were not reset."""
    rows = totals.rest.filter(view=kept.SPAN, entity=DATABASE).sort("window")
    own = dict(totals.rest.filter(view=kept.SAMPLES, entity="own transactions").select("window", "value").iter_rows())
    transactions_by, sessions = totals.by_window("transactions"), totals.by_window("sessions")
    active, idle = totals.by_window("active_s"), totals.by_window("idle_in_transaction_s")
    found = []
    for number, seconds in rows.select("window", "value").iter_rows():
        transactions = max(0.0, transactions_by.get(number, 0.0) - own.get(number, 0.0) - sessions.get(number, 0.0))
        time_s = active.get(number, 0.0) + idle.get(number, 0.0)
        found.append(Window(seconds=seconds, transactions=transactions, transaction_s=time_s / transactions if transactions >= 1 else None))
    return tuple(found)


def judge(totals: Totals, time: Time, found: tuple[Window, ...], *, writes: bool) -> Verdict:
    """Return whether the load was steady, or the first reason why nobody can tell."""
    checkpoints = totals.total(CHECKPOINTER, "checkpoints")
    done = None if checkpoints is None else int(checkpoints)
    length = median(window.seconds for window in found) if found else 0.0
    times = [window.transaction_s for window in found if window.transaction_s and abs(window.seconds / length - 1) < UNEQUAL]
    if time.sampled_s and time.seconds < UNSEEN * time.sampled_s:
        return Verdict(Steadiness.LONG_STATEMENTS, None, None, done)
    if time.transactions.high < LEAST_TRANSACTIONS:
        return Verdict(Steadiness.IDLE, None, None, done)
    if len(times) < LEAST_WINDOWS:
        return Verdict(Steadiness.SHORT, None, None, done)
    middle, half = median(times), len(times) // 2
    spread = (sorted(times)[-1 - len(times) // 10] - sorted(times)[len(times) // 10]) / middle
    drift = median(times[-half:]) / median(times[:half]) - 1
    if abs(drift) > MOST_DRIFT or spread > MOST_SPREAD:
        return Verdict(Steadiness.DRIFTING, spread, drift, done)
    if writes and (done is None or done < LEAST_CHECKPOINTS):
        return Verdict(Steadiness.FEW_CHECKPOINTS, spread, drift, done)
    return Verdict(Steadiness.STEADY, spread, drift, done)
