"""What the recorder of sessions' time does to the rates that it explains: interleaved pairs of windows with and without it.

Run by name, as root: ``python benchmarks/by_name/recorder_pairs.py [STUDY [PAIRS [PLACE...]]]`` (pgbench_placement or wal_placement;
half an hour for 20 pairs of a place on disks). The two windows of a pair begin with the same files, seed and platters; which of them is
first alternates. A line for each place: the ratio of rates with the recorder over those without, its 95 % interval, where the time went.
The bound of 2 % is that of pgbench with everything on disks; elsewhere the interval is shown.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from machine_state import Watch
from virtual_cells import Opened, opened

from tierwise.analysis.statistics import geometric_estimate
from tierwise.bench import window as window_module
from tierwise.bench.recording import Recorder
from tierwise.bench.study import Trial
from tierwise.core.profiles import Profile, load_profile
from tierwise.timings.schema import Timing

BOUND: Final = 0.02
BOUNDED: Final = ("pgbench_placement", "all_hdd")
PAIRS: Final = 20
PROFILE: Final = "quick"
SEED: Final = 43
PAIR_OF: Final = {"wal_placement": "wal-placement"}


def main(arguments: list[str]) -> int:
    name, pairs, *places = [*arguments, *("pgbench_placement", str(PAIRS))[len(arguments) :]]
    profile, holds = load_profile(PROFILE), True
    with opened(name, profile, SEED, pair=PAIR_OF.get(name, "")) as there:
        for trial in chosen(there, profile, places):
            holds &= compare(there, trial, int(pairs), bounded=(name, trial.placed) == BOUNDED)
    return 0 if holds else 1


def chosen(there: Opened, profile: Profile, places: list[str]) -> list[Trial[Any]]:
    """Return the trial of each place that decides: eight clients, the load of the claims, nothing else varied."""
    found: dict[str, Trial[Any]] = {}
    for trial in there.study.trials(profile, there.testbed.pair):
        plain = trial.cell.clients == 8 and not trial.io_mode.cached and not trial.real_time
        if plain and getattr(trial.cell, "size", "large") == "large" and not getattr(trial.cell, "commit_delay_us", 0):
            found.setdefault(trial.placed, trial)
    return [trial for place, trial in found.items() if place in places or not places]


def compare(there: Opened, trial: Trial[Any], pairs: int, *, bounded: bool) -> bool:
    """Print the ratio of rates with the recorder over those without; False where it is bounded and its interval is not within."""
    ratios, watch, rows = {}, Watch(), list[Timing]()
    for pair in range(pairs):
        there.testbed.origin_s = pair / pairs
        sides = {side: window(there, trial, recorded=side) for side in ((True, False) if pair % 2 else (False, True))}
        ratios[pair] = rate(sides[True]) / rate(sides[False])
        rows = sides[True]
        print(f"{trial.placed} {pair}: {rate(sides[True]):.2f} with, {rate(sides[False]):.2f} without", flush=True)
    found = geometric_estimate(ratios)
    low, high = found.interval or (0.0, float("inf"))
    within = low > 1 - BOUND and high < 1 + BOUND
    shares = {share: round(part, 3) for share, part in rows[0].proof["window_shares"].items()}
    print(
        f"{trial.placed}, {pairs} pairs: {found.value:.4f} ({low:.4f} to {high:.4f})"
        f"{(' within' if within else ' NOT within') + f' {BOUND:.0%}' if bounded else ''}; {watch.found()}\n"
        f"  {shares}, sum {sum(shares.values()):.3f}; busy {rows[-1].proof['utilisation']}; flags {rows[0].flags}",
        flush=True,
    )
    return within or not bounded


def window(there: Opened, trial: Trial[Any], *, recorded: bool) -> list[Timing]:
    study, testbed, study_state = there
    study.prepare(trial, testbed, study_state)
    with recording(recorded):
        return list(study.measure(trial, testbed, study_state, Recorder()).timings)


@contextmanager
def recording(recorded: bool) -> Iterator[None]:
    names = vars(window_module)
    usual = names["record_sessions"]
    if not recorded:
        names["record_sessions"] = lambda *_: "switched off"
    try:
        yield
    finally:
        names["record_sessions"] = usual


def rate(rows: list[Timing]) -> float:
    return sum(row.result_rows or 0 for row in rows) / sum(row.elapsed_s for row in rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
