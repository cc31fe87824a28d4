"""``tierwise move-plan``: copy times, break-even, verdict, errors, and the plan against ``SET TABLESPACE`` of a real server."""

import re
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from advice_run import counts_run, survey_run, transactions_run
from emulation import emulated, new_folder
from support import said, said_as_json
from tierwise.advisor.copying import REQUEST_BYTES, SAMPLE_REQUESTS, copy_s
from tierwise.advisor.moving import MovePlan, Times, move_of, plan_move
from tierwise.advisor.service import Build
from tierwise.advisor.workload import read_workload
from tierwise.analysis.rules import Verdict
from tierwise.core.errors import InputError
from tierwise.core.text_template import render
from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.core.vocabulary import Evidence, Way
from tierwise.devices.model import build
from tierwise.devices.spec import load_device
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.relations import create_tablespace, move
from tierwise.tiers.emulated import Emulated


def device(name: str) -> Build:
    return partial(build, load_device(name), seed=1)


def plan(
    *, move: Mapping[int, float], slow: Mapping[int, float], fast: Mapping[int, float], jobs: int = 1, job: Evidence = Evidence.SIMULATED
) -> MovePlan:
    half = Times({replicate: time_s / 2 for replicate, time_s in move.items()}, Evidence.SIMULATED)
    return plan_move(
        {"t": MIB}, devices=("disk", "flash"), there=half, back=half, slow_job=Times(slow, job), fast_job=Times(fast, job), jobs=jobs
    )


run = partial(said, "move-plan")
requested = partial(said_as_json, "move-plan")


@pytest.fixture
def counts(raw: Path) -> Path:
    return counts_run(raw)


def test_at_bandwidth_a_copy_is_as_quick_as_the_slower_end() -> None:
    """The drive's own rates: 500 MB/s for reads, 365 MB/s for writes."""
    flash, slower = device("intel-s3700"), device("mtron-3025")
    size_bytes = 64 * MIB
    assert copy_s(size_bytes, flash, flash, Way.BANDWIDTH) == pytest.approx(size_bytes / 365e6, rel=0.25)
    assert copy_s(size_bytes, slower, flash, Way.BANDWIDTH) == pytest.approx(size_bytes / 100e6, rel=0.25)
    assert copy_s(size_bytes, flash, slower, Way.BANDWIDTH) == pytest.approx(size_bytes / 80e6, rel=0.25)


def test_page_by_page_reading_and_writing_add_up() -> None:
    """64 pages from a drive that takes (0.1 ms + 8 KiB at 100 MB/s) a page to itself, at (0.2 ms + 8 KiB at 80 MB/s), and a flush."""
    flash = device("mtron-3025")
    a_page_s = 0.1e-3 + PAGE_BYTES / 100e6 + 0.2e-3 + PAGE_BYTES / 80e6
    assert copy_s(64 * PAGE_BYTES, flash, flash) == pytest.approx(64 * a_page_s + 0.2e-3, rel=0.15)


@pytest.mark.parametrize("ends", [("sata-7k2-x6", "mtron-3025"), ("mtron-3025", "sata-7k2-x6"), ("hdd-1tb-raid5-x7", "crucial-h")])
def test_the_server_s_way_is_never_quicker_and_more_takes_longer(ends: tuple[str, str]) -> None:
    source, target = map(device, ends)
    times = [copy_s(size_mib * MIB, source, target) for size_mib in (1, 4, 16)]
    assert times == sorted(times)
    assert copy_s(16 * MIB, source, target, Way.BANDWIDTH) < times[-1]
    assert copy_s(0, source, target) == 0.0


def test_what_is_not_simulated_goes_on_at_the_same_pace() -> None:
    flash = device("intel-s3700")
    limit = SAMPLE_REQUESTS * REQUEST_BYTES
    whole, triple = (copy_s(factor * limit, flash, flash, Way.BANDWIDTH) for factor in (1, 3))
    assert triple == pytest.approx(3 * whole, rel=0.02)


def test_the_break_even_is_the_move_over_what_a_job_saves() -> None:
    found = plan(move={0: 30.0}, slow={0: 20.0}, fast={0: 5.0})
    assert found.break_even_jobs == pytest.approx(2.0)
    assert found.saved_s == pytest.approx(15.0)
    assert found.whole_jobs == 2
    assert (found.low, found.pays) == (None, Verdict.UNDECIDED)
    assert found.reason == render("advisor/words.toml:reasons.few", repeats=1)


@pytest.mark.parametrize(
    ("move_s", "jobs", "verdict"),
    [(5.0, 1, Verdict.CONFIRMED), (30.0, 1, Verdict.CONTRADICTED), (30.0, 3, Verdict.CONFIRMED), (15.0, 1, Verdict.UNDECIDED)],
)
def test_the_verdict_holds_the_whole_interval_against_the_jobs(move_s: float, jobs: int, verdict: Verdict) -> None:
    slow = {replicate: 20.0 + replicate / 10 - 0.2 for replicate in range(5)}
    found = plan(move=dict.fromkeys(range(5), move_s), slow=slow, fast=dict.fromkeys(range(5), 5.0), jobs=jobs)
    assert found.pays is verdict
    assert found.pairs == 5
    assert found.low is not None
    assert found.high is not None
    assert found.break_even_jobs is not None
    assert found.low < found.break_even_jobs < found.high


def test_where_a_job_saves_nothing_the_move_never_pays() -> None:
    found = plan(move={0: 10.0}, slow=dict.fromkeys(range(5), 5.0), fast=dict.fromkeys(range(5), 5.1))
    assert found.break_even_jobs is None
    assert found.pays is Verdict.CONTRADICTED
    some = plan(move={0: 10.0}, slow={**dict.fromkeys(range(5), 5.0), 1: 6.0}, fast={**dict.fromkeys(range(5), 5.1), 1: 5.0})
    reason = render("advisor/words.toml:reasons.saves_sometimes")
    assert (some.break_even_jobs, some.pays, some.reason) == (None, Verdict.UNDECIDED, reason)


def test_times_of_two_kinds_of_evidence_give_an_interval_and_no_verdict() -> None:
    slow = {replicate: 20.0 + replicate / 10 for replicate in range(5)}
    found = plan(move={0: 10.0}, slow=slow, fast=dict.fromkeys(range(5), 5.0), job=Evidence.EMULATED)
    assert found.pays is Verdict.MIXED
    assert found.low is not None


def test_what_slowed_tiers_took_is_not_held_against_copies_of_tiers_as_they_are(tmp_path: Path) -> None:
    found = move_of(read_workload(transactions_run(tmp_path, slowdown=8.0).parent))
    assert found.job_evidence is Evidence.SIMULATED
    assert any("the run's tiers were slowed" in remark for remark in found.remarks)


def test_measured_placements_are_taken_where_the_run_has_them(counts: Path) -> None:
    workload = read_workload(counts.parent)
    both, index = move_of(workload), move_of(workload, ["pob"])
    assert (both.job_evidence, both.move_evidence, both.pairs) == (Evidence.EMULATED, Evidence.SIMULATED, 5)
    assert both.pays is Verdict.MIXED
    measured = [workload.measured[name].estimate.value for name in ("all hdd", "indexes ssd")]
    assert [index.slow_job_s, index.fast_job_s] == pytest.approx(measured)


def test_a_survey_s_detections_are_moved_for_joins(raw: Path) -> None:
    survey_run(raw)
    found = requested("--study", "survey_placement", "--workload", "joins", "--relation", "detection", "--jobs", "1000")
    assert (found["source"], found["target"]) == ("hdd-1tb-raid5-x7", "crucial-h-raid5-x6")
    assert found["slow_job_s"] == pytest.approx(1271 + 39, rel=0.05)
    assert found["fast_job_s"] == pytest.approx(130 + 34, rel=0.05)
    assert found["break_even_jobs"] == pytest.approx((found["there_s"] + found["back_s"]) / found["saved_s"], rel=0.05)


def test_what_was_not_measured_is_predicted_and_then_has_a_verdict(counts: Path) -> None:
    workload = read_workload(counts.parent)
    for found in (move_of(workload, ["census"]), move_of(workload, devices={"ssd": "intel-s3700"})):
        assert found.job_evidence is Evidence.SIMULATED
        assert found.pays in {Verdict.CONFIRMED, Verdict.CONTRADICTED, Verdict.UNDECIDED}
        assert found.pairs == 5
        assert any("predicted" in remark for remark in found.remarks)


def test_the_command_tells_both_ways_of_copying(counts: Path) -> None:
    page_by_page, at_bandwidth = (requested("--relation", "pob", "--way", way) for way in ("server", "bandwidth"))
    assert at_bandwidth["there_s"] < page_by_page["there_s"]
    assert page_by_page["relations"] == {"pob": 5_400_000}
    shown = run("--relation", "pob", "--jobs", "10")
    assert {"simulated", "emulated", "10", "pob"} <= set(re.findall(r"\w+", shown))


def test_a_job_s_times_are_given(counts: Path) -> None:
    found = requested("--before-s", "100", "--after-s", "10")
    assert found["break_even_jobs"] == pytest.approx((found["there_s"] + found["back_s"]) / 90, rel=0.01)
    assert found["pays"] == "no verdict: mixed kinds of evidence"


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        (("--relation", "nope"), "--relation is 'nope': run 20260102-030405-quick-abcdef has no such table or index. Remedy"),
        (("--jobs", "0"), "--jobs is 0: must be at least 1"),
        (("--before-s", "3"), "--before-s, --after-s: give both"),
        (("--before-s", "3", "--after-s", "0"), "--before-s, --after-s is 0.0: must be above zero"),
        (("--hdd", "floppy"), "data/devices/floppy.toml: no such file"),
    ],
)
def test_what_cannot_be_is_refused(counts: Path, options: tuple[str, ...], reported: str) -> None:
    with pytest.raises(InputError) as caught:
        run(*options)
    assert reported in str(caught.value)


DEVICES: Final = {"disks": "sata-7k2-x6", "flash": "mtron-3025"}
DIRECT: Final = {
    "debug_io_direct": "data",
    "io_method": "sync",
    "shared_buffers": "8MB",
    "autovacuum": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",  # a relation that is copied is not logged
}
TOLERANCE: Final = 0.25
"""The share of the devices' time by which a plan may be wrong.

It leaves out the free space map, where the platters stand, and how long the host thinks between requests.
"""


@pytest.fixture
def tiers(workspace: Path, cluster18: Cluster) -> Iterator[dict[str, Emulated]]:
    owner = cluster18.account.ids
    with (
        emulated(new_folder(workspace), DEVICES["disks"], owner=owner) as disks,
        emulated(new_folder(workspace), DEVICES["flash"], owner=owner) as flash,
    ):
        mounted = {"disks": disks, "flash": flash}
        cluster18.start(DIRECT)
        try:
            with cluster18.connect() as session:
                for name, tier in mounted.items():
                    create_tablespace(session, name, tier.directory)
                session.execute("CREATE TABLE moved (a bigint, b bigint, c bigint, d bigint) TABLESPACE disks")  # nothing to toast
                session.execute("INSERT INTO moved SELECT n, n, n, n FROM generate_series(1, 80000) n")
                session.execute("CHECKPOINT")
                yield mounted
                session.execute("DROP TABLE moved")
                for name in mounted:
                    session.execute(f'DROP TABLESPACE "{name}"')
        finally:
            cluster18.stop()


def test_alter_table_takes_the_devices_as_long_as_planned_there_and_back(tiers: dict[str, Emulated], cluster18: Cluster) -> None:
    with cluster18.connect() as session:
        ((size_bytes,),) = session.execute("SELECT pg_relation_size('moved')").fetchall()
        assert size_bytes > 500 * PAGE_BYTES
        for source, target in (("disks", "flash"), ("flash", "disks")):
            for tier in tiers.values():
                tier.empty_cache()
                tier.delays(True)
                tier.reset_io()
            started_s = time.monotonic()
            move(session, "moved", target)
            elapsed_s = time.monotonic() - started_s
            counted = {name: list(tier.io().values()) for name, tier in tiers.items()}
            for tier in tiers.values():
                tier.delays(False)
            assert sum(io.read_bytes for io in counted[source]) >= size_bytes
            assert sum(io.write_bytes for io in counted[target]) >= size_bytes
            emulated_s = sum(io.intended_s for files in counted.values() for io in files)
            ends = [partial(build, load_device(DEVICES[name]), seed=1) for name in (source, target)]
            planned_s = copy_s(size_bytes, ends[0], ends[1])
            assert planned_s == pytest.approx(emulated_s, rel=TOLERANCE), f"{source} to {target}"
            assert elapsed_s > 0.9 * emulated_s, "the server waited for what the devices took"
