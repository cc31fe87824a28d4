"""Advice for a watched server: what it moves and refuses, and that the queueing model is right where its answer is known."""

import datetime as dt
import re
from dataclasses import replace
from pathlib import Path

import pytest

from support import said, said_as_json
from tierwise.advisor import server_tiers
from tierwise.advisor.joined_watches import joined
from tierwise.advisor.server_advice import ServerAdvice, advise_server, saving
from tierwise.advisor.server_advice_text import LINES, shown
from tierwise.advisor.server_check import check_move
from tierwise.advisor.server_plan import write_plan
from tierwise.advisor.server_question import Limits, Question
from tierwise.advisor.server_tiers import read_server_tiers
from tierwise.advisor.stations import Load, Part, predict
from tierwise.core import host
from tierwise.core.activity import Activity, Band, Cause, IoWorkers, RelationLoad, Steadiness, Window, read_answer
from tierwise.core.errors import InputError
from tierwise.core.options import TicketFormat
from tierwise.core.text_table import WIDTH
from tierwise.core.units import GIB, MIB
from tierwise.costs.book import load_book
from tierwise.devices.own_device import fitted
from tierwise.devices.spec import Measured
from tierwise.postgres.cluster import Cluster
from watching import STARTED, watched

TIERS = """
[tiers.hdd]
tablespaces = ["pg_default"]
wal = true
read_ms = [[1, 10], [2, 18], [4, 30]]

[tiers.ssd]
read_ms = [[1, 0.2]]
usd_a_month_per_gib = 0.1
"""
WITH_PLACE = TIERS.replace("[tiers.ssd]", '[tiers.ssd]\ntablespaces = ["fast"]')
DAY = dt.date(2026, 11, 28)
EXACT = Band(low=0.0, high=0.0)


def relation(number: int, name: str, waiting_s: float, *, kind: str = "table", gib: float | None = 1.0, **more: object) -> RelationLoad:
    known: dict[str, object] = {
        **dict.fromkeys(("device_reads_per_s", "read_s", "writes_per_s")),
        **dict.fromkeys(("waiting_s", "low_s", "high_s"), waiting_s),
        "share": waiting_s / 0.1,
        "size_bytes": None if gib is None else int(gib * GIB),
    }
    known |= {"database": 5, "schema_name": "public", "tablespace": "pg_default", "location": "", "scans": 1, "droppable": False}
    known |= {"relation": number, "name": name, "kind": kind, "reads_per_s": 50.0, "client_reads_per_s": EXACT}
    return RelationLoad.model_validate({**known, **more})


def activity(*relations: RelationLoad, spread: float = 0.01, steady: Steadiness = Steadiness.STEADY) -> Activity:
    """Return a watch of 40 transactions a second that take 100 ms each, in ten windows."""
    times = [0.1 * (1 + spread * (-1) ** (number // 2)) for number in range(10)]
    windows = tuple(Window(seconds=60, transactions=2400, transaction_s=time_s) for time_s in times)
    load = {"transactions_per_s": Band(low=40, high=40), "transaction_s": 0.1, "reads_per_s": 100, "depth": 3, "sessions": 4}
    measured = {"windows": windows, "steadiness": steady, "spread": spread, "checkpoints": 5, "samples": 600, "timed": True}
    events = ("gaps_s", "gaps", "resets", "drift", "placements_changed", "replicas")
    beside = ("page_writes_per_s", "wal_bytes_per_s", "background_transactions_per_s", "background_reads_per_s", "autovacuum_reads_per_s")
    known = {"server": "18.6", "version": 18, "database": "shop", "standby": False, "superuser": True, "began": ""}
    known |= {"watched_s": 600, "window_s": 60, "causes": (Cause(cause="reads", time_s=0.08, measured=True),), "unknown": ()}
    known |= {**dict.fromkeys((*events, *beside), 0), "replay_share": None, "statements": None}
    return Activity.model_validate({**known, **load, **measured, "relations": relations})


@pytest.fixture
def tiers(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(TIERS)
    return path


def advised(watch: Activity, tiers: Path, **limits: float) -> ServerAdvice:
    return advise_server(Question(watch, read_server_tiers(tiers), Limits(**limits), load_book(DAY)))


def test_a_closed_load_of_one_station_takes_what_queueing_theory_says() -> None:
    def station(depth: float) -> float:
        return 0.01 * depth  # one request at a time: the others wait

    load = Load((Part("a", 0.03), Part("b", 0.01)), {"a": "hdd", "b": "hdd"}, 0.0, 4.0, 100.0)
    latency = {"hdd": station, "ssd": lambda _: 1e-9}
    same = predict(load, load.placement, latency, closed=True)
    assert same.transaction_s == pytest.approx(0.04)
    moved = predict(load, {"a": "ssd", "b": "hdd"}, latency, closed=True)
    assert moved.transaction_s == pytest.approx(0.01, rel=1e-3), "all four sessions wait at the disk for its quarter of the work"
    opened = predict(load, {"a": "ssd", "b": "hdd"}, latency, closed=False)
    assert opened.transaction_s < 0.006, "at the same rate the disk is a quarter busy, and what stays gains"


def test_reads_of_an_index_that_leaves_the_disk_save_little_while_io_workers_are_all_busy() -> None:
    """Four sessions for three workers: a transaction takes what its table's reads take, three at a time, whatever else it reads."""
    workers = IoWorkers(count=3, busy=3.0, waiting=3.2)
    parts = (Part("table", 0.08, by_workers=1.0), Part("key", 0.02))
    load = Load(parts, dict.fromkeys(("table", "key"), "hdd"), 0.0, 4.0, 40.0, workers)
    latency = {"hdd": lambda _: 0.01, "ssd": lambda _: 1e-9}
    moved = {name: predict(load, {**load.placement, name: "ssd"}, latency, closed=True).transaction_s for name in ("table", "key")}
    assert predict(load, load.placement, latency, closed=True).transaction_s == pytest.approx(0.1)
    assert moved["key"] == pytest.approx(4 * 0.075 / 3, rel=0.1), "75 ms of a worker for each transaction"
    assert moved["table"] == pytest.approx(0.02, rel=1e-3)
    without = predict(
        replace(load, workers=None, parts=(Part("table", 0.08), Part("key", 0.02))), {**load.placement, "key": "ssd"}, latency, closed=True
    )
    assert without.transaction_s == pytest.approx(0.08)


def test_busy_io_workers_are_named_before_any_move(tiers: Path) -> None:
    watch = activity(relation(1, "orders", 0.05)).model_copy(update={"io_workers": IoWorkers(count=3, busy=2.9, waiting=3.0)})
    assert "io_workers: PostgreSQL's 3 I/O workers are busy 97 % of the time." in shown(advised(watch, tiers), TicketFormat.TABLE)
    idle = watch.model_copy(update={"io_workers": IoWorkers(count=3, busy=1.0, waiting=1.0)})
    assert "io_workers" not in shown(advised(idle, tiers), TicketFormat.TABLE)


def test_partitions_that_are_waited_for_little_each_move_together(tiers: Path, tmp_path: Path) -> None:
    tiers.write_text(WITH_PLACE)
    parts = [relation(number, f"events_{number}", 0.0003, parent=7, gib=0.01) for number in range(1, 101)]
    hot = relation(101, "events_101", 0.04, parent=7, gib=0.1, writes_per_s=Band(low=1, high=1))
    watch = activity(*parts, hot, relation(102, "events_102", 0.0, parent=7, gib=0.01))
    question = Question(watch, read_server_tiers(tiers), Limits(), load_book(DAY))
    found = advise_server(question)
    assert found.moved == ["events_101", "events_100 and 99 older partitions"]
    assert found.steps[1].size_bytes == pytest.approx(GIB, rel=1e-6)
    write_plan(found, question, tmp_path / "plan")
    assert (tmp_path / "plan" / "plan.sql").read_text().count("ALTER TABLE") == 101
    assert "New partitions follow" in (tmp_path / "plan" / "plan.sql").read_text(), "events_102 has no rows yet"
    fast = [load.model_copy(update={"tablespace": "fast", "waiting_s": (load.waiting_s or 0.0) / 50}) for load in (*parts, hot)]
    after = watch.model_copy(update={"relations": tuple(fast), "transaction_s": 0.0314})
    after = after.model_copy(update={"windows": tuple(one.model_copy(update={"transaction_s": 0.0314}) for one in watch.windows)})
    checked = {unit.unit: unit for unit in check_move(question, replace(question, activity=after)).units}
    together = checked["events_100 and 99 older partitions"]
    assert together.moved
    assert (together.before_s, together.seen_s) == pytest.approx((0.03, 0.0006))
    unsteady = check_move(question, replace(question, activity=after.model_copy(update={"steadiness": Steadiness.DRIFTING})))
    assert (unsteady.steady, unsteady.moved) == (False, check_move(question, replace(question, activity=after)).moved)


def test_a_step_takes_as_long_as_its_bytes_are_read_and_written(tiers: Path) -> None:
    tiers.write_text(
        TIERS.replace("wal = true", "wal = true\ncopy_mb_s = [100, 90]").replace("[tiers.ssd]", "[tiers.ssd]\ncopy_mb_s = [500, 200]")
    )
    busy = relation(1, "busy", 0.05, gib=10, writes_per_s=Band(low=0, high=25))
    watch = activity(busy, relation(2, "busy_key", 0.03, kind="index", gib=1, owner=1))
    found = advised(watch.model_copy(update={"page_writes_per_s": 25.0, "buffer_bytes": 80 * MIB}), tiers)
    first, second = found.steps
    assert (first.unit, second.unit) == ("busy_key", "busy")
    logged, changed = GIB / 90e6, 10240 / 2 / 2
    built = 2 * 10 * GIB / 500e6 + GIB * (1 / 40e6 + 2 / 200e6 + 3 / 500e6)
    waited = 6 * 0.1 * (1 + 1 / 2 + 1 / 3 + 1 / 4)
    copied = 10 * GIB * (1 / 100e6 + 1 / 200e6)
    assert (first.duration_s, second.duration_s) == pytest.approx(
        (270 * 0.03 + logged + built + waited, 53 * 0.03 + 10 * logged + changed * 0.01 + copied)
    )
    text = shown(found.model_copy(update={"reads_left": 0.633}), TicketFormat.TABLE)
    assert "63 % of the page reads" in " ".join(text.split())
    assert not re.search(r"[a-z]\.[A-Z]", text), "each sentence ends before the next begins"
    assert "online ~1.8 min" in text
    assert "locked ~5.1 min" in text


def test_the_relation_with_most_gain_per_gib_comes_first_and_nothing_is_a_row(tiers: Path) -> None:
    found = advised(activity(relation(1, "large", 0.03, gib=100), relation(2, "busy", 0.045)), tiers)
    assert [step.unit for step in found.steps] == ["busy", "large"]
    assert found.moved == ["busy", "large"]
    first = found.steps[0]
    assert first.saved_s.low < 0.045 * 1.5
    assert first.stay_gain_s.low > 0, "the disk has fewer requests, so the other table gets faster"
    assert first.usd_a_month == pytest.approx(0.1)
    assert first.open_saved_s.low > first.closed_saved_s.low == first.saved_s.low, "a closed load refills the queue"
    for form in (TicketFormat.TABLE, TicketFormat.MARKDOWN):
        text = shown(found, form)
        assert "nothing" in text
        assert "+ busy" in text


def test_the_longest_answer_has_25_lines(tiers: Path) -> None:
    tiers.write_text(
        TIERS.replace("wal = true", "wal = true\ncopy_mb_s = [1, 1]").replace("[tiers.ssd]", "[tiers.ssd]\ncopy_mb_s = [1, 1]")
    )
    name = "a_relation_with_a_long_name_for_a_table_{}".format
    each = [relation(number, name(number), 0.004, scan_share=0.9) for number in range(1, 13)]
    each += [relation(20 + number, name(20 + number), 0.0015, kind="index", scans=0, droppable=True, all_scans=number) for number in (0, 1)]
    each += [relation(30, "unsized", 0.002, gib=None), relation(0, "write-ahead log", 0.02, kind="wal", gib=None)]
    watch = activity(*each).model_copy(update={"counted_days": 36.0, "transactions_per_s": Band(low=80, high=80)})
    found = advised(watch, tiers, latency_s=0.09)
    assert all([found.drop, found.look_at, found.unsized, found.log_as_reads, found.beyond, found.bound_s])
    for answer in (found, advised(watch, tiers, ssd_gib=0.1, latency_s=0.09)):
        lines = shown(answer, TicketFormat.TABLE).splitlines()
        assert len(lines) <= LINES
        assert max(map(len, lines)) <= WIDTH
        assert lines[-1].startswith("This advice is wrong")


def test_limits_of_space_money_and_time_bound_what_is_moved(tiers: Path) -> None:
    both = activity(relation(1, "large", 0.03, gib=100), relation(2, "busy", 0.045))
    assert advised(both, tiers, ssd_gib=2).moved == ["busy"]
    assert advised(both, tiers, budget=1).moved == ["busy"]
    assert advised(both, tiers, ssd_gib=0.5).moved == []
    first_is_large = activity(relation(1, "large", 0.06, gib=3), relation(2, "busy", 0.01))
    assert [advised(first_is_large, tiers, ssd_gib=gib).moved for gib in (2, 8)] == [["busy"], ["large", "busy"]]
    assert advised(both, tiers, latency_s=0.099).moved == ["busy"]
    slowest = both.model_copy(update={"percentile_99_s": Band(low=0.4, high=0.6)})
    bands = [advised(one, tiers, latency_s=0.099).percentile_99_s for one in (slowest, both)]
    assert (bands[0].high, bands[1].high) == pytest.approx((0.6, 100 * 0.05), rel=0.1)
    assert 0 < bands[0].low < 0.4, "what moves gets faster than what stays"


def test_a_gain_within_the_noise_is_not_advised(tiers: Path) -> None:
    noisy = activity(relation(1, "small", 0.002), spread=0.4)
    found = advised(noisy, tiers)
    assert found.moved == []
    assert "within noise" in shown(found, TicketFormat.TABLE)
    (step,) = found.steps
    assert step.saved_s.high > found.noise_s, "a small gain is as uncertain as the two means that it is the difference of"
    tiny = relation(2, "tiny", 0.0015, gib=0.001), relation(3, "busy", 0.06, gib=10)
    found = advised(activity(*tiny, spread=0.2), tiers)
    assert ([step.unit for step in found.steps], found.moved) == (["busy", "tiny"], ["busy"])
    assert [unit.moved for unit in found.units] == [True, False], "what stays is predicted where it stays"


def test_an_index_to_drop_never_moves(tiers: Path) -> None:
    index = relation(3, "unused", 0.03, kind="index", scans=0, droppable=True, all_scans=0)
    other = relation(4, "on_expression", 0.001, kind="index", scans=0)
    found = advised(activity(relation(1, "busy", 0.05), index, other).model_copy(update={"counted_days": 36.0}), tiers)
    assert (found.drop, found.look_at, found.moved) == (("unused",), ("on_expression",), ["busy"])


def test_a_toast_moves_with_its_table_and_the_log_alone_where_it_lies_on_the_slower_tier(tiers: Path) -> None:
    toasted = (
        relation(1, "wide", 0.01),
        relation(9, "pg_toast_1", 0.02, kind="toast", owner=1, schema_name="pg_toast"),
        relation(10, "pg_toast_1_index", 0.01, kind="index", owner=9, schema_name="pg_toast"),
    )
    log = relation(0, "write-ahead log", 0.02, kind="wal", gib=None)
    found = advised(activity(*toasted, log), tiers)
    sizes = {step.unit: step.size_bytes for step in found.steps}
    assert sizes == {"wide": 3 * GIB, "write-ahead log": GIB}
    tiers.write_text(TIERS.replace("wal = true\n", ""))
    assert "write-ahead log" not in {step.unit for step in advised(activity(*toasted, log), tiers).steps}


def test_what_is_no_placement_comes_with_the_advice(tiers: Path) -> None:
    unused = relation(3, "never_used", 0.01, kind="index", scans=0, droppable=True)
    found = advised(activity(relation(1, "scanned", 0.05, scan_share=0.9), unused, relation(4, "unsized", 0.01, gib=None)), tiers)
    assert (found.indexes_first, found.look_at, found.unsized) == (("scanned",), ("never_used",), ("unsized",))


def test_reads_of_the_slower_tier_take_the_waiting_that_a_watch_divided_evenly(tiers: Path) -> None:
    tiers.write_text(WITH_PLACE)
    loads = relation(1, "fast", 0.03, tablespace="fast"), relation(2, "slow", 0.03)
    watch = activity(*loads).model_copy(update={"unknown": ("tablespaces",)})
    units = Question(watch, read_server_tiers(tiers), Limits(), load_book(DAY)).every_unit
    waits = {unit.name: unit.waiting_s for unit in units}
    assert sum(waits.values()) == pytest.approx(0.06)
    assert waits["slow"] / waits["fast"] == pytest.approx(50), "10 ms against 0.2 ms"


@pytest.mark.parametrize(
    ("days", "scans", "replicas", "standby_scans", "dropped"),
    [
        (36, 0, 0, (), True),
        (34, 0, 0, (), False),
        (None, 0, 0, (), False),
        (36, 1, 0, (), False),
        (36, 0, 1, (), False),
        (36, 0, 1, (0,), True),
        (36, 0, 1, (5,), False),
    ],
)
def test_an_index_is_dropped_only_if_no_server_used_it_for_long(  # noqa: PLR0917
    tiers: Path, days: float | None, scans: int, replicas: int, standby_scans: tuple[int, ...], dropped: bool
) -> None:
    def server(all_scans: int) -> Activity:
        index = relation(3, "unused", 0.01, kind="index", scans=0, droppable=True, all_scans=all_scans)
        return activity(relation(1, "busy", 0.05), index).model_copy(update={"counted_days": days, "replicas": replicas})

    standbys = tuple(map(server, standby_scans))
    found = advise_server(Question(server(scans), read_server_tiers(tiers), Limits(), load_book(DAY), standbys))
    assert (found.drop, found.look_at) == ((("unused",), ()) if dropped else ((), ("unused",)))
    assert ("drop?" if dropped else "Look at") in shown(found, TicketFormat.TABLE)


@pytest.mark.parametrize(
    ("server", "words"), [({"service": "rds"}, "Amazon RDS has no tablespaces"), ({"superuser": False}, "only a superuser's watch does")]
)
def test_a_server_that_may_be_managed_gets_advice_on_its_volume_alone(tiers: Path, server: dict[str, object], words: str) -> None:
    found = advised(activity(relation(1, "busy", 0.05)).model_copy(update=server), tiers)
    assert (found.moved, found.steps) == ([], ())
    assert found.reads_per_s.high > found.reads_per_s.low
    assert words in shown(found, TicketFormat.MARKDOWN)


def test_temporary_files_need_the_space_of_a_window_and_move_once(tiers: Path, tmp_path: Path) -> None:
    tiers.write_text(WITH_PLACE)
    watch = activity(relation(0, "temporary files", 0.02, kind="temporary", gib=10))
    question = Question(watch, read_server_tiers(tiers), Limits(), load_book(DAY))
    found = advise_server(question)
    assert [(step.unit, step.size_bytes) for step in found.steps] == [("temporary files", GIB)], "ten windows wrote 10 GiB"
    write_plan(found, question, tmp_path / "plan")
    assert "GRANT CREATE ON TABLESPACE" in (tmp_path / "plan" / "plan.sh").read_text()
    tiers.write_text(WITH_PLACE.replace("[tiers.ssd]", "[tiers.ssd]\ntemporary = true"))
    assert advised(watch, tiers).steps == ()


def test_the_log_gets_faster_as_its_flushes_do_and_sessions_share_them(tiers: Path) -> None:
    watch = activity(relation(0, "write-ahead log", 0.04, kind="wal", gib=None))
    assert advised(watch, tiers).log_as_reads
    syncs = TIERS.replace("wal = true", "wal = true\nsync_ms = [[1, 8], [2, 8]]")
    tiers.write_text(syncs.replace("[tiers.ssd]", "[tiers.ssd]\nsync_ms = [[1, 2], [2, 2]]"))
    found = advised(watch, tiers)
    assert not found.log_as_reads
    assert found.steps[0].saved_s.middle == pytest.approx(0.03), "a flush takes a quarter of the time; more than one is never needed"


def test_reads_that_leave_the_logs_disk_make_its_flushes_faster(tiers: Path) -> None:
    log, rare = relation(0, "write-ahead log", 0.06, kind="wal", gib=None), relation(1, "rare", 0.02)
    gains = []
    for beside_reads in (8, 16):
        syncs = TIERS.replace("wal = true", f"wal = true\nsync_ms = [[1, 8], [4, {beside_reads}]]")
        tiers.write_text(syncs.replace("[tiers.ssd]", "[tiers.ssd]\nsync_ms = [[1, 2]]"))
        gains.append(saving(Question(activity(log, rare), read_server_tiers(tiers), Limits(), load_book(DAY)), ("rare",), 0.0).middle)
    assert gains[0] < 0.02 < gains[1], "a flush alone takes 8 ms in both, beside reads more in the second"


def test_several_watches_count_as_one_longer_watch() -> None:
    busy, place = relation(1, "busy", 0.05), {"tablespace": "elsewhere"}
    one = activity(busy, relation(0, "temporary files", 0.01, kind="temporary", gib=1))
    more = {"transactions_per_s": Band(low=120, high=120), "transaction_s": 0.2, "began": "later"}
    other = activity(relation(1, "busy", 0.13, reads_per_s=150.0), relation(2, "new", 0.04)).model_copy(update=more)
    both = joined([other, one])
    assert both.transaction_s == pytest.approx((0.1 + 3 * 0.2) / 4)
    waits = {load.name: (load.waiting_s, load.reads_per_s) for load in both.relations}
    assert waits["busy"] == pytest.approx(((0.05 + 3 * 0.13) / 4, 100))
    assert waits["new"] == pytest.approx((0.03, 25))
    assert (len(both.windows), both.watched_s, both.transactions_per_s.high) == (20, 1200, 80)
    assert both.percentile_99_s is None
    assert joined([one, other.model_copy(update={"steadiness": Steadiness.IDLE})]).steadiness is Steadiness.IDLE
    for wrong in ({"database": "other"}, {"relations": (busy.model_copy(update=place),)}):
        with pytest.raises(InputError, match="must be watches"):
            joined([one, other.model_copy(update=wrong)])


def test_a_watched_tablespace_that_no_tier_has_is_refused(tiers: Path) -> None:
    with pytest.raises(InputError, match=r"tiers\.hdd\.tablespaces .*'slow'"):
        advised(activity(relation(1, "busy", 0.05, tablespace="slow")), tiers)


@pytest.mark.parametrize("steady", [one for one in Steadiness if one is not Steadiness.STEADY])
def test_a_load_that_was_not_steady_gets_no_advice(tiers: Path, steady: Steadiness) -> None:
    with pytest.raises(InputError, match="Remedy: watch"):
        advised(activity(relation(1, "busy", 0.05), steady=steady), tiers)


@pytest.mark.parametrize(
    "text",
    [
        "[tiers.hdd]\ndevice = 'gp3'\n",
        TIERS.replace("[[1, 0.2]]", "[[0, 0.2]]"),
        TIERS.replace("read_ms = [[1, 0.2]]", ""),
        TIERS + "sync_ms = [[1, 1]]",
    ],
)
def test_a_file_of_tiers_that_says_too_little_is_refused(tiers: Path, text: str) -> None:
    tiers.write_text(text)
    with pytest.raises(InputError, match="tiers"):
        read_server_tiers(tiers)


@pytest.mark.parametrize("stated", [True, False])
def test_a_calibrated_disk_is_measured_and_belongs_to_one_machine(stated: bool, tiers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        Measured(operation="read", random=True, queue_depth=depth, block_bytes=8192, iops=depth / ms * 1e3, rate_mb_s=1, mean_ms=ms)
        for depth, ms in ((1, 10.0), (4, 28.0))
    ]
    disk = fitted("mine", points, source="direct reads", capacity_gib=100, date=DAY, host="abc")
    monkeypatch.setattr(server_tiers, "load_device", lambda _: disk)
    here = TIERS.replace("read_ms", "calibrated_on = 'abc'\nread_ms")
    tiers.write_text(here if stated else here.replace("read_ms = [[1, 10], [2, 18], [4, 30]]", 'device = "mine"'))
    found = read_server_tiers(tiers, host="abc")["hdd"]
    assert found.evidence == ("stated" if stated else "measured")
    assert [found.latency()(depth) for depth in (1.0, 4.0)] == pytest.approx([0.010, 0.030 if stated else 0.028])
    for other, rule in (("def", "machine, def"), ("", "watched from elsewhere")):
        with pytest.raises(InputError, match=rule):
            read_server_tiers(tiers, host=other)
    tiers.write_text(TIERS)
    with pytest.raises(InputError, match="calibrated_on"):
        read_server_tiers(tiers, host="abc")


@pytest.mark.alone
def test_the_command_reads_the_file_of_a_watch_and_refuses_an_idle_one(cluster18: Cluster, tiers: Path, tmp_path: Path) -> None:
    cluster18.start(STARTED)
    try:
        out = tmp_path / "idle.parquet"
        found = watched(cluster18, out, seconds=1.0)
    finally:
        cluster18.stop()
    assert read_answer(out) == found
    assert found.host == host.mark(), "the server runs here"
    tiers.write_text(TIERS.replace("read_ms", f"calibrated_on = '{host.mark()}'\nread_ms"))
    with pytest.raises(InputError, match="idle"):
        said("advise", "--activity", str(out), "--tiers", str(tiers))
    with pytest.raises(InputError, match="belong together"):
        said_as_json("advise", "--activity", str(out))
    with pytest.raises(InputError, match="activity file"):
        read_answer(tiers)
