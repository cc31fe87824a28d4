"""What the benchmark of counted time makes of its rows: spreads, shifts, and which pages were read. Nothing is timed."""

import math
import os
import subprocess
import sys
from collections import namedtuple
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from counted_cells import turned
from counted_figures import as_read, device_spread, differences, different_reads, host_spread, median_and_most, shifts, table
from machine_state import Quota, Sleeper, busy, machine_between, pooled

from tierwise.core.errors import MissingError
from tierwise.core.words import Cache, ClockKind, IoArm, Substrate
from tierwise.timings.schema import Origin, Parts, RelationIo, Timing, frame

Cpu = namedtuple("Cpu", ["user", "system", "idle", "iowait", "steal", "guest"])
FIVE = (0.010, 0.012, 0.011, 0.013, 0.009)


def rows(
    side: str,
    device_s: tuple[float, ...],
    cpu_s: tuple[float, ...],
    *,
    reference_s: tuple[float, ...] | None = None,
    cache: Cache = Cache.COLD,
    reads: tuple[int, ...] | None = None,
    cell: str = "FL",
) -> pl.DataFrame:
    """One row a repetition, of one cell."""
    frames = []
    for block, (device, cpu) in enumerate(zip(device_s, cpu_s, strict=True)):
        reference = reference_s[block] if reference_s else 1e-3
        parts = Parts(ClockKind.COUNTED_ONE, cpu, device, wall_s=0.1, run_delay_s=0.0, steal_s=0.0, reference_s=reference)
        read = (RelationIo("pob", "index", "ssd", 0, reads[block] if reads else 7),)
        words = {"table": "hdd", "index": "ssd", "state": cell}
        timing = Timing(words, cache, "select", datetime(2026, 1, 2, tzinfo=UTC), device + cpu, relation_io=read, parts=parts)
        frames.append(frame(Origin(side, "any", "pair", Substrate.EMULATED, IoArm.DIRECT, f"state={cell}", block, block), [timing]))
    return pl.concat(frames)


def test_the_spread_of_the_devices_time_is_that_of_the_devices_alone() -> None:
    (cell,) = device_spread(rows("a", (1.0, 1.1, 0.9), (9.0, 1.0, 5.0))).to_dicts()
    assert (cell["table"], cell["state"], cell["repetitions"]) == ("hdd", "FL", 3)
    assert cell["cv"] == pytest.approx(0.1)
    assert device_spread(rows("a", (0.0, 0.0), (1.0, 2.0)))["cv"].to_list() == [0.0], "a hot cell has no devices' time"


def test_the_hosts_part_is_normalised_by_its_reference_and_held_against_the_total() -> None:
    slow_s, reference_s = tuple(2 * cpu for cpu in FIVE), (1e-3,) * 2 + (2e-3,) * 3
    cpu_s = (*FIVE[:2], *slow_s[2:])
    (cell,) = host_spread(rows("a", (1.0,) * 5, cpu_s, reference_s=reference_s)).to_dicts()
    deviation_s = 2 * math.sqrt(2.5e-6)  # the usual speed is that of the median reference, 2 ms
    assert cell["cv"] == pytest.approx(deviation_s / (1.0 + sum(cpu_s) / 5))
    assert cell["cv_measured"] > cell["cv"]


def test_of_two_fives_the_less_steady_one_counts_and_a_rest_is_left_out() -> None:
    steady, unsteady = (0.010,) * 5, (0.010, 0.020, 0.010, 0.020, 0.010)
    both, alone = (host_spread(rows("a", (1.0,) * len(cpu_s), cpu_s)).to_dicts()[0] for cpu_s in ((*steady, *unsteady, 9.0, 9.0), unsteady))
    assert both["fives"] == 2
    assert both["cv"] == pytest.approx(alone["cv"])


def test_a_side_is_read_as_a_run_of_its_own_and_shifts_by_cell() -> None:
    usual = rows("undisturbed", (1.0,) * 5, FIVE)
    other = rows("busy", (1.02,) * 5, tuple(3 * cpu for cpu in FIVE), reference_s=(3e-3,) * 5)
    read = as_read(pl.concat([usual, other])).sort("run_id", "block")
    assert read["elapsed_s"].to_list() == pytest.approx([1.053] * 5 + [1.011] * 5)
    (cell,) = shifts(pl.concat([usual, other]), "undisturbed", "busy").to_dicts()
    assert cell["device_shift"] == pytest.approx(0.02)
    assert cell["cpu_shift"] == pytest.approx(2.0)
    assert cell["read_shift"] == pytest.approx(1.053 / 1.011 - 1)


def test_only_undisturbed_windows_are_held_against_each_other_and_no_hot_cell() -> None:
    counted, waited = rows("counted", (1.0, 1.0, 5.0), (0.0,) * 3), rows("waited", (1.1, 1.3, 9.0), (0.0,) * 3)
    hot = [rows(side, (0.0,) * 3, (1.0,) * 3, cache=Cache.HOT, cell="NV") for side in ("counted", "waited")]
    (cell,) = differences(pl.concat([counted, waited, *hot]), "counted", "waited", [("state=FL", 0), ("state=FL", 1)]).to_dicts()
    assert cell["windows"] == 2
    assert cell["difference"] == pytest.approx(0.2)


def test_blocks_that_are_not_the_same_each_time_are_named() -> None:
    same, other = rows("a", (1.0,) * 2, (0.0,) * 2), rows("a", (1.0,) * 2, (0.0,) * 2, reads=(7, 8), cell="NV")
    assert different_reads(same) == []
    assert different_reads(pl.concat([same, other])) == ["state=NV, step 0: pob"]


def test_what_is_printed() -> None:
    assert table(pl.DataFrame({"state": ["FL", None], "cv": [0.1234, 0.01]}), {"state": "", "cv": ".1%"}).splitlines() == [
        "state     cv",
        "   FL  12.3%",
        "    -   1.0%",
    ]
    assert median_and_most(pl.Series([0.1, 0.2, 0.9])) == (0.2, 0.9)
    assert median_and_most(pl.Series([], dtype=pl.Float64)) == (0.0, 0.0)
    assert [turned(["a", "b", "c"], by) for by in (0, 1, 3)] == [["a", "b", "c"], ["b", "c", "a"], ["a", "b", "c"]]


def test_shares_of_the_machines_time() -> None:
    begun, ended = Cpu(1.0, 1.0, 1.0, 0.0, 0.0, 0.5), Cpu(3.0, 2.0, 4.0, 1.0, 3.0, 1.5)
    machine = machine_between(begun, ended, 5.0)
    assert machine.steal_share == pytest.approx(0.3)
    assert machine.busy_share == pytest.approx(0.6)
    assert pooled([machine, machine_between(begun, begun, 15.0)]).steal_share == pytest.approx(0.075)


def test_a_sleeper_knows_how_late_it_was_woken_and_busy_processes_end() -> None:
    with Sleeper() as sleeper, busy(1):
        subprocess.run([sys.executable, "-c", "import time; time.sleep(0.3)"], check=True)
    assert 0.0 < sleeper.late_s < 1.0


def test_a_process_is_held_to_its_quota_and_let_go() -> None:
    try:
        quota = Quota(0.5)
    except MissingError as missing:
        pytest.skip(str(missing))
    with quota:
        with quota.held(0):
            began_s = os.times()
            subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"], check=True)
            ended_s = os.times()
        assert ended_s.elapsed - began_s.elapsed > 0.45
        assert str(os.getpid()) not in (quota.folder / "cgroup.procs").read_text().split()
    assert not Path(quota.folder).exists()


def test_a_hot_cell_has_no_devices_time_that_could_shift() -> None:
    both = pl.concat([rows(side, (0.0,) * 5, FIVE, cache=Cache.HOT) for side in ("undisturbed", "busy")])
    assert shifts(both, "undisturbed", "busy").select("device_shift", "cpu_shift").row(0) == (None, pytest.approx(0.0))
