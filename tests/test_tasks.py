"""Simulated work gives equal results one task after the other and in tasks on several processors; each has its own seed."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tierwise.bench.replaying import Modelled
from tierwise.bench.simulation import _simulated
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import load_profile
from tierwise.core.tasks import AHEAD, in_tasks, processors
from tierwise.core.vocabulary import Layout
from tierwise.simulate.placements import Warming
from tierwise.simulate.transactions import Rows
from tierwise.studies.pgbench_placement.measuring.simulated_maps import FlipMap, flip_map
from tierwise.studies.ram_or_ssd.measuring.trials import STUDY
from tierwise.timings.schema import Timing

GRID = {"dataset_gib": [32], "scale": 4096, "disk_scale": 4096}


def squared(number: int) -> tuple[int, int]:
    return number**2, os.getpid()


def simulated_rows() -> list[list[Timing]]:
    pair, profile, now = load_pair("source-r"), load_profile("smoke"), datetime.now(UTC)
    trials = STUDY.trials(profile.model_copy(update={"studies": {**profile.studies, STUDY.name: GRID}}), pair)
    found = in_tasks(_simulated, [(STUDY.simulate, trial, pair, seed) for trial in trials for seed in (1, 2)])
    return [[replace(row, started_at=now) for row in rows] for rows in found]


def simulated_map() -> list[dict[str, object]]:
    axes = FlipMap(seeds=2, transactions=200, memories=(1.0, 4.0), skews=(0.0, 0.9), layouts=(Layout.STREWN,), writes=(1.0,))
    testbed = Modelled(load_pair("source-v"), stretch=10.0, seed=3)
    return flip_map(testbed, axes, Rows(200_000, 600), memory_bytes=4e6, clients=4, warming=lambda _: Warming(50, 50))


def test_tasks_in_several_processes_give_in_their_order_what_they_give_one_after_the_other() -> None:
    numbers = list(range(5 * AHEAD))
    rows, points = simulated_rows(), simulated_map()
    with processors(2):
        found = list(in_tasks(squared, [(number,) for number in numbers]))
        assert [result for result, _ in found] == [number**2 for number in numbers]
        assert len({process for _, process in found} - {os.getpid()}) == 2
        together = simulated_rows()
        assert [[replace(row, started_at=rows[0][0].started_at) for row in one] for one in together] == rows
        assert simulated_map() == points
    assert len(points) == 4
    assert {process for _, process in in_tasks(squared, [(1,)])} == {os.getpid()}, "the pool is gone"


def test_no_process_outlives_a_pool_that_was_killed() -> None:
    held = "import os, test_tasks; from tierwise.core.tasks import *\nwith processors(2):\n    list(in_tasks(test_tasks.reported, [()]))"
    with subprocess.Popen(
        [sys.executable, "-c", held], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ) as pool:
        assert pool.stdout is not None
        process = int(pool.stdout.readline())
        pool.send_signal(signal.SIGKILL)
    ends_s = time.monotonic() + 10
    while Path(f"/proc/{process}").exists():
        assert time.monotonic() < ends_s
        time.sleep(0.05)


def reported() -> None:
    print(os.getpid(), flush=True)
    time.sleep(3600)
