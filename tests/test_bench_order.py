"""Testbed and trials: nothing is measured as cold while a server lives, and every cell comes once a replicate, in an order of the seed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, product
from pathlib import Path

import pytest

from tierwise.bench.recording import Recorder
from tierwise.bench.study import Cell, Trial, interleave
from tierwise.bench.testbed import Session, Testbed
from tierwise.core.errors import EvidenceError
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import load_profile
from tierwise.core.units import MIB
from tierwise.core.vocabulary import Cache, IoMode, Layout
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.processes import PID_FILE


@dataclass(frozen=True, slots=True)
class Start(Cell):
    table: str
    start: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Window(Cell):
    table: str
    io_mode: IoMode
    window_s: float
    clients: int
    skew: float | None = None
    layout: Layout | None = None


TRIALS = tuple(
    Trial(Start(table, start), IoMode.DIRECT, frozenset({table}), f"table={table}")
    for table, start in product(("hdd", "ssd"), ("FL", "PR", "NV"))
)


def test_every_trial_has_one_numbered_turn_in_every_replicate_and_replicates_follow_each_other() -> None:
    turns = interleave(TRIALS, replicates=3, seed=1)
    assert sorted((turn.replicate, turn.trial.key) for turn in turns) == sorted(product(range(3), (trial.key for trial in TRIALS)))
    assert [turn.sequence for turn in turns] == list(range(len(turns)))
    assert [turn.replicate for turn in turns] == sorted(turn.replicate for turn in turns)


def test_a_preparation_is_made_once_a_replicate() -> None:
    turns = interleave(TRIALS, replicates=4, seed=1)
    changes = sum(
        before.trial.preparation != after.trial.preparation or before.replicate != after.replicate for before, after in pairwise(turns)
    )
    assert changes == 4 * 2 - 1


def test_the_order_is_shuffled_and_depends_on_the_seed_alone() -> None:
    orders = {seed: [turn.trial.key for turn in interleave(TRIALS, replicates=5, seed=seed)] for seed in range(8)}
    assert orders[1] == [turn.trial.key for turn in interleave(tuple(reversed(TRIALS)), replicates=5, seed=1)]
    assert len({tuple(order) for order in orders.values()}) > 1
    firsts = {interleave(TRIALS, replicates=1, seed=seed)[0].trial.preparation for seed in range(20)}
    assert firsts == {"table=hdd", "table=ssd"}


def test_a_key_names_the_cell_in_one_way() -> None:
    trial = Trial(Start("hdd", "FL"), IoMode.DIRECT, frozenset({"hdd"}), "p")
    assert trial.key == "start=FL/table=hdd"
    assert trial.in_real_time().key == "clock=real/start=FL/table=hdd"
    assert trial.in_real_time().cell == trial.cell
    assert [turn.replicate for turn in interleave([trial, trial.in_real_time(1)], replicates=3, seed=1) if turn.trial.real_time] == [0]


def test_words_stand_as_they_are_numbers_as_they_were_written_and_what_is_none_not_at_all() -> None:
    bare = Window(table="hdd", io_mode=IoMode.DIRECT, window_s=4.0, clients=8)
    assert bare.key == "clients=8/io_mode=direct/table=hdd/window_s=4.0"
    mixed = replace(bare, skew=1.0, layout=Layout.STREWN)
    assert mixed.coordinates == {**bare.coordinates, "skew": 1.0, "layout": str(Layout.STREWN)}
    assert {type(value) for value in mixed.coordinates.values()} == {str, int, float}


@pytest.fixture
def testbed(cluster18: Cluster, tmp_path: Path) -> Iterator[Testbed]:
    yield Testbed(load_profile("smoke"), load_pair("source-m"), 1, tmp_path, cluster18)
    cluster18.kill()


def cold_answer(testbed: Testbed) -> tuple[Session, object]:
    statement = "SELECT 1"
    with testbed.cold([], [], statement, io_mode=IoMode.BUFFERED, shared_buffers_bytes=16 * MIB, setup=[], recorder=Recorder()) as session:
        return session, testbed.timed(session, statement, cache=Cache.COLD, cell={}, expected={}).proof["server_was_down"]


def test_a_server_that_is_down_is_seen_to_be(testbed: Testbed) -> None:
    session, proof = cold_answer(testbed)
    assert session.server_was_down is proof is True


def test_a_server_that_is_still_alive_is_refused(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    testbed.cluster.start({})
    monkeypatch.setattr(Cluster, "stop", lambda *_: None)
    with pytest.raises(EvidenceError, match="a server still runs"):
        cold_answer(testbed)


def test_a_pid_file_that_is_still_there_is_refused(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    (testbed.cluster.data / PID_FILE).write_text("1\n", encoding="ascii")
    monkeypatch.setattr(Cluster, "stop", lambda *_: None)
    with pytest.raises(EvidenceError, match="pid file"):
        cold_answer(testbed)
