"""What is read of virtual-time rows: a steady host's part, apart from the devices'; and which real-time rows say more of the machine."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from rows import make_manifest
from tierwise.analysis.views import connect
from tierwise.bench.stopwatch import disturbed
from tierwise.core.vocabulary import Cache, ClockKind, Evidence, IoMode
from tierwise.timings.parts import write_part
from tierwise.timings.schema import Origin, Parts, Timing, frame

RUN = "20260102-030405-smoke-abcdef"
CELL = {"query": "one"}


def written(
    raw: Path, parts: list[Parts], cell: dict[str, str] | None = None, *, trial: str = "query=one", cache: Cache = Cache.COLD
) -> Path:
    folder = raw / RUN
    folder.mkdir(parents=True, exist_ok=True)
    for replicate, part in enumerate(parts):
        key = trial if cell is None else f"clock=real/{trial}"
        origin = Origin(RUN, "any", "pair", Evidence.EMULATED, IoMode.DIRECT, key, replicate, replicate)
        elapsed_s = (part.cpu_s or 0.0) + (part.device_s or 0.0)
        row = Timing(cell or CELL, cache, "select", datetime(2026, 1, 2, tzinfo=UTC), elapsed_s, parts=part)
        rows = frame(origin, [row])
        make_manifest(rows, complete=False).save(folder)
        write_part(folder, rows)
    return raw


def virtual(device_s: float, cpu_s: float, reference_s: float = 1e-3) -> Parts:
    return Parts(ClockKind.VIRTUAL_ONE, cpu_s=cpu_s, device_s=device_s, wall_s=0.1, run_delay_s=0.0, steal_s=0.0, reference_s=reference_s)


def read(raw: Path) -> pl.DataFrame:
    return pl.DataFrame(connect(raw, RUN).sql("from timings order by replicate").to_arrow_table())


def test_a_virtual_row_has_its_own_devices_time_and_the_median_host(tmp_path: Path) -> None:
    rows = read(
        written(tmp_path, [virtual(1.0 + replicate / 100, host) for replicate, host in enumerate([0.010, 0.010, 0.011, 0.012, 0.040])])
    )
    assert rows["elapsed_s"].to_list() == pytest.approx([1.011, 1.021, 1.031, 1.041, 1.051])
    assert rows["cpu_s"].to_list() == [0.010, 0.010, 0.011, 0.012, 0.040], "what was measured stays beside it"
    assert rows["flags"].list.len().sum() == 0


def test_a_host_that_was_slow_by_its_reference_work_counts_at_its_usual_speed(tmp_path: Path) -> None:
    parts = [virtual(0.1, 0.010), virtual(0.1, 0.010), virtual(0.1, 0.020, 2e-3), virtual(0.1, 0.030, 3e-3), virtual(0.1, 0.010)]
    assert read(written(tmp_path, parts))["elapsed_s"].to_list() == pytest.approx([0.110] * 5)


def test_one_odd_reference_among_a_replicates_trials_changes_nothing(tmp_path: Path) -> None:
    odd = [virtual(0.1, 0.010, 9e-3 if replicate == 2 else 1e-3) for replicate in range(5)]
    for name in ("one", "two", "three"):
        written(tmp_path, odd if name == "one" else [virtual(0.1, 0.010)] * 5, trial=f"query={name}")
    rows = read(tmp_path)
    assert len(rows) == 15
    assert rows["elapsed_s"].to_list() == pytest.approx([0.110] * 15)


UNSTEADY = (0.010, 0.020, 0.015, 0.030, 0.025)


def test_a_hot_query_with_an_unsteady_host_gives_no_verdict(tmp_path: Path) -> None:
    hot = written(tmp_path, [virtual(0.0, host) for host in UNSTEADY], cache=Cache.HOT)
    assert read(hot)["flags"].to_list() == [["host"]] * 5


def test_a_hot_query_is_held_against_its_own_sessions_work(tmp_path: Path) -> None:
    hot = written(tmp_path, [virtual(0.0, pace * 0.002, pace * 1e-3) for pace in (1, 2, 1, 3, 1)], cache=Cache.HOT)
    assert read(hot)["elapsed_s"].to_list() == pytest.approx([0.002] * 5)
    assert read(hot)["flags"].list.len().sum() == 0


def test_an_unsteady_host_stays_in_the_rows_where_its_share_is_large(tmp_path: Path) -> None:
    """Intervals are to carry the host's unsteadiness; where its share is small the median stands for all."""
    large, small = (
        read(written(tmp_path / name, [virtual(device_s, host) for host in UNSTEADY])) for name, device_s in (("a", 0.1), ("b", 1.0))
    )
    assert large["elapsed_s"].to_list() == pytest.approx([0.1 + host for host in UNSTEADY])
    assert small["elapsed_s"].to_list() == pytest.approx([1.020] * 5)
    assert large["flags"].list.len().sum() == small["flags"].list.len().sum() == 0


def test_trials_repeated_in_real_time_are_kept_beside_the_rows(tmp_path: Path) -> None:
    written(tmp_path, [virtual(1.0, 0.01)])
    written(tmp_path, [Parts(cpu_s=0.01, device_s=1.1)], {**CELL, "clock": "real"})
    connection = connect(tmp_path, RUN)
    assert connection.sql("select trial from timings").fetchall() == [("query=one",)]
    assert connection.sql("select trial, device_s from real_time_checks").fetchall() == [("clock=real/query=one", 1.1)]


@pytest.mark.parametrize(
    ("elapsed_s", "model_s", "taken_s", "computed_s", "flags"),
    [
        pytest.param(1.609, 0.075, 0.177, 0.031, ("stalled",), id="a server that was not let run for 1.4 s"),
        pytest.param(0.127, 0.075, 0.111, 0.012, ("overshoot",), id="a daemon that was late by half of the service time"),
        pytest.param(0.089, 0.075, 0.077, 0.011, (), id="an undisturbed row of the same cell"),
    ],
)
def test_a_stalled_server_and_a_late_daemon_are_reported_apart(
    elapsed_s: float, model_s: float, taken_s: float, computed_s: float, flags: tuple[str, ...]
) -> None:
    """The first passed, the second did not, while what a row may add was a share of what it took."""
    assert disturbed(elapsed_s, model_s=model_s, taken_s=taken_s, computed_s=computed_s) == flags


def test_beside_a_real_disk_only_lateness_is_seen() -> None:
    assert disturbed(1.0, model_s=0.1, taken_s=0.11, computed_s=None) == ()
    assert disturbed(1.0, model_s=0.1, taken_s=0.25, computed_s=None) == ("overshoot",)


def test_a_row_that_was_not_reported_apart_keeps_the_time_that_it_has(tmp_path: Path) -> None:
    """A window of several sessions has no reference work, and its time is its own."""
    parts = [replace(virtual(0.5, 0.4), clock=ClockKind.VIRTUAL_SEVERAL, reference_s=None) for _ in range(2)]
    assert read(written(tmp_path, parts))["elapsed_s"].to_list() == pytest.approx([0.9, 0.9])
