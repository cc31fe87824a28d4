"""Whether virtual time is steady, undisturbed by what else the machine does, and the same as real time.

Run by name: ``python benchmarks/by_name/virtual_time.py [PART ...]``; all parts need one to two hours, so ``make bench`` leaves this folder
out.

a  device time of a repeated cold cell, platters drawn anew: its coefficient of variation (CV) in every cell
b  the processor's part over five replicates: its standard deviation as a share of the cell's total
c  beside two busy processes a processor, and with server and daemon held to half a processor: shift of a cell's mean, sides in turn
e  real beside virtual time, in windows in which the machine was undisturbed; V1 and V2 by both clocks
f  pgbench, tables on SSD, slowed eight-fold: real seconds for a virtual second
g  the census study and the survey, loaded once, the same seed twice: pages read by relation

Each part prints a table, the machine meanwhile, and one line that ends in met, not met or not judged. Cells are those of
the census study on a share of the rows, published protocol, direct I/O; the survey's are its queries. The data are loaded once for all
parts of a study.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import virtual_figures as figures
from machine_state import Quota, pooled
from pgbench_windows import ALL_HDD, INDEX_SSD, TABLE_SSD, PgbenchWindow, windows
from virtual_cells import Measured, Opened, Side, beside, held_to, opened, profile_of, real_time, repeat, undisturbed

from tierwise.bench.inputs import code_version
from tierwise.bench.study import Cell, Trial
from tierwise.core.errors import TierwiseError
from tierwise.core.files import write_whole

FLASH, DISKS = "ssd", "hdd"
DEVICE_CV = {FLASH: 0.01, DISKS: 0.03}
HOST_CV = 0.03
SHIFT_MEDIAN, SHIFT_MOST, DEVICE_SHIFT = 0.015, 0.05, 0.02
REAL_WITHIN = {FLASH: 0.05, DISKS: 0.08}
REAL_SHARE, REAL_MOST = 0.9, 0.15
CLAIM = 0.10
STEAL, LATE_S, LEAST = 0.02, 2e-4, 10
REAL_SECONDS, REAL_STEAL = 1.0, 0.05
UNDISTURBED, BUSY, HELD, IN_REAL = "undisturbed", "busy", "held", "real"
SHOWN = {"table": "", "index": "", "state": "", "cache": ""}


@dataclass
class Finding:
    """What a part found: `met` is None where it was not judged."""

    part: str
    bound: str
    text: str
    met: bool | None
    machine: dict[str, Any] = field(default_factory=dict)
    cells: list[dict[str, Any]] = field(default_factory=list)

    def __str__(self) -> str:
        verdict = {True: "met", False: "not met", None: "not judged"}[self.met]
        return f"({self.part}) {self.text}; bound: {self.bound}: {verdict}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*"abcefg", []], help="which (all)")
    parser.add_argument("--fraction", type=float, default=0.2, help="of the published rows (0.2, as quick; 1 as full)")
    parser.add_argument("--repetitions", type=int, default=10, help="of each cell and side")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patience-s", type=float, default=3600.0, help="for undisturbed windows (part e)")
    parser.add_argument("--window-s", type=float, default=20.0, help="of pgbench (parts e, f)")
    parser.add_argument("--json", type=Path, help="a file for what was found")
    parser.add_argument("--rows", type=Path, help="a folder for the raw rows, in Parquet")
    options = parser.parse_args()
    parts = sorted(set(options.parts or "abcefg"))
    try:
        found = [*census(parts, options), *survey(parts, options), *pgbench(parts, options)]
    except TierwiseError as error:
        print(error, file=sys.stderr)
        return 1
    if options.json:
        report = {
            "made_by": "benchmarks/by_name/virtual_time.py",
            "code": code_version(),
            "processors": os.cpu_count(),
            "options": vars(options),
        }
        write_whole(options.json, json.dumps({**report, "found": [asdict(one) for one in found]}, indent=1, default=str) + "\n")
    print("\n" + "\n".join(map(str, found)))
    return int(any(one.met is False for one in found))


def census(parts: Sequence[str], options: argparse.Namespace) -> list[Finding]:
    """Return the parts that need the census study's cells, on one loading."""
    found: list[Finding] = []
    if not {"a", "b", "c", "e", "g"} & set(parts):
        return found
    with opened("index_placement", profile_of(options.fraction), options.seed) as there:
        study, testbed = there.study, there.testbed
        trials = [trial for trial in study.trials(testbed.profile, testbed.pair) if trial.cell.variant == "published"]
        if {"a", "b", "c"} & set(parts):
            found += steadiness(parts, options, there, trials)
        if "e" in parts:
            found.append(beside_real(options, there, trials))
        if "g" in parts:
            found.append(same_pages(options, there, trials))
    return found


def steadiness(parts: Sequence[str], options: argparse.Namespace, there: Opened, trials: list[Trial[Cell]]) -> list[Finding]:
    """Parts a, b and c of one measurement: the undisturbed side of c is what a and b look at."""
    sides: dict[str, Side] = {UNDISTURBED: undisturbed}
    processors = os.cpu_count() or 1
    if "c" not in parts:
        measured = repeat(there, trials, repetitions=options.repetitions, sides=sides, seed=options.seed)
    else:
        with Quota(0.5) as quota:
            sides |= {BUSY: beside(2 * processors), HELD: held_to(quota)}
            measured = repeat(there, trials, repetitions=options.repetitions, sides=sides, seed=options.seed)
            print(f"held to half a processor, server and daemon were not let run for {quota.throttled_s():.1f} s")
    keep(options, measured, "steadiness")
    rows = measured.rows.filter(run_id=UNDISTURBED)
    found = []
    if "a" in parts:
        found.append(device_steadiness(rows, measured))
    if "b" in parts:
        found.append(host_steadiness(rows, measured))
    if "c" in parts:
        found += [shift(measured, BUSY), shift(measured, HELD)]
    return found


def device_steadiness(rows: pl.DataFrame, measured: Measured) -> Finding:
    cells = figures.device_spread(rows)
    columns = {**SHOWN, "repetitions": "", "device_s": ".4f", "cv": ".2%"}
    bounds = ", ".join(f"{bound:.0%} table on {tier}" for tier, bound in DEVICE_CV.items())
    cold = cells.filter(cache="cold")
    most = {tier: figures.median_and_most(cold.filter(table=tier)["cv"])[1] for tier in DEVICE_CV}
    alone = figures.median_and_most(cold.filter(table=FLASH, index=FLASH)["cv"])[1]
    by_tier = ", ".join(f"{cv:.2%} table on {tier}" for tier, cv in most.items())
    text = f"device time of a cold cell: largest CV {by_tier}, {alone:.2%} table and index on {FLASH}"
    met = all(most[tier] <= bound for tier, bound in DEVICE_CV.items())
    return with_figures(Finding("a", bounds, text, met), measured, UNDISTURBED, cells, columns)


def host_steadiness(rows: pl.DataFrame, measured: Measured) -> Finding:
    cells = figures.host_spread(rows)
    judged = cells.filter(pl.col("cache") != "hot")
    columns = {**SHOWN, "fives": "", "host_s": ".4f", "share": ".1%", "cv_measured": ".2%", "cv": ".2%"}
    most, measured_most = (figures.median_and_most(judged[name])[1] for name in ("cv", "cv_measured"))
    hot = figures.median_and_most(cells.filter(cache="hot")["cv"])[1]
    text = (
        f"the processor's part over its cell's total: largest CV {most:.2%} cold and cross ({measured_most:.2%} as measured), {hot:.2%} hot"
    )
    return with_figures(Finding("b", f"{HOST_CV:.0%} cold and cross", text, most <= HOST_CV), measured, UNDISTURBED, cells, columns)


def shift(measured: Measured, side: str) -> Finding:
    cells = figures.shifts(measured.rows, UNDISTURBED, side)
    judged = cells.filter(pl.col("cache") != "hot")
    columns = {**SHOWN, "read_s": ".4f", **{f"{name}_shift": "+.2%" for name in ("read", "measured", "device", "cpu")}}
    size = {name: judged[f"{name}_shift"].abs() for name in ("read", "measured", "device")}
    median, most = figures.median_and_most(size["read"])
    device = figures.median_and_most(size["device"])[1]
    measured_median, measured_most = figures.median_and_most(size["measured"])
    text = (
        f"{side} against undisturbed: a cell's mean total shifts by {median:.2%} (median) and {most:.2%} (largest), its device time by "
        f"{device:.2%} (largest), its total as measured by {measured_median:.2%} and {measured_most:.2%}"
    )
    met = median <= SHIFT_MEDIAN and most <= SHIFT_MOST and device <= DEVICE_SHIFT
    bound = f"{SHIFT_MEDIAN:.1%} and {SHIFT_MOST:.0%}, {DEVICE_SHIFT:.0%} of device time"
    return with_figures(Finding("c", bound, text, met), measured, side, cells, columns)


def beside_real(options: argparse.Namespace, there: Opened, trials: list[Trial[Cell]]) -> Finding:
    """Part e, by the census study's cells: repeated until each has an undisturbed window and there are `LEAST`, or patience ends."""
    until_s = time.monotonic() + options.patience_s
    sides = {UNDISTURBED: undisturbed, IN_REAL: real_time}
    every: list[Measured] = []
    good: list[tuple[str, int]] = []
    tried, rounds = 0, 0
    while time.monotonic() < until_s and not (len(good) >= LEAST and {trial for trial, _ in good} >= {trial.key for trial in trials}):
        every.append(repeat(there, trials, repetitions=1, sides=sides, seed=options.seed + 1000 + rounds))
        tried += len(trials)
        good += [(trial, rounds) for trial, _ in undisturbed_windows(every[-1])]
        every[-1].rows = every[-1].rows.with_columns(replicate=pl.lit(rounds, dtype=pl.Int32))
        rounds += 1
        print(f"{len(good)} of {tried} windows were undisturbed", flush=True)
    rows = pl.concat([one.rows for one in every])
    keep(options, Measured(rows), "real")
    enough = len(good) >= LEAST
    looked_at = good if enough else [(trial.key, replicate) for trial in trials for replicate in range(rounds)]
    cells = figures.differences(rows, UNDISTURBED, IN_REAL, looked_at)
    size = cells["difference"].abs().to_list()
    within = [difference <= REAL_WITHIN[tier] for difference, tier in zip(size, cells["table"], strict=True)]
    late_s = [late for one in every for late in one.late_s.values()]
    merged = Measured(rows, {key: machine for one in every for key, machine in one.machines.items()})
    text = (
        f"real beside virtual time: {len(good)} of {tried} windows had steal within {STEAL:.0%} and wake-ups within {1e6 * LATE_S:.0f} us "
        f"(median {1e6 * statistics.median(late_s):.0f} us); device time within its bound in {sum(within)} of {len(within)} cells, "
        f"largest difference {max(size):.1%}, mean {statistics.fmean(cells['difference']):+.1%}"
    )
    met = sum(within) >= REAL_SHARE * len(within) and max(size) <= REAL_MOST if enough else None
    bound = f"{REAL_WITHIN[FLASH]:.0%} table on flash, {REAL_WITHIN[DISKS]:.0%} on disks in nine of ten cells, none beyond {REAL_MOST:.0%}"
    columns = {**SHOWN, "windows": "", "device_s": ".4f", "device_s_real": ".4f", "difference": "+.1%"}
    return with_figures(Finding("e", bound, text, met), merged, IN_REAL, cells, columns)


def undisturbed_windows(measured: Measured) -> list[tuple[str, int]]:
    """(trial, repetition) during whose real-time execution the machine was left alone."""
    return [
        (trial, replicate)
        for (side, trial, replicate), machine in measured.machines.items()
        if side == IN_REAL and machine.steal_share <= STEAL and measured.late_s[side, trial, replicate] <= LATE_S
    ]


def same_pages(options: argparse.Namespace, there: Opened, trials: Sequence[Trial[Cell]]) -> Finding:
    """Part g, by the trials of one study."""
    measured = repeat(there, trials, repetitions=2, sides={UNDISTURBED: undisturbed}, seed=options.seed, same_platters=True)
    odd = figures.different_reads(measured.rows)
    cells = measured.rows.filter(replicate=0).height
    pages = measured.rows.filter(replicate=0).explode("relation_io").unnest("relation_io")["reads"].sum()
    text = f"source {there.study.source}: {cells} queries, {pages:,} pages read; different ones in {', '.join(odd) or 'none'}"
    return with_figures(Finding("g", "identical", text, not odd), measured, UNDISTURBED, pl.DataFrame(), {})


def survey(parts: Sequence[str], options: argparse.Namespace) -> list[Finding]:
    """Part g by the queries of the survey."""
    if "g" not in parts:
        return []
    with opened("survey_placement", profile_of(options.fraction), options.seed) as there:
        trials = [trial for trial in there.study.trials(there.testbed.profile, there.testbed.pair) if trial.cell.query != "move"]
        return [same_pages(options, there, trials)]


def pgbench(parts: Sequence[str], options: argparse.Namespace) -> list[Finding]:
    """Parts e (V1, V2) and f."""
    found = []
    if "e" in parts:
        every = windows(
            (ALL_HDD, INDEX_SSD, TABLE_SSD), sides=("virtual", IN_REAL), repetitions=2, window_s=options.window_s, seed=options.seed
        )
        found.append(claims(every))
    if "f" in parts:
        every = windows((TABLE_SSD,), sides=("virtual",), repetitions=3, window_s=options.window_s, seed=options.seed)
        found.append(real_seconds(every))
    return found


def claims(every: list[PgbenchWindow]) -> Finding:
    """Compare V1 and V2 in virtual and in real time."""

    def tps(placement: str, *, in_real_time: bool) -> float:
        return statistics.fmean(one.tps for one in every if one.placement == placement and (one.clock == IN_REAL) == in_real_time)

    ratios = {
        (name, in_real_time): tps(placement, in_real_time=in_real_time) / tps(ALL_HDD, in_real_time=in_real_time)
        for name, placement in (("V1", INDEX_SSD), ("V2", TABLE_SSD))
        for in_real_time in (False, True)
    }
    shifts = {name: ratios[name, True] / ratios[name, False] - 1 for name in ("V1", "V2")}
    left_alone = all(one.steal_share <= STEAL and one.late_s <= LATE_S for one in every if one.clock == IN_REAL)
    text = ", ".join(
        f"{name} {ratios[name, True]:.2f} in real time, {ratios[name, False]:.2f} in virtual time ({shifts[name]:+.1%})" for name in shifts
    )
    met = all(abs(value) <= CLAIM for value in shifts.values()) if left_alone else None
    return of_windows("e", f"{CLAIM:.0%}", text, met, every)


def real_seconds(every: list[PgbenchWindow]) -> Finding:
    real = sum(one.wall_s for one in every) / sum(one.elapsed_s for one in every)
    requests = sum(one.requests for one in every)
    each_us = (1e6 * sum(getattr(one, name) for one in every) / requests for name in ("wall_s", "daemon_s"))
    text = "{:.2f} real seconds for a virtual second; a request takes {:.0f} us, at most {:.0f} us of the daemon's processor time".format(
        real, *each_us
    )
    left_alone = statistics.fmean(one.steal_share for one in every) <= REAL_STEAL
    met = real <= REAL_SECONDS or (None if not left_alone else False)
    return of_windows("f", f"{REAL_SECONDS:.0f} with steal at most {REAL_STEAL:.0%}", text, met, every)


def of_windows(part: str, bound: str, text: str, met: bool | None, every: list[PgbenchWindow]) -> Finding:
    machine = {
        "wall_s": sum(one.wall_s for one in every),
        "steal_share": statistics.fmean(one.steal_share for one in every),
        "steal_share_most": max(one.steal_share for one in every),
        "load": statistics.fmean(one.load for one in every),
    }
    finding = Finding(part, bound, text, met, machine, [{**asdict(one), "tps": one.tps} for one in every])
    print(f"{finding}\n", flush=True)
    return finding


def with_figures(finding: Finding, measured: Measured, side: str, cells: pl.DataFrame, columns: Mapping[str, str]) -> Finding:
    """Print a part's table, the machine meanwhile and its line; the finding with all of it."""
    machine = pooled(measured.of(side))
    finding.machine, finding.cells = {"side": side, **asdict(machine)}, cells.to_dicts()
    flagged = measured.rows.filter(pl.col("flags").list.len() > 0).height
    if columns:
        print("\n" + figures.table(cells, columns))
    print(f"machine ({side}): {machine}; rows flagged: {flagged} of {measured.rows.height}\n{finding}\n", flush=True)
    return finding


def keep(options: argparse.Namespace, measured: Measured, name: str) -> None:
    """Write the raw rows, where somebody wants them."""
    if options.rows:
        options.rows.mkdir(parents=True, exist_ok=True)
        measured.rows.write_parquet(options.rows / f"{name}.parquet")


if __name__ == "__main__":
    sys.exit(main())
