"""The parts of the recorders without a server: the output of strace, data files, refused servers and options, and the histogram."""

import ctypes
import os
from pathlib import Path

import polars as pl
import pytest

from tierwise.core.errors import EvidenceError, InputError, MissingError
from tierwise.recorders import strace_reads, watching
from tierwise.recorders.reads import count_reads, data_files, find_server
from tierwise.recorders.selection import RECORDERS, choose
from tierwise.recorders.trace_command import as_text, trace
from tierwise.timings.reads import READS

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
    reads = list(strace_reads.parse(SAID.replace("/d/16384/5/100", str(file)), epoch_s=1_700_000_000.0))
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
