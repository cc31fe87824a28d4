"""pgbench's windows in the pgbench study, slowed eight-fold: real seconds for each virtual second, and both clocks compared."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

import psutil
from machine_state import Machine, Sleeper, Watch
from virtual_cells import Opened, opened, real_time

from tierwise.bench.recording import Recorder
from tierwise.bench.study import Cell, Trial
from tierwise.core.profiles import load_profile

ALL_HDD, INDEX_SSD, TABLE_SSD = "all_hdd", "index_ssd", "table_ssd"
NAME: Final = "pgbench_placement"


@dataclass(frozen=True)
class PgbenchWindow:
    """One window: its clock, transactions and seconds by that clock, real seconds, and what the daemon needed."""

    placement: str
    clock: str
    transactions: int
    elapsed_s: float
    wall_s: float
    computed_s: float
    requests: int
    daemon_s: float  # of the processor
    late_s: float
    steal_share: float
    load: float
    flags: tuple[str, ...]

    @property
    def tps(self) -> float:
        """Transactions for a second of its clock."""
        return self.transactions / self.elapsed_s


def windows(placements: Sequence[str], *, sides: Sequence[str], repetitions: int, window_s: float, seed: int) -> list[PgbenchWindow]:
    """Return `repetitions` windows of each placement, by each of the clocks `sides` ("virtual", "real") in turn."""
    profile = load_profile("quick")
    grid = {**profile.studies[NAME], "window_s": {"hdd": window_s, "ssd": window_s}}
    del grid["flip_map"]
    profile = profile.model_copy(update={"studies": {**profile.studies, NAME: grid}})
    found = []
    with opened(NAME, profile, seed) as there:
        trials = {trial.placed: trial for trial in there.study.trials(profile, there.testbed.pair) if not trial.real_time}
        for repetition in range(repetitions):
            for placement in placements:
                for side in sides if repetition % 2 == 0 else sides[::-1]:
                    found.append(_window(there, trials[placement], side))
                    print(_line(found[-1]), flush=True)
    return found


def _window(there: Opened, trial: Trial[Cell], side: str) -> PgbenchWindow:
    study, testbed, study_state = there
    study.prepare(trial, testbed, study_state)
    assert testbed.daemon is not None
    daemon = psutil.Process(testbed.daemon.pid)
    watch: Watch | None = None
    begun_s, spent_s, machine = 0.0, 0.0, Machine(0.0, 0.0, 0.0, 0.0)
    usual = testbed.sleep

    def sleep(seconds: float, *, hold: bool = False) -> None:
        """Sleep as the study does; the first sleep lets the load settle, then the window begins, and it ends with the last sleep."""
        nonlocal watch, begun_s, spent_s, machine
        usual(seconds, hold=hold)
        if watch is None:
            watch, begun_s = Watch(), sum(daemon.cpu_times()[:2])
        else:
            machine, spent_s = watch.found(), sum(daemon.cpu_times()[:2]) - begun_s

    testbed.sleep = sleep  # type: ignore[method-assign]
    try:
        with Sleeper() as sleeper, real_time(testbed) if side == "real" else nullcontext():
            rows = study.measure(trial, testbed, study_state, Recorder()).timings
    finally:
        del testbed.sleep
    return PgbenchWindow(
        trial.placed,
        str(rows[0].parts.clock),
        sum(row.result_rows or 0 for row in rows),
        sum(row.elapsed_s for row in rows),
        sum(row.parts.wall_s or 0.0 for row in rows),
        sum(row.parts.cpu_s or 0.0 for row in rows),
        sum((io.reads or 0) + (io.writes or 0) for row in rows for io in row.tier_io),
        spent_s,
        sleeper.late_s,
        machine.steal_share,
        machine.load,
        rows[0].flags,
    )


def _line(window: PgbenchWindow) -> str:
    real_us, daemon_us = (1e6 * spent_s / max(1, window.requests) for spent_s in (window.wall_s, window.daemon_s))
    return (
        f"{window.placement:9} {window.clock:15} {window.tps:8.1f} tps, {window.elapsed_s:.1f} s in {window.wall_s:.1f} real ones "
        f"({window.wall_s / window.elapsed_s:.2f}), {window.requests:,} requests at {real_us:.0f} us, at most {daemon_us:.0f} us of the "
        f"daemon's; steal {window.steal_share:.1%}, load {window.load:.1f}, woken {1e6 * window.late_s:.0f} us late "
        f"{' '.join(window.flags)}"
    )
