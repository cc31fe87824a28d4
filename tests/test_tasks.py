"""Simulated work gives equal results one task after the other and in tasks on several processors; each has its own seed."""

import os
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tierwise.bench.replaying import ModelledAlone
from tierwise.bench.simulation import _simulated
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import load_profile
from tierwise.core.tasks import AHEAD, in_tasks, processors
from tierwise.core.vocabulary import Layout
from tierwise.simulate.placements import Warming
from tierwise.simulate.transactions import Rows
from tierwise.studies.pgbench_placement.measuring.simulated_maps import FlipMap, flip_map
from tierwise.studies.ram_or_ssd.measuring.trials import STUDY

GRID = {"dataset_gib": [8, 32], "scale": 4096, "disk_scale": 4096}


@pytest.fixture
def pool() -> None:
    pytest.importorskip("distributed", reason="the extra cluster is not installed (make cluster)")


def squared(number: int) -> tuple[int, int]:
    return number**2, os.getpid()


def test_results_come_in_the_order_of_the_tasks_from_several_processes(pool: None) -> None:
    numbers = list(range(5 * AHEAD))
    with processors(2):
        found = list(in_tasks(squared, [(number,) for number in numbers]))
    assert [result for result, _ in found] == [number**2 for number in numbers]
    assert len({process for _, process in found} - {os.getpid()}) == 2
    assert {process for _, process in in_tasks(squared, [(1,)])} == {os.getpid()}, "the pool is gone"


def test_rows_of_a_simulated_study_are_equal_in_every_column_but_time(pool: None) -> None:
    pair, profile = load_pair("source-r"), load_profile("smoke")
    trials = STUDY.trials(profile.model_copy(update={"studies": {**profile.studies, STUDY.name: GRID}}), pair)
    tasks = [(STUDY.simulate, trial, pair, seed) for trial in trials for seed in (1, 2)]
    alone = list(in_tasks(_simulated, tasks))
    with processors(2):
        together = list(in_tasks(_simulated, tasks))
    now = datetime.now(UTC)
    for one, other in zip(alone, together, strict=True):
        assert [replace(row, started_at=now) for row in one] == [replace(row, started_at=now) for row in other]
    assert len({str(rows[-1].tier_io) for rows in alone}) == len(tasks), "each seed has draws of its own"


def test_a_map_of_placements_is_equal(pool: None) -> None:
    axes = FlipMap(seeds=2, transactions=200, memories=(1.0, 4.0), skews=(0.0, 0.9), layouts=(Layout.STREWN,), writes=(1.0,))
    testbed = ModelledAlone(load_pair("source-v"), stretch=10.0, seed=3)

    def made() -> list[dict[str, object]]:
        return flip_map(testbed, axes, Rows(20_000, 60), memory_bytes=2e5, clients=4, warming=lambda _: Warming(50, 50))

    alone = made()
    with processors(2):
        assert made() == alone
    assert len(alone) == 4
