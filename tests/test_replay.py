"""A trace replayed by the device models, and recorded and kept: by strace, from an emulator's log, in trace files."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import polars as pl
import pytest

from checkout import Home
from emulation import emulated, need_fuse
from random_readers import read_at_random
from tierwise.bench.recording import TRACED, Span, Straced, awaited, by_relation, with_host_time, with_traced_times
from tierwise.core.errors import InputError, MissingError
from tierwise.core.units import GIB, MIB, PAGE_BYTES
from tierwise.core.vocabulary import Cache
from tierwise.devices.model import build
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import load_device
from tierwise.recorders import strace
from tierwise.simulate.replay import EXTENT_BYTES, Access, Trace, lay_out, replay
from tierwise.tiers.directory import Directory
from tierwise.timings.manifest import Manifest, StudyRecord
from tierwise.timings.parts import read_rows, without_real_time_rows
from tierwise.timings.schema import RelationIo, Timing
from tierwise.timings.trial_files import TRACE, TRACES, TrialKey, read_trace, write_trace

SSD_READ_S = 100e-6 + PAGE_BYTES / 100e6  # one read of the flash drive alone: latency, then the link


def ssd() -> DeviceModel:
    return build(load_device("mtron-3025"))


def reads(relation: str, pages: Sequence[int], *, think_s: float = 0.0, chained: bool = True) -> list[Access]:
    """One after the other (closed loop), or all from the beginning (open)."""
    return [
        Access(relation, page, PAGE_BYTES, Operation.READ, think_s, number - 1 if chained and number else None)
        for number, page in enumerate(pages)
    ]


def test_one_after_the_other_takes_the_devices_time_and_the_hosts() -> None:
    trace = Trace(reads("census", range(100), think_s=50e-6), tail_s=1e-3, tail_after=99)
    found = replay(trace, {"census": "ssd"}, {"ssd": ssd()}, lay_out({"census": 100 * PAGE_BYTES}))
    assert found.elapsed_s == pytest.approx(100 * (SSD_READ_S + 50e-6) + 1e-3)
    assert found.latencies_s == pytest.approx([SSD_READ_S] * 100)
    use = found.tiers["ssd"]
    assert (use.reads, use.read_bytes, use.writes) == (100, 100 * PAGE_BYTES, 0)
    assert use.service_s == pytest.approx(100 * SSD_READ_S)


def test_requests_of_the_beginning_share_channels_and_link() -> None:
    """Four channels find their blocks at once, and the link takes them one by one."""
    found = replay(Trace(reads("census", range(4), chained=False), 0.0, 3), {"census": "ssd"}, {"ssd": ssd()}, {"census": [0]})
    assert found.latencies_s == pytest.approx([100e-6 + number * PAGE_BYTES / 100e6 for number in (1, 2, 3, 4)])
    assert found.elapsed_s == pytest.approx(max(found.latencies_s))
    assert found.tiers["ssd"].service_s == pytest.approx(sum(found.latencies_s))


def test_a_request_waits_for_the_one_that_it_followed_not_for_the_one_before() -> None:
    """The second (a read-ahead) is under way while the third, which needed only the first, is issued."""
    read = Operation.READ
    accesses = [
        Access("t", 0, PAGE_BYTES, read, 0.0),
        Access("t", 1, 128 * PAGE_BYTES, read, 0.0, 0),
        Access("t", 9, PAGE_BYTES, read, 0.0, 0),
    ]
    found = replay(Trace(accesses, 0.0, 2), {"t": "a"}, {"a": ssd()}, {"t": [0]})
    whole_s = 100e-6 + 128 * PAGE_BYTES / 100e6
    assert found.latencies_s == pytest.approx([SSD_READ_S, whole_s, whole_s + PAGE_BYTES / 100e6])


def test_relations_lie_one_after_the_other_in_whole_extents_the_largest_first() -> None:
    laid = lay_out({"pob": MIB, "census": 2 * EXTENT_BYTES + 1, "empty": 0})
    assert laid == {"census": [0, EXTENT_BYTES, 2 * EXTENT_BYTES], "pob": [3 * EXTENT_BYTES], "empty": [4 * EXTENT_BYTES]}


@pytest.mark.parametrize("device", ["sata-7k2", "sata-7k2-x6", "mtron-3025"])
def test_an_emulated_tiers_own_log_gives_its_intended_times(device: str, tmp_path: Path) -> None:
    """The same model, seed, addresses and arrivals: open, each at the time at which it came."""
    with emulated(tmp_path, device) as tier:
        path = tier.directory / "data"
        path.write_bytes(bytes(64 * MIB))
        tier.empty_cache()
        tier.reset_io()
        tier.delays(True)
        read_at_random(path, 80)
        log = tier.requests()
    started_s = log["time_s"][0]
    extents = log.select("offset_bytes", pl.col("address_bytes") - pl.col("offset_bytes") % EXTENT_BYTES).rows()
    laid = [0] * (64 * MIB // EXTENT_BYTES)
    for offset, address in extents:
        laid[offset // EXTENT_BYTES] = address
    accesses = [
        Access("data", row["offset_bytes"] // PAGE_BYTES, row["size_bytes"], Operation.READ, row["time_s"] - started_s)
        for row in log.rows(named=True)
    ]
    model = build(load_device(device), seed=1, stretch=1.0)
    found = replay(Trace(accesses), {"data": "tier"}, {"tier": model}, {"data": laid}, started_s=started_s)
    assert sum(found.latencies_s) == pytest.approx(log["intended_s"].sum(), rel=0.01)
    assert found.latencies_s == pytest.approx(log["intended_s"].to_list(), rel=0.01, abs=2e-6)


@dataclass(frozen=True)
class Emulated:
    raw: Path
    manifest: Manifest
    rows: pl.DataFrame

    @property
    def study(self) -> StudyRecord:
        return next(record for record in self.manifest.studies if record.name == "index_placement")


@pytest.fixture(scope="module")
def run(smoke_home: Home, smoke: Manifest) -> Emulated:
    need_fuse()
    raw = smoke_home.folder / "raw"
    return Emulated(raw, smoke, without_real_time_rows(read_rows(raw / smoke.run_id)).filter(study="index_placement"))


def test_the_log_of_the_first_replicate_is_kept_and_accounts_for_the_whole_query(run: Emulated) -> None:
    assert run.study.facts["traces"] == {"recorded": 18, "missing": 0, "why": None}
    for trial in run.study.trials:
        trace = read_trace(run.raw / run.manifest.run_id, TrialKey("index_placement", "source-m", trial))
        assert trace is not None
        timed = run.rows.filter(trial=trial, replicate=0).sort("step")
        for row in timed.iter_rows(named=True):
            query = trace.filter(step=row["step"])
            if again := json.loads(row["proof"]).get("cpu_s"):  # hot: the time is that of more executions, which the log has not
                paces = [cpu_s / work_s for cpu_s, work_s in zip(again, json.loads(row["proof"])["reference_s"], strict=True)]
                assert row["cache"] == "hot"
                assert row["elapsed_s"] == pytest.approx(median(paces) * row["reference_s"])
            else:
                assert sum(query["think_s"]) < row["elapsed_s"], "beside the query's own work the kernel reads ahead"
                assert row["elapsed_s"] < (1 + 1e-4) * (sum(query["think_s"]) + sum(query["actual_s"].drop_nulls()))
            gathered = dict(query.filter(operation="read")["relation"].value_counts().rows())
            pages = {io["relation"]: io["reads"] for io in row["relation_io"] if io["reads"]}
            assert gathered.keys() == pages.keys()
            assert all(reads <= pages[relation] for relation, reads in gathered.items())


def test_predicted_times_are_near_the_emulated_ones(run: Emulated) -> None:
    """The required tenth is shown on `quick`, on a quiet machine; here a query has a few dozen reads, with their luck."""
    emulated = {(row["trial"], row["replicate"]): row for row in run.rows.filter(cache="cold").rows(named=True)}
    predictions = run.study.facts["predictions"]
    published = {trial for trial in run.study.trials if trial.endswith("variant=published")}
    assert {one["trial"] for one in predictions} == published, "variants have no trial with both on ssd"
    whole, devices = {}, {}
    for one in predictions:
        rows = [emulated[one["trial"], replicate] for replicate in one["replicates"]]
        if one["trial"] == one["reference"] or not rows:
            continue  # flagged executions predict nothing
        whole[one["trial"]] = median(reported / row["elapsed_s"] for reported, row in zip(one["predicted_s"], rows, strict=True)) - 1
        intended_s = [sum(io["intended_s"] for io in row["tier_io"]) for row in rows]
        devices[one["trial"]] = median(reported / gathered for reported, gathered in zip(one["devices_s"], intended_s, strict=True)) - 1
    assert len(whole) >= 6
    assert median(map(abs, devices.values())) < 0.15, devices
    assert median(map(abs, whole.values())) < 0.25, whole
    assert max(map(abs, whole.values())) < 0.80, whole


def test_a_cold_query_finds_nothing_in_the_drives_own_buffer(run: Emulated) -> None:
    """The first request to the disks waits for a platter, whatever was read before; from the drive's buffer it would take 0.08 ms."""
    for trial in run.study.trials:
        trace = read_trace(run.raw / run.manifest.run_id, TrialKey("index_placement", "source-m", trial))
        assert trace is not None
        cold = trace.filter(tier="hdd", step=0)
        if "heap-cached" in trial:
            cold = cold.filter(relation="pob")
            assert cold.is_empty() == ("index=ssd" in trial), trial
        else:
            assert cold.is_empty() == ("index=ssd/" in trial and "table=ssd" in trial), trial
        assert all(first_s > 0.12e-3 for first_s in cold["intended_s"].head(1)), trial


KEY = TrialKey("index_placement", "source-m", "index=ssd/io_mode=direct/start=FL/table=hdd")
SAID = r"""
pread64(5</w/hdd/PG_18/5/16400>, ""..., 8192, 16384) = 8192 <0.000061>
preadv(5</w/hdd/PG_18/5/16400.1>, [...], 2, 8192) = 16384
preadv2(6</w/h\303\251>, [...], 1, 24576, RWF_NOWAIT) = 4096
pread64(6</w/x>, ""..., 8192, 0) = -1 EIO (Input/output error)
pwrite64(7</w/y>, ""..., 8192, 0)      = 8192
fdatasync(7</w/y>)                      = 0 <1.500000>
strace: Process 7 detached
"""
READER = """
import os, sys
path = sys.argv[1]
print("ready", flush=True)
sys.stdin.readline()
file = os.open(path, os.O_RDONLY)
for page in (3, 0, 2):
    os.pread(file, 8192, page * 8192)
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def need_strace() -> None:
    if said := strace.obstacle():
        pytest.skip(said)


def test_calls_are_read_from_what_strace_prints() -> None:
    file = Path("/w/hdd/PG_18/5/16400")
    assert list(strace.parse(SAID)) == [
        ("read", file, 16384, 8192, 0.000061),
        ("read", Path(f"{file}.1"), 8192, 16384, None),
        ("read", Path("/w/hé"), 24576, 4096, None),
        ("write", Path("/w/y"), 0, 8192, None),
        ("flush", Path("/w/y"), 0, 0, 1.5),
    ]


def test_a_real_process_is_recorded_between_attach_and_detach_and_goes_on(need_strace: None, tmp_path: Path) -> None:
    path = tmp_path / "a <file> é"
    path.write_bytes(bytes(4 * PAGE_BYTES))
    with subprocess.Popen([sys.executable, "-c", READER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
        with strace.recorded(reader.pid) as transfers:
            reader.stdin.write("\n")
            reader.stdin.flush()
            assert reader.stdout.readline() == "done\n"
        reader.communicate("\n")
    assert reader.returncode == 0
    reads = [call for call in transfers if call.path == path]
    assert [call[:4] for call in reads] == [("read", path, page * PAGE_BYTES, PAGE_BYTES) for page in (3, 0, 2)]
    assert all(call.traced_s is not None and 0 <= call.traced_s < 10 for call in reads)


def test_without_strace_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match=r"strace is missing: it is not on PATH\. Remedy: apt-get install strace"):
        strace.require()
    assert strace.obstacle() == "strace is missing: it is not on PATH. Remedy: apt-get install strace"


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed (apt-get install strace)")
def test_a_process_that_may_not_be_looked_at_is_refused() -> None:
    message = pytest.raises(MissingError, match=r"permission to trace is missing: strace may not attach to a process \(.+\)")
    with message, strace.recorded(1 << 22):  # as good as not ours: there is none
        pass


def test_the_requests_of_a_relation_are_named_with_their_pages_over_all_segments(tmp_path: Path) -> None:
    tier = Directory("ssd", ".", work=tmp_path, owner=(os.getuid(), os.getgid()))
    tier.start()
    main = tier.directory.resolve() / "16400"
    for name in ("16400", "16400.1", "16400_vm", "16401"):
        (main.parent / name).write_bytes(bytes(3 * PAGE_BYTES))
    recorder = Straced({"ssd": tier})
    calls = [("16400", 8192), ("16400.1", 8192), ("16400_vm", 0), ("16401", 16384)]
    recorder._transfers = [strace.Transfer("read", main.parent / name, offset, PAGE_BYTES, 0.25) for name, offset in calls]
    recorder._transfers.append(strace.Transfer("read", tmp_path / "catalogue", 0, PAGE_BYTES))
    recorder.note(Span(Cache.COLD, 0.0, 1.0, 0.4), {"census": main})
    trace = recorder.observed().trace
    assert dict(trace.schema) == TRACE
    assert trace.select("operation", "relation", "page", "relation_pages", "after").rows() == [
        ("read", "census", 1, 6, None),
        ("read", "census", GIB // PAGE_BYTES + 1, 6, 0),
        ("read", "census_vm", 0, 0, 1),
        ("read", "16401", 2, 0, 2),
        ("end", None, None, None, 3),
    ]
    assert with_host_time(trace, recorder.spans[0])["think_s"].to_list() == pytest.approx([0.12] * 5)
    assert by_relation(trace, trace["traced_s"][:-1]) == {"census": 0.75, "16401": 0.25}, "a relation's forks belong to it"


def test_what_nothing_counts_gets_its_time_from_strace_or_says_why_not() -> None:
    counted = RelationIo("pob", "index", "hdd", 0, 2, 0.02, "the emulator's log")
    uncounted = RelationIo("census", "table", "ssd", 0, 1)
    timing = Timing({}, Cache.COLD, "q", datetime(2026, 1, 1, tzinfo=UTC), 1.0, relation_io=(counted, uncounted))
    requests = [{"operation": "read", "relation": name, "traced_s": 0.5} for name in ("census", "census_vm", "pob")]
    query = pl.DataFrame([*requests, {"operation": "end"}], schema=TRACE)
    (traced,) = with_traced_times([timing], [query], None)
    assert traced.relation_io[0] == counted
    assert (traced.relation_io[1].io_s, traced.relation_io[1].io_basis) == (1.0, TRACED)
    (untraced,) = with_traced_times([timing], None, "strace is missing")
    assert (untraced.relation_io[1].io_s, untraced.relation_io[1].io_basis) == (None, "strace is missing")


def test_a_request_follows_the_latest_completion_before_it() -> None:
    """The third comes while the second is under way: it follows the first."""
    requests = [(1.0, 2.0), (2.1, 9.0), (2.5, 4.0), (9.5, 10.0)]
    assert list(awaited(requests, 11.0)) == [(None, None), (0, 2.0), (0, 2.0), (1, 9.0), (3, 10.0)]


def test_a_trace_is_kept_whole_and_checked(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert read_trace(run, KEY) is None
    rows = pl.DataFrame([{"step": 0, "cache": "cold", "operation": "end", "think_s": 0.5}], schema=TRACE)
    write_trace(run, KEY, rows)
    found = read_trace(run, KEY)
    assert found is not None
    assert found.equals(rows)
    with pytest.raises(InputError, match=r"run/traces/index_placement/.*: columns is"):
        write_trace(run, KEY, rows.drop("page"))
    assert found.equals(rows)
    TRACES.path(run, KEY).write_bytes(b"PAR1 torn")
    with pytest.raises(InputError, match="must be a whole Parquet file"):
        read_trace(run, KEY)
