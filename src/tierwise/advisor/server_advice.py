"""Advice for a watched server: what to move to the faster tier, what that saves, and why nothing else."""

import math
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

import numpy as np

from tierwise.advisor.server_durations import step_s
from tierwise.advisor.server_question import LEAST_SHARE, LOG, TEMPORARY, Question, Unit, unit_name
from tierwise.advisor.server_tiers import SLOW
from tierwise.advisor.stations import Predicted
from tierwise.core.activity import Activity, Band, IoWorkers, RelationLoad, Steadiness, unsteady
from tierwise.core.errors import InputError
from tierwise.core.toml import Strict
from tierwise.core.units import GIB

CALIBRATION: Final = 0.1  # how far off a calibrated time may be (assumed)
MODEL: Final = 0.15  # chosen: with CALIBRATION a quarter, as far as the first measured moves were off (validate_advice.py)
SCANNED: Final = 0.5
BUSY: Final = 0.8  # of the I/O workers, above which more of them are named before a move (chosen)
ABOVE: Final = 0.01  # of the transactions take longer than the 99th percentile
BOOTSTRAPS, BLOCK, SEED = 500, 2, 1
LOCKS: Final = {"table": "table", "materialized view": "table", "index": "index", LOG: LOG, TEMPORARY: "none"}
RESET_DAYS: Final = 35.0
UNRECOGNISED: Final = "unrecognised"
"""The service of a server whose watch does not show that its tablespaces are the reader's own."""


class Step(Strict):
    """One row: everything up to this unit moved. Times are of a transaction; `worth`: its own gain is beyond the noise.

    `saved_s` covers both `closed_saved_s` (clients that wait less send more) and `open_saved_s` (the rate stays).
    """

    unit: str
    kind: str
    size_bytes: float | None
    saved_s: Band
    closed_saved_s: Band
    open_saved_s: Band
    left_s: Band
    stay_gain_s: Band
    usd_a_month: float | None
    lock: str
    duration_s: float | None
    binds: tuple[str, ...]
    worth: bool
    fits: bool


class UnitTime(Strict):
    """What a transaction waits for on one unit, before the move and as predicted after it."""

    unit: str
    moved: bool
    before_s: float
    predicted_s: Band


class ServerAdvice(Strict):
    """The answer of `advise --activity`. `beyond`: tiers with more requests at a time than their latency is known for.

    `busy_workers`: the server's I/O workers, if reads wait because most of them are busy.
    `reads_left`: share of the page reads with twice the `shared_buffers`, if page requests were recorded and tell.
    """

    server: str
    database: str
    transaction_s: float
    steady: Steadiness
    steps: tuple[Step, ...]
    advised: int
    noise_s: float
    busy_workers: IoWorkers | None
    indexes_first: tuple[str, ...]
    drop: tuple[str, ...]
    look_at: tuple[str, ...]
    service: str
    whole_s: Band
    reads_per_s: Band
    bound_s: float | None
    percentile_99_s: Band
    evidence: dict[str, str]
    beyond: tuple[str, ...]
    log_as_reads: bool
    unsized: tuple[str, ...]
    units: tuple[UnitTime, ...]
    reads_left: float | None = None

    @property
    def moved(self) -> list[str]:
        return [step.unit for step in self.steps[: self.advised]]


def advise_server(question: Question) -> ServerAdvice:
    """Return what to move, one unit after the other, the most gain per GiB first.

    Raises:
        InputError: the watch shows no steady load, with what would help.
    """
    activity, workers = question.activity, question.activity.io_workers
    whole_s = steady_s(activity, "--activity")
    noise = relative_noise(activity)
    unused = [load for load in activity.relations if load.kind == "index" and not load.scans and load.reads_per_s]
    drop = tuple(unit_name(load) for load in unused if load.droppable and _nowhere_used(load, question))
    service = activity.service or ("" if activity.superuser else UNRECOGNISED)
    steps = () if service else tuple(_steps(question, noise, drop))
    bound = question.limits.latency_s
    times = [one.transaction_s for one in question.predicted([unit.name for unit in question.units])]
    good = list(takewhile(lambda step: step.worth and step.fits, steps))
    enough = (number for number, step in enumerate(good, 1) if bound is not None and step.left_s.high <= bound)
    advised = next(enough, len(good))
    moved = [step.unit for step in steps[:advised]]
    units = {unit.name: unit for unit in question.units}
    before = [{*moved, *(step.unit for step in steps[:number])} for number in range(1, len(steps) + 1)]
    durations = [step_s(units[step.unit], names, question) for step, names in zip(steps, before, strict=True)]
    steps = tuple(step.model_copy(update={"duration_s": took_s}) for step, took_s in zip(steps, durations, strict=True))
    return ServerAdvice(
        server=activity.server,
        database=activity.database,
        transaction_s=whole_s,
        steady=activity.steadiness,
        steps=steps,
        advised=advised,
        noise_s=noise * whole_s,
        busy_workers=workers if workers and workers.busy > BUSY * workers.count else None,
        indexes_first=tuple(
            unit_name(load)
            for load in activity.relations
            if load.kind == "table" and load.scan_share > SCANNED and (load.share or 0) > LEAST_SHARE
        ),
        drop=drop,
        look_at=tuple(name for load in sorted(unused, key=lambda load: not load.droppable) if (name := unit_name(load)) not in drop),
        service=service,
        whole_s=_widened(times, noise),
        reads_per_s=Band(low=activity.reads_per_s, high=activity.reads_per_s * whole_s / min(times)),
        bound_s=bound,
        percentile_99_s=_percentile_99(question, moved),
        evidence={name: tier.evidence for name, tier in question.tiers.items()},
        beyond=_beyond(question, moved),
        log_as_reads=any(step.kind == LOG for step in steps) and not question.tiers[SLOW].sync_ms,
        unsized=tuple(unit.name for unit in question.units if unit.size_bytes is None),
        units=unit_times(question, moved, noise),
    )


def steady_s(activity: Activity, option: str, *others: Steadiness) -> float:
    """Return the time of a transaction of a steady load, or of one that is as `others` say."""
    if activity.steadiness not in {Steadiness.STEADY, *others} or activity.transaction_s is None:
        found = unsteady(activity)
        raise InputError(option, field="steadiness", value=str(activity.steadiness), rule=found["why"], remedy=found["remedy"])
    return activity.transaction_s


def _beyond(question: Question, moved: Sequence[str]) -> tuple[str, ...]:
    found = [*question.predicted(()), *question.predicted(moved)]
    return tuple(name for name, tier in question.tiers.items() if max(one.depth[name] for one in found) > tier.deepest)


def _percentile_99(question: Question, moved: Sequence[str]) -> Band:
    """Return its bounds after the move: a transaction's time changes by a factor between those of its parts; the rest stays as it is."""
    whole_s, found = question.activity.transaction_s or 0.0, question.predicted(moved)
    now = question.activity.percentile_99_s or Band(low=0.0, high=whole_s / ABOVE)
    factors = [one.waiting_s[part.name] / part.waiting_s for one in found for part in question.load.parts]
    most_s = max(one.transaction_s for one in found) / ABOVE  # Markov's inequality
    return Band(low=now.low * min(1.0, *factors), high=min(most_s, now.high * max(1.0, *factors)))


def unit_times(question: Question, moved: Sequence[str], noise: float) -> tuple[UnitTime, ...]:
    predicted = question.predicted(moved)
    waits, whole = {unit: [one.waiting_s[unit.name] for one in predicted] for unit in question.units}, question.moved_whole(moved)
    return tuple(
        UnitTime(unit=unit.name, moved=unit.name in whole, before_s=unit.waiting_s, predicted_s=_widened(each, noise))
        for unit, each in waits.items()
    )


def saving(question: Question, moved: Sequence[str], noise: float) -> Band:
    """Return what the move of `moved` saves of a transaction."""
    return _saved(question, question.predicted(moved), noise)


def _saved(question: Question, predicted: Sequence[Predicted], noise: float) -> Band:
    whole = question.activity.transaction_s or 0.0
    band = _gained(whole, [one.transaction_s for one in predicted], noise)
    return Band(low=max(0.0, band.low), high=min(whole, band.high))


def _gained(before_s: float, after_s: Sequence[float], noise: float) -> Band:
    """Return the range of what is gained. Each of the two means has the noise of its windows, however small the gain is."""
    return _range([before_s - each for each in after_s], [noise * math.hypot(before_s, each) for each in after_s])


def _widened(values: Sequence[float], noise: float) -> Band:
    return _range(values, [noise * each for each in values])


def _range(values: Sequence[float], noises: Sequence[float]) -> Band:
    """Return the range of `values`, with the noise of the windows, and that of a calibration and of the model."""
    spread = [math.hypot((CALIBRATION + MODEL) * value, noise) for value, noise in zip(values, noises, strict=True)]
    return Band(low=float(min(np.subtract(values, spread))), high=float(max(np.add(values, spread))))


def _steps(question: Question, noise: float, drop: Sequence[str]) -> list[Step]:
    """Add the unit with most gain per GiB to those before, as long as one gains: those that are worth it and fit before all others."""
    whole, moved, steps = question.activity.transaction_s or 0.0, list[Unit](), list[Step]()
    left = [unit for unit in question.units if unit.size_bytes is not None and question.placement[unit.name] == SLOW]
    left = [unit for unit in left if unit.name not in drop]
    before_s = whole
    while left:
        times = {unit: max(one.transaction_s for one in question.predicted([*(each.name for each in moved), unit.name])) for unit in left}
        gains = {unit: before_s - time_s for unit, time_s in times.items()}
        good = {unit for unit in left if gains[unit] > noise * whole and _fits(question, [*moved, unit])}
        chosen = max(left, key=lambda unit: (unit in good, gains[unit] / max(unit.size_bytes or 0.0, 1.0)))
        if gains[chosen] <= 0:
            break
        moved.append(chosen)
        left.remove(chosen)
        steps.append(_step(question, moved, noise, worth=gains[chosen] > noise * whole))
        before_s = times[chosen]
    return steps


def _fits(question: Question, moved: Sequence[Unit]) -> bool:
    size, limits = sum(unit.size_bytes or 0.0 for unit in moved), question.limits
    cost = question.usd_a_month(size)
    return (limits.ssd_gib is None or size <= limits.ssd_gib * GIB) and (
        limits.budget is None or (cost is not None and cost <= limits.budget)
    )


def _step(question: Question, moved: list[Unit], noise: float, *, worth: bool) -> Step:
    whole, names = question.activity.transaction_s or 0.0, {unit.name for unit in moved}
    every = closed, opened = question.predicted([unit.name for unit in moved])
    band = _saved(question, every, noise)
    staying = [part for part in question.load.parts if part.name not in names]
    stay_s = [sum(one.waiting_s[part.name] for part in staying) for one in every]
    return Step(
        unit=moved[-1].name,
        kind=moved[-1].kind,
        size_bytes=moved[-1].size_bytes,
        saved_s=band,
        closed_saved_s=_saved(question, (closed,), noise),
        open_saved_s=_saved(question, (opened,), noise),
        left_s=Band(low=min(max(whole - band.high, question.load.elsewhere_s), whole - band.low), high=whole - band.low),
        stay_gain_s=_gained(sum(part.waiting_s for part in staying), stay_s, noise),
        usd_a_month=question.usd_a_month(sum(unit.size_bytes or 0.0 for unit in moved)),
        lock=LOCKS[moved[-1].kind],
        duration_s=None,
        binds=tuple(dict.fromkeys((closed.binds, opened.binds))),
        worth=worth,
        fits=_fits(question, moved),
    )


def _nowhere_used(index: RelationLoad, question: Question) -> bool:
    """Return whether the index had no scan for long, on the server and on each of its standbys."""
    servers = (question.activity, *question.standbys)
    if len(question.standbys) < question.activity.replicas:
        return False
    named = [next((load for load in one.relations if unit_name(load) == unit_name(index)), None) for one in servers]
    return all(
        load is not None and load.all_scans == 0 and (one.counted_days or 0.0) >= RESET_DAYS
        for load, one in zip(named, servers, strict=True)
    )


def relative_noise(activity: Activity) -> float:
    """Return half the 95 % interval of a transaction's mean time, as a share of it: blocks of windows drawn again (bootstrap)."""
    windows = [window for window in activity.windows if window.transaction_s]
    counts = np.array([window.transactions for window in windows])
    times = np.array([window.transaction_s for window in windows])
    draw = np.random.default_rng(SEED)
    starts = draw.integers(0, max(1, len(windows) - BLOCK + 1), (BOOTSTRAPS, max(1, len(windows) // BLOCK)))
    chosen = (starts[..., None] + np.arange(min(BLOCK, len(windows)))).reshape(BOOTSTRAPS, -1)
    means = (counts[chosen] * times[chosen]).sum(axis=1) / counts[chosen].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float((high - low) / 2 / (activity.transaction_s or 1.0))
