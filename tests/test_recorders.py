"""Recorders of a server's reads, and `tierwise trace`: what they see, refuse and leave; the output of strace, files, the histogram."""

import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import polars as pl
import psutil
import pytest

from support import waited_for
from tierwise.core.errors import EvidenceError, InputError, MissingError
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.settings import Connection
from tierwise.recorders import bpftrace, strace, watching
from tierwise.recorders.reads import COUNTS, count_reads, data_files, find_server
from tierwise.recorders.selection import RECORDERS, choose
from tierwise.recorders.trace_command import as_text, trace
from tierwise.timings.reads import READS

SETTINGS = {
    "shared_buffers": "16MB",
    "max_connections": "20",
    "io_method": "worker",
    "autovacuum": "off",
    "max_parallel_workers_per_gather": "0",
}
LOAD = "SELECT count(note) FROM traced"
BY_ADDRESS = """
SELECT count(t.note)
FROM (SELECT random(0, 4500) AS page FROM generate_series(1, 300)) AS b,
    LATERAL (SELECT note FROM traced WHERE ctid = format('(%s,1)', b.page)::tid) AS t
"""
"""Page by page, which a session reads for itself under any io_method."""


@pytest.fixture(scope="module")
def server(cluster18: Cluster) -> Iterator[Cluster]:
    cluster18.start(SETTINGS)
    with cluster18.connect() as connection:
        connection.execute("CREATE TABLE traced AS SELECT i, repeat('x', 1000) AS note FROM generate_series(1, 32000) AS i")
        connection.execute("VACUUM (FREEZE) traced")
        connection.execute("CHECKPOINT")
    yield cluster18
    with cluster18.connect() as connection:
        connection.execute("DROP TABLE traced")
    cluster18.stop()


@pytest.fixture(params=list(RECORDERS))
def recorder(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if why := RECORDERS[name].obstacle():
        pytest.skip(why)
    return name


def tracers(of: int | None = None) -> set[int]:
    found = set()
    for process in psutil.Process(of).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if process.name() in {"bpftrace", "strace"}:
                found.add(process.pid)
    return found


def gone(pids: set[int], within_s: float = 20.0) -> bool:
    return waited_for(lambda: not any(psutil.pid_exists(pid) for pid in pids), within_s)


def tracing(server: Cluster, recorder: str, out: Path) -> subprocess.Popen[str]:
    """Start `tierwise trace`."""
    options = ["--cluster", str(server.data), "--seconds", "60", "--recorder", recorder, "--out", str(out)]
    return subprocess.Popen(
        [sys.executable, "-m", "tierwise", "trace", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_what_the_server_counts_is_what_was_recorded(server: Cluster, recorder: str) -> None:
    counted = "SELECT sum(reads)::bigint, (sum(read_bytes))::bigint FROM pg_stat_io WHERE object = 'relation'"
    with server.connect() as connection:
        node = connection.execute("SELECT pg_relation_filenode('traced')").fetchall()[0][0]

        def totals() -> tuple[int, int]:
            connection.execute("SELECT pg_stat_force_next_flush()")
            return tuple(connection.execute(counted).fetchall()[0])

        connection.execute(LOAD)
        totals()
        with RECORDERS[recorder].recorded(find_server(cluster=server.data), seconds=60) as recording:
            before = totals()
            for _ in range(3):
                connection.execute(LOAD)
            after = totals()
    reads = recording.reads
    assert dict(reads.schema) == READS
    assert len(reads) == pytest.approx(after[0] - before[0], rel=0.01), "reads"
    assert reads["size_bytes"].sum() == pytest.approx(after[1] - before[1], rel=0.01), "bytes"
    own = reads.filter(pl.col("relation").str.ends_with(f"/{node}"))
    assert len(own) > 20
    assert (own["size_bytes"] > 8192).any(), "combined pages are one read"
    assert own["page"].min() == 0
    assert (own["latency_s"] > 0).all()
    assert own["time_s"].is_sorted()


def test_reads_that_are_only_counted_are_all_of_them(server: Cluster) -> None:
    if why := RECORDERS["bpftrace"].obstacle():
        pytest.skip(why)
    with server.connect() as connection:
        connection.execute(LOAD)
        relation_reads(connection)
        with bpftrace.counting(find_server(cluster=server.data), seconds=60) as recording:
            held_bytes = sum(map(kernel_bytes, tracers()))
            begun = relation_reads(connection)
            connection.execute(LOAD)
            reads = relation_reads(connection) - begun
    assert reads > 100
    assert recording.counts["reads"].sum() == pytest.approx(reads, rel=0.01)
    assert dict(recording.counts.schema) == COUNTS
    assert recording.reads.is_empty()
    assert not recording.full
    assert 0 < held_bytes < 1 << 27, "memory is bounded"


def test_of_reads_that_come_too_quickly_some_are_looked_at_and_each_counts_for_more(server: Cluster) -> None:
    if why := RECORDERS["bpftrace"].obstacle():
        pytest.skip(why)
    with server.connect() as connection:
        connection.execute("SET max_parallel_workers_per_gather = 0")
        with bpftrace.counting(find_server(cluster=server.data), seconds=60) as recording:
            begun, until_s = relation_reads(connection), time.monotonic() + 3
            while time.monotonic() < until_s:
                connection.execute(BY_ADDRESS)
            reads = relation_reads(connection) - begun
    assert reads > 3 * 10 * bpftrace.ENOUGH_READS, "too slow a server for this test"
    assert recording.most_for_one > 1
    assert recording.counts["reads"].sum() == pytest.approx(reads, rel=0.1)


def relation_reads(connection: Connection) -> int:
    connection.execute("SELECT pg_stat_force_next_flush()")
    return int(connection.execute("SELECT sum(reads)::bigint FROM pg_stat_io WHERE object = 'relation'").fetchall()[0][0])


def kernel_bytes(pid: int) -> int:
    reported = []
    with suppress(OSError):
        reported = [info.read_text(encoding="ascii") for info in Path(f"/proc/{pid}/fdinfo").iterdir()]
    return sum(int(found[1]) for text in reported if (found := re.search(r"^memlock:\s*(\d+)", text, re.MULTILINE)))


def test_a_recorder_ends_by_itself(server: Cluster, recorder: str) -> None:
    with RECORDERS[recorder].recorded(find_server(cluster=server.data), seconds=1) as recording:
        ours = tracers()
        assert ours
        waited_for(recording.ended, within_s=20)
        assert gone(ours, within_s=1)


def test_more_reads_than_it_may_keep_are_left_out_and_reported(server: Cluster, recorder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr({bpftrace.NAME: bpftrace, strace.NAME: strace}[recorder], "MOST_READS", 50)
    with RECORDERS[recorder].recorded(find_server(cluster=server.data), seconds=60) as recording, server.connect() as connection:
        for _ in range(3):
            connection.execute(LOAD)
    assert recording.full
    assert 0 < len(recording.reads) <= 50 * strace.LINE_BYTES / 80  # a line of strace has 80 characters at least


def test_one_process_alone_is_recorded(server: Cluster, recorder: str) -> None:
    with server.connect() as one, server.connect() as other:
        pid = one.info.backend_pid
        with RECORDERS[recorder].recorded(find_server(pid=pid), seconds=60) as recording:
            other.execute(LOAD)
            one.execute(BY_ADDRESS)
        assert set(recording.reads["pid"]) == {pid}


def test_killed_at_any_moment_nothing_is_left_and_the_server_goes_on(server: Cluster, recorder: str, tmp_path: Path) -> None:
    with tracing(server, recorder, tmp_path / "reads.parquet") as killed:
        waited_for(lambda: tracers(killed.pid), within_s=30)
        time.sleep(1.0)
        ours = tracers(killed.pid)
        killed.kill()
    assert gone(ours), "with whoever started it"
    assert list(tmp_path.iterdir()) == []
    with server.connect() as connection:
        assert connection.execute(LOAD).fetchone() == (32000,)


def test_a_tracer_that_was_killed_is_reported_and_no_file_is_written(server: Cluster, recorder: str, tmp_path: Path) -> None:
    with tracing(server, recorder, tmp_path / "reads.parquet") as without:
        assert without.stderr is not None
        while without.stderr.readline() != "recording\n":
            assert without.poll() is None
        ours = tracers(without.pid)
        for pid in ours:
            os.kill(pid, signal.SIGKILL)
        _, said = without.communicate(timeout=60)
    assert ours
    assert without.returncode == 1
    assert "the tracing program was killed" in said
    assert list(tmp_path.iterdir()) == []
    with server.connect() as connection:
        assert connection.execute(LOAD).fetchone() == (32000,), "the server goes on"


def test_ended_by_a_signal_it_keeps_what_it_has(server: Cluster, recorder: str, tmp_path: Path) -> None:
    out = tmp_path / "reads.parquet"
    with tracing(server, recorder, out) as ended:
        assert ended.stderr is not None
        first = ended.stderr.readline()
        assert f"with {recorder} for 60 s" in first, "the overhead is reported before it starts"
        assert " as long" in first
        assert ended.stderr.readline() == "recording\n"
        with server.connect() as connection:
            for _ in range(3):
                connection.execute(LOAD)
        ended.send_signal(signal.SIGTERM)
        said, _ = ended.communicate(timeout=60)
    assert ended.returncode == 0
    assert "all: " in said
    assert len(pl.read_parquet(out)) > 100


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has no rights to give up")
def test_the_tracing_program_has_no_right_that_it_does_not_need(server: Cluster, recorder: str) -> None:
    needed = {"strace": {19}, "bpftrace": {21, 24}}[recorder]  # capabilities(7): CAP_SYS_PTRACE; CAP_SYS_ADMIN, CAP_SYS_RESOURCE
    with RECORDERS[recorder].recorded(find_server(cluster=server.data), seconds=60):
        (pid,) = tracers()
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        reported = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
        for kept in ("CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert {bit for bit in range(64) if int(reported[kept][0], 16) >> bit & 1} <= needed, kept
        assert reported["NoNewPrivs"] == ["1"]
        account = server.account.uid if recorder == "strace" else 0
        assert {int(uid) for uid in reported["Uid"]} == {account}


SAID = "\n".join(
    [
        '100 1700000000.000001 pread64(5</d/16384/5/100>, ""..., 8192, 16384) = 8192 <0.000100>',
        "100 1700000000.000200 pread64(5</d/16384/5/100>,  <unfinished ...>",
        '200 1700000000.000250 pread64(7</d/16384/5/100>, ""..., 8192, 0) = 8192 <0.000010>',
        '100 1700000000.000900 <... pread64 resumed>""..., 8192, 24576) = 8192 <0.000700>',
        '200 1700000000.001000 preadv(7</d/16384/5/100>, [{iov_base=""..., iov_len=8192}, ...], 2, 32768) = 16384 <0.000020>',
        '200 1700000000.001100 pread64(7</d/16384/5/100>, ""..., 8192, 999424) = 0 <0.000005>',
        '200 1700000000.001200 pread64(8</gone>, ""..., 8192, 0) = 8192 <0.000005>',
        "+++ exited with 0 +++",
    ]
)
IO_URING_SETUP = 425


def test_a_tracer_that_does_not_end_when_requested_is_reported_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "PATIENCE_S", 0.5)
    monkeypatch.setattr(watching, "AGAIN_S", 0.1)
    deaf = ["sh", "-c", "trap '' INT TERM; echo ready; while :; do sleep 0.1; done"]
    with pytest.raises(EvidenceError, match=r"did not end within 0.5 s: what it saw is lost"):  # noqa: PT012, SIM117
        with watching.watching(deaf) as watcher:
            watcher.wait_until_ready(b"ready", watcher.said)
            watcher.last_words()
    assert watcher.ended


def test_strace_output_of_several_processes_is_read_call_by_call(tmp_path: Path) -> None:
    file = tmp_path / "100"
    file.touch()
    reported = file.stat()
    reads = list(strace.parse_reads(SAID.replace("/d/16384/5/100", str(file)), epoch_s=1_700_000_000.0))
    place = (reported.st_dev, reported.st_ino)
    assert [(read[0], read[1], read[2:4], read[4], read[5]) for read in reads] == [
        (100_000, 100, place, 16384, 8192),
        (10_000, 200, place, 0, 8192),
        (700_000, 100, place, 24576, 8192),
        (20_000, 200, place, 32768, 16384),
    ]
    assert reads[2][6] == pytest.approx(900_000, abs=1000)


def test_files_are_known_by_tablespace_relation_and_segment(tmp_path: Path) -> None:
    for name in ("base/5/16390", "base/5/16390.1", "base/5/16390_vm", "base/5/pg_filenode.map", "global/1262", "pg_xact/0000"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    elsewhere = tmp_path / "elsewhere" / "PG_18_1" / "5"
    elsewhere.mkdir(parents=True)
    (elsewhere / "20000").touch()
    (tmp_path / "pg_tblspc").mkdir()
    (tmp_path / "pg_tblspc" / "16400").symlink_to(tmp_path / "elsewhere")
    found = sorted(data_files(tmp_path).select("tablespace", "relation", "first_page").iter_rows())
    assert found == [
        ("16400", "5/20000", 0),
        ("base", "5/16390", 0),
        ("base", "5/16390", 131_072),
        ("base", "5/16390_vm", 0),
        ("global", "0/1262", 0),
        ("pg_xact", "0000", 0),
    ]


def test_a_server_that_is_none_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--cluster is '.+': no server runs in this data folder\. Remedy: .*SHOW data_directory"):
        find_server(cluster=tmp_path)
    with pytest.raises(InputError, match=r"is not a process of a PostgreSQL server\. Remedy: .*pg_stat_activity"):
        find_server(pid=os.getpid())
    with pytest.raises(InputError, match=r"Remedy: give --cluster DIR or --pid N"):
        find_server()


def test_a_server_that_reads_by_io_uring_is_refused_with_the_remedy(tmp_path: Path) -> None:
    ring = ctypes.CDLL(None).syscall(IO_URING_SETUP, 1, ctypes.byref(ctypes.create_string_buffer(120)))  # struct io_uring_params
    if ring < 0:
        pytest.skip("this kernel, or its owner, permits no io_uring")
    try:
        as_server(tmp_path, version="18")
        with pytest.raises(InputError, match=r"io_method is 'io_uring': .*Remedy: .*io_method=worker"):
            find_server(cluster=tmp_path)
    finally:
        os.close(ring)
    assert find_server(cluster=tmp_path).postmaster == os.getpid()


def as_server(folder: Path, *, version: str) -> None:
    (folder / "PG_VERSION").write_text(f"{version}\n", encoding="ascii")
    (folder / "postmaster.pid").write_text(f"{os.getpid()}\n{folder}\n", encoding="ascii")


@pytest.mark.parametrize("seconds", [0.0, -1.0, 3601.0, float("nan")])
def test_a_time_without_bounds_is_refused(seconds: float) -> None:
    with pytest.raises(InputError, match=r"--seconds is .*: must be more than 0 and at most 3600"):
        trace(cluster=None, pid=os.getpid(), seconds=seconds, out=None)


def test_an_unknown_recorder_and_one_that_is_not_there_are_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--recorder is 'dtrace': must be auto, bpftrace or strace"):
        choose("dtrace")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert RECORDERS["bpftrace"].obstacle() == "bpftrace is missing: it is not on PATH. Remedy: apt-get install bpftrace"
    with pytest.raises(MissingError, match=r"bpftrace: bpftrace is missing.*; strace: strace is missing"):
        choose("auto")


def test_a_histogram_is_printed_for_all_and_for_each_tablespace() -> None:
    row = {"time_s": 0.0, "pid": 1, "relation": "5/1", "page": 0, "size_bytes": 8192, "recorder": "x"}
    spaces = [("a", 20e-6), ("a", 300e-6), ("b", 300e-6)]
    counts = count_reads(pl.DataFrame([{**row, "tablespace": space, "latency_s": latency_s} for space, latency_s in spaces], schema=READS))
    lines = as_text(counts).splitlines()
    assert lines[0] == "all: 3 reads, 50 % below 524 us, 95 % below 524 us, 99 % below 524 us"
    assert "a: 2 reads, 50 % below 33 us, 95 % below 524 us, 99 % below 524 us" in lines
    assert [line.split() for line in lines if line.endswith(" 2")] == [["262", "@" * 27, "2"]]
    assert [line.split(":")[0] for line in lines if ": " in line] == ["all", "a", "b"]
    assert as_text(counts.clear()) == "no read was seen: the server requested nothing from the storage"
