"""Page sequences as they are recorded and kept: by strace, from an emulator's log, in trace files."""

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from tierwise.bench.accounting import TRACED, by_relation, with_traced_times
from tierwise.bench.recording import Span, Straced, awaited, with_host_time
from tierwise.core.errors import InputError, MissingError
from tierwise.core.units import GIB, PAGE_BYTES
from tierwise.core.vocabulary import Cache
from tierwise.recorders import strace
from tierwise.tiers.directory import Directory
from tierwise.timings.schema import RelationIo, Timing
from tierwise.timings.trial_files import TRACE, TRACES, TrialKey, read_trace, write_trace

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
