"""Advice for a watched server: what to move to the faster tier, what that saves, and why nothing else."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from tierwise.advisor.server_durations import step_s
from tierwise.advisor.server_question import LEAST_SHARE, LOG, TEMPORARY, Question, Unit, unit_name
from tierwise.advisor.server_tiers import SLOW
from tierwise.core.activity import Activity, Band, RelationLoad, Steadiness
from tierwise.core.errors import InputError
from tierwise.core.toml import Strict
from tierwise.core.units import GIB

CALIBRATION: Final = 0.1  # how far off a calibrated time may be (assumed)
SCANNED: Final = 0.5
BOOTSTRAPS, BLOCK, SEED = 500, 2, 1
LOCKS: Final = {"table": "table", "materialized view": "table", "index": "index", LOG: LOG, TEMPORARY: "none"}
RESET_DAYS: Final = 35.0


class Step(Strict):
    """One row: everything up to this unit moved. Times are of a transaction; `worth`: its own gain is beyond the noise."""

    unit: str
    kind: str
    size_bytes: float | None
    saved_s: Band
    left_s: Band
    stay_gain_s: float
    usd_a_month: float | None
    lock: str
    duration_s: float | None
    binds: str
    worth: bool
    fits: bool


class UnitTime(Strict):
    """What a transaction waits for on one unit, before the move and as predicted after it."""

    unit: str
    moved: bool
    before_s: float
    predicted_s: Band


class ServerAdvice(Strict):
    """The answer of `advise --activity`."""

    server: str
    database: str
    transaction_s: float
    steady: Steadiness
    steps: tuple[Step, ...]
    advised: int
    noise_s: float
    indexes_first: tuple[str, ...]
    drop: tuple[str, ...]
    look_at: tuple[str, ...]
    service: str
    whole_s: Band
    reads_per_s: Band
    bound_s: float | None
    evidence: dict[str, str]
    unsized: tuple[str, ...]
    several_share: bool
    units: tuple[UnitTime, ...]

    @property
    def moved(self) -> list[str]:
        return [step.unit for step in self.steps[: self.advised]]


def advise_server(question: Question) -> ServerAdvice:
    """Return what to move, one unit after the other, the most gain per GiB first.

    Raises:
        InputError: the watch shows no steady load, with what would help.
    """
    activity = question.activity
    whole_s = steady_s(activity, "--activity")
    noise = relative_noise(activity)
    steps = _steps(question, noise)
    worth = [number + 1 for number, step in enumerate(steps) if step.worth and step.fits]
    bound = question.limits.latency_s
    unused = [load for load in activity.relations if load.droppable and not load.scans and load.reads_per_s]
    times = [one.transaction_s for one in question.predicted([unit.name for unit in question.units])]
    enough = [number for number in worth if bound is not None and steps[number - 1].left_s.high <= bound]
    advised = 0 if activity.service else enough[0] if enough else max(worth, default=0)
    return ServerAdvice(
        server=activity.server,
        database=activity.database,
        transaction_s=whole_s,
        steady=activity.steadiness,
        steps=() if activity.service else tuple(steps),
        advised=advised,
        noise_s=noise * whole_s,
        indexes_first=tuple(
            unit_name(load)
            for load in activity.relations
            if load.kind == "table" and load.scan_share > SCANNED and (load.share or 0) > LEAST_SHARE
        ),
        drop=tuple(unit_name(load) for load in unused if _nowhere_used(load, question)),
        look_at=tuple(unit_name(load) for load in unused if not _nowhere_used(load, question)),
        service=activity.service,
        whole_s=Band(low=min(times), high=max(times)),
        reads_per_s=Band(low=activity.reads_per_s, high=activity.reads_per_s * whole_s / min(times)),
        bound_s=bound,
        evidence={name: tier.evidence for name, tier in question.tiers.items()},
        unsized=tuple(unit.name for unit in question.units if unit.size_bytes is None),
        several_share=len(question.units) > 1,
        units=unit_times(question, [step.unit for step in steps[:advised]]),
    )


def steady_s(activity: Activity, option: str) -> float:
    """Return the time of a transaction of a steady load."""
    if activity.steadiness is not Steadiness.STEADY or activity.transaction_s is None:
        rule = "shows no steady load, so nothing can be predicted from it"
        raise InputError(
            option, field="steadiness", value=str(activity.steadiness), rule=rule, remedy="tierwise watch --show FILE says why"
        )
    return activity.transaction_s


def unit_times(question: Question, moved: Sequence[str]) -> tuple[UnitTime, ...]:
    predicted = question.predicted(moved)
    waits, whole = {unit: [one.waiting_s[unit.name] for one in predicted] for unit in question.units}, question.moved_whole(moved)
    return tuple(
        UnitTime(unit=unit.name, moved=unit.name in whole, before_s=unit.waiting_s, predicted_s=Band(low=min(each), high=max(each)))
        for unit, each in waits.items()
    )


def saving(question: Question, moved: Sequence[str], noise: float) -> Band:
    """Return what the move of `moved` saves of a transaction."""
    whole = question.activity.transaction_s or 0.0
    saved = [whole - one.transaction_s for one in question.predicted(moved)]
    spread = noise + CALIBRATION
    return Band(low=max(0.0, min(saved) * (1 - spread)), high=min(whole, max(saved) * (1 + spread)))


def _steps(question: Question, noise: float) -> list[Step]:
    """Add the unit with most gain per GiB to those before, as long as one gains."""
    whole, moved, steps = question.activity.transaction_s or 0.0, list[Unit](), list[Step]()
    left = [unit for unit in question.units if unit.size_bytes is not None and question.placement[unit.name] == SLOW]
    before_s = whole
    while left:
        times = {unit: [one.transaction_s for one in question.predicted([*(each.name for each in moved), unit.name])] for unit in left}
        chosen = max(left, key=lambda unit: (before_s - max(times[unit])) / max(unit.size_bytes or 0.0, 1.0))
        gain_s = before_s - max(times[chosen])
        if gain_s <= 0:
            break
        moved.append(chosen)
        left.remove(chosen)
        steps.append(_step(question, moved, noise, worth=gain_s > noise * whole))
        before_s = max(times[chosen])
    return steps


def _step(question: Question, moved: list[Unit], noise: float, *, worth: bool) -> Step:
    whole, names = question.activity.transaction_s or 0.0, {unit.name for unit in moved}
    both = question.predicted([unit.name for unit in moved])
    band = saving(question, [unit.name for unit in moved], noise)
    size = sum(unit.size_bytes or 0.0 for unit in moved)
    cost, limits = question.usd_a_month(size), question.limits
    stay = min(sum(part.waiting_s - one.waiting_s[part.name] for part in question.load.parts if part.name not in names) for one in both)
    fits = (limits.ssd_gib is None or size <= limits.ssd_gib * GIB) and (
        limits.budget is None or (cost is not None and cost <= limits.budget)
    )
    return Step(
        unit=moved[-1].name,
        kind=moved[-1].kind,
        size_bytes=moved[-1].size_bytes,
        saved_s=band,
        left_s=Band(low=whole - band.high, high=whole - band.low),
        stay_gain_s=stay,
        usd_a_month=cost,
        lock=LOCKS[moved[-1].kind],
        duration_s=step_s(moved[-1], [unit.name for unit in moved], question),
        binds=both[0].binds,
        worth=worth,
        fits=fits,
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
