"""Whether windows of several sessions say the same beside other work: the table of noise.

Run by name, as root: ``python benchmarks/by_name/window_noise.py [--windows N] [--kinds KIND ...]``; ten windows a side of all kinds need
about an hour, two a quarter of it. Each kind of window runs alone, beside two busy processes a core, and under a quota of half a
processor, the sides in turn. Per window: its rate, and virtual device time and charged processor time for each transaction (for the
latency study, the mean time of a read of each tablespace). A shift compares a window with the one alone of the same repetition, whose
platters stand alike. Bounds: rates shift by at most 5 % in the median and 10 % at the largest. On the side ``real`` the mounts wait in
real time.
"""

import argparse
import json
import os
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from machine_state import PERIOD_US, Quota, Sleeper, Watch
from virtual_cells import Opened, Side, beside, held_to, opened, real_time, turned, undisturbed

from tierwise.bench.inputs import code_version
from tierwise.bench.recording import Recorder
from tierwise.bench.study import Cell, Trial
from tierwise.bench.study_registry import load_study
from tierwise.bench.testbed import Testbed
from tierwise.core import control_groups
from tierwise.core.files import write_whole
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import Profile, load_profile

ALONE, BUSY, HELD, REAL = "alone", "busy", "held", "real"
MEDIAN, MOST = 0.05, 0.10
QUOTA: Final = 0.5
KINDS: Final = {
    "wal": ("wal_placement", "wal-placement"),
    "pgbench": ("pgbench_placement", "source-v"),
    "latency": ("read_latency", "source-l"),
    "wal-today": ("wal_placement", "today-aws"),
    "pgbench-today": ("pgbench_placement", "today-aws"),
}
"""Study and pair of each kind of window."""
LATENCY: Final = {"window_s": 4.0, "table_mib": 256}
"""Longer windows of the latency study: in a second too few reads come together to compare rates."""
FEW: Final = 50
"""Fewer reads of a tablespace than these say nothing of a rate."""
AGEING: Final = {"latency"}
"""Kinds whose windows change the tables that they read: each window gets new ones."""


@dataclass(frozen=True)
class Found:
    """One window; times in seconds for each transaction, `share` of the window that is charged processor time."""

    kind: str
    cell: str
    side: str
    repetition: int
    rate: float
    transactions: int
    device_s: float
    cpu_s: float
    share: float
    mount_share: float
    pace: float
    request_us: tuple[float, ...]
    wall_s: float
    steal_share: float
    late_s: float
    flags: tuple[str, ...]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--windows", type=int, default=10, help="of each cell and side")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--sides", nargs="+", choices=(ALONE, BUSY, HELD, REAL), default=[ALONE, BUSY, HELD])
    parser.add_argument("--cells", nargs="+", help="only these places of the log or placements")
    parser.add_argument("--clients", nargs="+", type=int, default=[8])
    parser.add_argument("--slowdown", type=float, help="of the tiers (as in the profile)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="a file for the windows")
    options = parser.parse_args()
    found = [window for kind in options.kinds for window in windows(kind, options)]
    if options.json:
        report = {"made_by": "benchmarks/by_name/window_noise.py", "code": code_version(), "processors": os.cpu_count()}
        write_whole(options.json, json.dumps({**report, "found": [asdict(one) for one in found]}, indent=1) + "\n")
    print("\n" + "\n".join(table(found)))
    return 0


def windows(kind: str, options: argparse.Namespace) -> Iterator[Found]:
    study, pair = KINDS[kind]
    profile = profile_of(study, options)
    with ExitStack() as stack:
        every = stack.enter_context(sides(options.sides))
        there = None if kind in AGEING else stack.enter_context(opened(study, profile, options.seed, pair=pair))
        for repetition in range(options.windows):
            for trial in trials_of(study, pair, profile, options.cells):
                for name, side in turned(list(every.items()), repetition):
                    with nullcontext(there) if there else opened(study, profile, options.seed, pair=pair) as place:
                        place.testbed.origin_s = random.Random(f"{options.seed}/{repetition}/{trial.key}").random()
                        place.testbed.seed = options.seed + 100 * repetition
                        found = window(place, trial, side, kind=kind, name=name, repetition=repetition)
                    for one in found:
                        print(line(one), flush=True)
                    yield from found


def trials_of(study: str, pair: str, profile: Profile, places: Sequence[str] | None) -> list[Trial[Cell]]:
    every = load_study(study).trials(profile, load_pair(pair))
    return [trial for trial in every if not trial.real_time and (not places or trial.placed in places)]


def profile_of(study: str, options: argparse.Namespace) -> Profile:
    """Return the profile quick with the cells of the table: every place of the log; everything on disks and everything on flash."""
    profile = load_profile("quick")
    grid = dict(profile.studies.get(study, {}))
    if study == "wal_placement":
        grid["cells"] = grid["today"] = [{"clients": options.clients}]
        scale = (options.slowdown or grid["slowdown"]) / grid["slowdown"]
        grid["slowdown"] *= scale
        grid["settle_s"] *= scale
        grid["window_s"] = {place: scale * length_s for place, length_s in grid["window_s"].items()}
    elif study == "read_latency":
        grid |= LATENCY
    elif study == "pgbench_placement":
        grid = {name: value for name, value in grid.items() if name not in {"flip_map", "left_open", "scales"}}
        grid["cells"] = grid["today"] = [{**grid["cells"][0], "placements": ["all_hdd", "all_ssd"], "clients": options.clients}]
    return profile.model_copy(update={"studies": {**profile.studies, study: grid}})


@contextmanager
def sides(names: Sequence[str]) -> Iterator[dict[str, Side]]:
    every: dict[str, Side] = {ALONE: undisturbed, REAL: real_time, BUSY: beside(2 * (os.cpu_count() or 1)), HELD: held_sessions}
    if HELD in names and control_groups.own("cpu"):
        with Quota(QUOTA) as quota:
            yield {name: held_to(quota) if name == HELD else every[name] for name in names}
    else:
        yield {name: every[name] for name in names}


@contextmanager
def held_sessions(testbed: Testbed) -> Iterator[None]:
    """Hold server and clients to the quota where control groups have version 2."""
    assert testbed.group is not None
    limit = testbed.group.folders[0] / "cpu.max"
    limit.write_text(f"{round(QUOTA * PERIOD_US)} {PERIOD_US}\n", encoding="ascii")
    try:
        yield
    finally:
        limit.write_text("max\n", encoding="ascii")


def window(there: Opened, trial: Trial[Cell], side: Side, *, kind: str, name: str, repetition: int) -> list[Found]:
    """Return what was found of each tablespace where reads were recorded one by one, else of the window."""
    there.study.prepare(trial, there.testbed, there.study_state)
    watch = Watch()
    with Sleeper() as sleeper, side(there.testbed):
        rows = there.study.measure(trial, there.testbed, there.study_state, Recorder()).timings
    machine = watch.found()
    done = sum(row.result_rows or 0 for row in rows)
    elapsed_s, device_s, cpu_s, wall_s = (
        sum(getattr(part, figure) or 0.0 for part in parts)
        for figure, parts in (
            ("elapsed_s", rows),
            *((figure, [row.parts for row in rows]) for figure in ("device_s", "cpu_s", "wall_s")),
        )
    )
    processor: list[dict[str, Any]] = [row.proof["processor"] for row in rows if row.proof["processor"]]
    used_s = sum(one["used_s"] for one in processor)
    cell = " ".join(filter(None, [trial.placed, f"{clients} clients" if (clients := getattr(trial.cell, "clients", None)) else ""]))
    spaces: dict[str, Any] = rows[0].proof.get("tablespaces", {})
    recorded = {f"reads of {space}": (one["reads"], one["latency_sum_s"]) for space, one in spaces.items() if one["reads"] >= FEW}
    return [
        Found(
            kind,
            what,
            name,
            repetition,
            count / elapsed_s,
            count,
            busy_s / count,
            cpu_s / done,
            cpu_s / elapsed_s,
            sum(one["used_s"] * one["mount_share"] for one in processor) / used_s if used_s else 0.0,
            processor[0]["pace"] if processor else 0.0,
            tuple(1e6 * processor[0][figure] for figure in ("read_s", "write_s", "other_s")) if processor else (),
            wall_s,
            machine.steal_share,
            sleeper.late_s,
            tuple(sorted({flag for row in rows for flag in row.flags} - {"unseen"})),
        )
        for what, (count, busy_s) in (recorded or {cell or trial.key: (done, device_s)}).items()
    ]


def line(one: Found) -> str:
    requests = ", ".join(f"{cost_us:.0f}" for cost_us in one.request_us)
    return (
        f"{one.kind:13} {one.cell:20} {one.side:5} {one.rate:9.2f} a second, {one.transactions:5d} in {one.wall_s:.1f} real s; "
        f"each: devices {1e6 * one.device_s:8.0f} us, processor {1e6 * one.cpu_s:6.0f} us; share {one.share:.1%}, "
        f"the mount's {one.mount_share:.0%} ({requests} us a request), pace {one.pace:.2f}; steal {one.steal_share:.1%} "
        f"{' '.join(one.flags)}"
    )


def table(found: Sequence[Found]) -> Iterator[str]:
    """Yield a line for each kind, cell and side; the first has the scatter of the windows alone, as a coefficient of variation."""
    for kind, cell in dict.fromkeys((one.kind, one.cell) for one in found):
        here = [one for one in found if (one.kind, one.cell) == (kind, cell)]
        alone = {one.repetition: one for one in here if one.side == ALONE}
        for side in dict.fromkeys(one.side for one in here):
            these = [one for one in here if one.side == side]
            means = ", ".join(f"{figure} {statistics.fmean(getattr(one, figure) for one in these):.4g}" for figure in ("rate", "share"))
            flagged = f"{sum(bool(one.flags) for one in these)} of {len(these)} flagged"
            if side == ALONE:
                rates = [one.rate for one in these]
                scatter = statistics.stdev(rates) / statistics.fmean(rates) if len(rates) > 1 else 0.0
                yield f"{kind:13} {cell:20} {side:5} {means}; scatter of rates {scatter:.1%}; {flagged}"
            elif alone:
                yield f"{kind:13} {cell:20} {side:5} {means}; {shifts(these, alone)}; {flagged}"


def shifts(these: Sequence[Found], alone: dict[int, Found]) -> str:
    found = {
        figure: [getattr(one, figure) / getattr(alone[one.repetition], figure) - 1 for one in these]
        for figure in ("rate", "device_s", "cpu_s")
    }
    middle = {figure: statistics.median(several) for figure, several in found.items()}
    most = {figure: max(several, key=abs) for figure, several in found.items()}
    held = abs(middle["rate"]) <= MEDIAN and abs(most["rate"]) <= MOST
    text = ", ".join(f"{figure} {middle[figure]:+.1%} ({most[figure]:+.1%})" for figure in found)
    return f"shifts in the median (largest): {text}: {'met' if held else 'not met'}"


if __name__ == "__main__":
    sys.exit(main())
