"""Trials come once a replicate, in an order of the seed; each replicate is its own, and others are added for what was rejected."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest

from checkout import Home
from rows import STARTED, make_manifest, make_rows, save_run
from tierwise.bench.recording import Recorder
from tierwise.bench.run_record import RunRecord, record_stage
from tierwise.bench.runs import begin_retry, plan_retry
from tierwise.bench.study import Cell, Trial, Turn, interleave, replicate_seed
from tierwise.bench.testbed import ColdQuery, Session, Testbed
from tierwise.bench.trial_loop import run_trials
from tierwise.core.errors import EvidenceError
from tierwise.core.pairs import Pair, load_pair
from tierwise.core.profiles import load_profile
from tierwise.core.units import MIB
from tierwise.core.vocabulary import Cache, Evidence, IoMode, Layout
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.processes import PID_FILE
from tierwise.timings.manifest import RETRIED, Manifest, Stage, load_manifest
from tierwise.timings.parts import done_parts, read_rows, without_real_time_rows
from tierwise.timings.schema import TierIo, Timing

PAIR: Final = load_pair("source-m")
REPLICATES: Final = 3


@dataclass(frozen=True, slots=True)
class Place(Cell):
    table: str


TRIALS: Final[tuple[Trial[Cell], ...]] = tuple(Trial(Place(tier), IoMode.DIRECT, frozenset({tier}), tier) for tier in ("hdd", "ssd"))


def checked(rows: pl.DataFrame) -> None:
    assert rows["replicate"].n_unique() in {REPLICATES, 2 * REPLICATES}, "the rows are complete when they are checked"
    assert rows["pair"].n_unique() == 1, "pairs need not have the same data in a replicate, nor then the same answers"


@dataclass
class Question:
    name: str = "index_placement"
    check: Any = checked


@dataclass
class Observing:
    """Observes a replicate; with `fails_at` it is killed before that turn. Everything that was opened is noted in `opened`."""

    replicate: int
    fails_at: int | None = None
    flags: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    server_version: str = ""
    datasets: tuple[()] = ()

    def observe(self, turn: Turn) -> Sequence[Timing]:
        if turn.sequence == self.fails_at:
            raise KeyboardInterrupt
        return [timing(turn.trial, self.flags)]

    def evidence(self, turn: Turn, timings: Sequence[Timing]) -> Evidence:  # noqa: ARG002 - of the protocol
        return Evidence.EMULATED

    def facts(self, rows: pl.DataFrame, before: Mapping[str, Any] | None) -> dict[str, Any]:
        found: dict[str, Any] = {"described_in": self.replicate} if before is None else dict(before)
        before_this: list[int] = found.get("replicates", [])
        return found | {"replicates": [*before_this, self.replicate], "rows": len(rows)}


def timing(trial: Trial[Cell], flags: tuple[str, ...]) -> Timing:
    io = TierIo(next(iter(trial.tiers)), Evidence.EMULATED, "disk", 1, 8192, 0, 0, 0.001, 0.001)
    return Timing(
        cell=trial.coordinates,
        cache=Cache.NONE,
        operation="select 1",
        started_at=STARTED,
        elapsed_s=0.001,
        result_rows=1,
        relation_io=(),
        tier_io=(io,),
        proof={},
        flags=flags,
    )


@pytest.fixture
def book(tmp_path: Path) -> RunRecord:
    folder = tmp_path / "20260102-030405-abcd"
    folder.mkdir()
    made = make_manifest(make_rows(replicates=1), complete=False)
    made.model_copy(update={"studies": ()}).save(folder)
    return RunRecord(folder)


def measured(
    book: RunRecord,
    *,
    trials: Sequence[Trial[Cell]] = TRIALS,
    replicates: int = REPLICATES,
    fails_at: int | None = None,
    flags: tuple[str, ...] = (),
    pair: Pair = PAIR,
) -> list[int]:
    turns, opened = sorted(interleave(trials, replicates=replicates, seed=1), key=lambda turn: turn.testbed), []

    @contextmanager
    def observing(replicate: int, left: Sequence[Turn]) -> Iterator[Observing]:
        opened.append(replicate)
        yield Observing(replicate, fails_at, flags)

    try:
        run_trials(Question(), pair, turns, book, observing, how="made up")
    except KeyboardInterrupt:
        assert fails_at is not None
    return opened


def test_each_replicate_is_opened_for_itself_and_the_facts_of_the_first_stay(book: RunRecord) -> None:
    assert measured(book) == [0, 1, 2]
    (record,) = load_manifest(book.folder).studies
    assert record.facts == {"described_in": 0, "replicates": [0, 1, 2], "rows": REPLICATES * len(TRIALS)}
    assert record.replicates == REPLICATES
    assert not load_manifest(book.folder).begun
    assert measured(book) == [], "what is whole is not opened again"


def test_the_rows_of_each_pair_are_checked_by_themselves(book: RunRecord) -> None:
    measured(book)
    assert measured(book, pair=load_pair("today-aws")) == [0, 1, 2]
    assert [record.pair for record in load_manifest(book.folder).studies] == ["source-m", "today-aws"]


@pytest.mark.parametrize(("fails_at", "first", "again"), [(0, [0], [0, 1, 2]), (3, [0, 1], [1, 2]), (4, [0, 1, 2], [2])])
def test_a_killed_run_opens_what_was_not_whole(book: RunRecord, fails_at: int, first: list[int], again: list[int]) -> None:
    assert measured(book, fails_at=fails_at) == first
    assert load_manifest(book.folder).studies == (), "a study that was begun is not taken for a whole one"
    assert measured(book) == again
    (record,) = load_manifest(book.folder).studies
    assert record.facts["described_in"] == 0
    assert record.facts["replicates"] == [0, 1, 2]
    assert len(done_parts(book.folder)) == REPLICATES * len(TRIALS)


@pytest.mark.parametrize("replicated", [0, 1])
def test_what_is_not_replicated_has_every_replicate_in_the_first_testbed_and_is_whole_with_the_last(
    book: RunRecord, replicated: int
) -> None:
    trials = (*TRIALS[:replicated], *(replace(trial, replicated=False) for trial in TRIALS[replicated:]))
    assert measured(book, trials=trials) == [0, *range(1, REPLICATES if replicated else 1)]
    assert not load_manifest(book.folder).begun
    (record,) = load_manifest(book.folder).studies
    assert record.replicates == REPLICATES
    assert set(record.not_replicated) == {trial.key for trial in TRIALS[replicated:]}
    assert measured(book, trials=trials) == []


def test_added_replicates_are_testbeds_of_their_own_and_the_facts_stay(book: RunRecord) -> None:
    measured(book, flags=("late",))
    begin_retry(book.folder)
    assert [record.replicates for record in load_manifest(book.folder).begun] == [REPLICATES]
    assert measured(book, replicates=2 * REPLICATES) == [3, 4, 5], "a replicate was lost for each that was there"
    (record,) = load_manifest(book.folder).studies
    assert (record.replicates, record.facts["described_in"]) == (2 * REPLICATES, 0)


def test_seeds_of_replicates_have_nothing_in_common_with_those_of_another_run() -> None:
    seeds = {(seed, replicate): replicate_seed(seed, replicate) for seed in range(50) for replicate in range(20)}
    assert len(set(seeds.values())) == len(seeds)
    assert all(seeds[seed, 0] == seed for seed in range(50)), (
        "the first replicate has the run's own, as the data that are acquired before it"
    )


def test_replicates_of_a_real_run_have_other_data_and_other_platters(smoke_home: Home, smoke: Manifest) -> None:
    rows = without_real_time_rows(read_rows(smoke_home.folder / "raw" / smoke.run_id)).filter(study="index_placement", cache="cold")
    for _, trial in rows.group_by("trial"):
        answers = [json.loads(proof)["misses"] for proof in trial["proof"]]
        assert len({json.dumps(one, sort_keys=True) for one in answers}) > 1, "other rows are found on other pages"
    data = {record.sha256 for record in smoke.datasets if record.name == "census"}
    assert len(data) == smoke.profile["replicates"], "the provenance names the data of each replicate"


def flagged(rows: pl.DataFrame, *wanted: tuple[str, int]) -> pl.DataFrame:
    for part, replicate in wanted:
        bad = pl.col("trial").str.contains(part) & (pl.col("replicate") == replicate)
        rows = rows.with_columns(flags=pl.when(bad).then(pl.lit(["overshoot"], dtype=pl.List(pl.String))).otherwise("flags"))
    return rows


def test_as_many_whole_replicates_are_added_as_the_worst_trial_has_lost() -> None:
    rows = flagged(
        make_rows(),
        ("index=hdd/io_mode=[a-z]+/start=FL/table=hdd", 1),
        ("index=hdd/io_mode=[a-z]+/start=FL/table=hdd", 4),
        ("index=ssd/io_mode=[a-z]+/start=NV/table=ssd", 2),
    )
    retry = plan_retry(rows)
    assert retry.replicates == {"index_placement/source-m": 2}
    assert retry.rejected == {"index_placement/source-m": 9}  # cold, hot and cross of each
    simulated = rows.with_columns(evidence=pl.lit(str(Evidence.SIMULATED)))
    assert plan_retry(simulated).replicates == {}


def test_replicates_are_added_once_and_the_earlier_rows_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = flagged(make_rows(), ("index=hdd/io_mode=[a-z]+/start=FL/table=hdd", 1))
    folder = save_run(tmp_path, rows)
    reopened = begin_retry(folder)
    assert (reopened.status, reopened.finished_at) == ("running", None)
    assert reopened.replicates_added("index_placement", "source-m") == 1
    assert reopened.replicates_added("index_placement", "elsewhere") == 0
    assert "1 of index_placement/source-m (3 rows rejected)" in capsys.readouterr().err
    assert read_rows(folder).height == rows.height
    assert begin_retry(folder) == reopened
    assert "already" in capsys.readouterr().err


def test_a_clean_run_stays_complete(tmp_path: Path) -> None:
    assert begin_retry(save_run(tmp_path, make_rows())).status == "complete"


@dataclass(frozen=True, slots=True)
class Numbered(Cell):
    number: int


def test_added_replicates_come_after_those_that_are_there_and_leave_their_order() -> None:
    trials = [Trial(Numbered(number), IoMode.DIRECT, frozenset({"hdd"}), str(number % 2)) for number in range(6)]
    before, after = (interleave(trials, replicates=replicates, seed=3) for replicates in (5, 7))
    assert after[: len(before)] == before
    assert {turn.replicate for turn in after[len(before) :]} == {5, 6}


def test_a_run_knows_the_pace_and_steal_over_its_stages(tmp_path: Path) -> None:
    folder = save_run(tmp_path, make_rows())
    assert load_manifest(folder).conditions is None
    for stage in (
        Stage(name="run-a", took_s=30.0, pace=1.0, steal=0.0),
        Stage(name="run-b", took_s=10.0, pace=2.0, steal=0.4),
        Stage(name=f"{RETRIED}run-b", took_s=99.0, pace=9.0, steal=0.9),
    ):
        record_stage(folder, stage)
    found = load_manifest(folder).conditions
    assert found is not None
    assert found == pytest.approx((40.0, 1.25, 0.1))


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


ORDERED = tuple(
    Trial(Start(table, start), IoMode.DIRECT, frozenset({table}), f"table={table}")
    for table, start in product(("hdd", "ssd"), ("FL", "PR", "NV"))
)


def test_every_trial_has_one_numbered_turn_in_every_replicate_and_replicates_follow_each_other() -> None:
    turns = interleave(ORDERED, replicates=3, seed=1)
    assert sorted((turn.replicate, turn.trial.key) for turn in turns) == sorted(product(range(3), (trial.key for trial in ORDERED)))
    assert [turn.sequence for turn in turns] == list(range(len(turns)))
    assert [turn.replicate for turn in turns] == sorted(turn.replicate for turn in turns)


def test_a_preparation_is_made_once_a_replicate() -> None:
    turns = interleave(ORDERED, replicates=4, seed=1)
    changes = sum(
        before.trial.preparation != after.trial.preparation or before.replicate != after.replicate for before, after in pairwise(turns)
    )
    assert changes == 4 * 2 - 1


def test_the_order_is_shuffled_and_depends_on_the_seed_alone() -> None:
    orders = {seed: [turn.trial.key for turn in interleave(ORDERED, replicates=5, seed=seed)] for seed in range(8)}
    assert orders[1] == [turn.trial.key for turn in interleave(tuple(reversed(ORDERED)), replicates=5, seed=1)]
    assert len({tuple(order) for order in orders.values()}) > 1
    firsts = {interleave(ORDERED, replicates=1, seed=seed)[0].trial.preparation for seed in range(20)}
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
    with testbed.cold(ColdQuery([], [], statement, [], 16 * MIB), io_mode=IoMode.BUFFERED, recorder=Recorder()) as session:
        return session, testbed.timed(session, statement, cache=Cache.COLD, cell={}, expected={}).proof["server_was_down"]


def test_a_server_that_is_down_is_seen_to_be(testbed: Testbed) -> None:
    session, proof = cold_answer(testbed)
    assert session.evidence.server_was_down is proof is True


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
