"""Where the time of several sessions goes: what is recorded is what they waited for, jump by jump, and sums to their time."""

import math
import re
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from emulation import tablespace
from random_readers import filled, need_groups, run, virtual_readers
from tierwise.bench.window import (
    CPU_BOUND,
    LOCK_BOUND,
    WAL_BOUND,
    Spent,
    bound_flags,
    hangs_on_the_log,
    processor_share,
    shares,
    spent_between,
)
from tierwise.core import session_group
from tierwise.core.errors import MissingError
from tierwise.core.units import MIB
from tierwise.core.vocabulary import ClockKind, IoMode
from tierwise.devices.model import build
from tierwise.devices.protocol import Operation
from tierwise.devices.slowed_device import BusyTime, SlowedDevice
from tierwise.devices.spec import load_device
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.settings import measuring_settings
from tierwise.postgres.wait_events import (
    CLIENT,
    EVENTS,
    KERNEL_LOCKS,
    OTHER_LOCKS,
    PROCESSOR,
    QUEUE,
    READS,
    ROW_LOCKS,
    WAL,
    WRITES,
    find_wait_events,
    resource,
)
from tierwise.tiers.daemon import Daemon
from tierwise.timings.schema import Parts

CLASSES = {"LWLOCK": 0x01, "LOCK": 0x03, "IPC": 0x08, "TIMEOUT": 0x09, "IO": 0x0A}


def numbers() -> dict[str, int]:
    headers = find_binaries().folder.parent / "include" / "server"
    text = (headers / "utils" / "wait_event_types.h").read_text()
    found: dict[str, int] = {}
    for body in re.findall(r"typedef enum\s*\{(.*?)\}", text, re.DOTALL):
        first, *others = (entry.strip() for entry in body.split(","))
        name, _, kind = first.partition(" = PG_WAIT_")
        if kind in CLASSES:
            found |= {event: CLASSES[kind] << 24 | number for number, event in enumerate((name, *others))}
    locks = (headers / "storage" / "lwlocklist.h").read_text()
    found |= {
        name: CLASSES["LWLOCK"] << 24 | int(number) for number, name in re.findall(r"^PG_LWLOCK\((\d+), (\w+)\)", locks, re.MULTILINE)
    }
    own = int(re.search(r"NUM_INDIVIDUAL_LWLOCKS\s+(\d+)", (headers / "storage" / "lwlocknames.h").read_text())[1])  # type: ignore[index]
    tranches = re.findall(r"^\s*(LWTRANCHE_\w+)", (headers / "storage" / "lwlock.h").read_text(), re.MULTILINE)
    found |= {name: CLASSES["LWLOCK"] << 24 | own + number for number, name in enumerate(tranches)}
    kinds = re.findall(r"^\s*(LOCKTAG_\w+),", (headers / "storage" / "lock.h").read_text(), re.MULTILINE)
    return found | {name: CLASSES["LOCK"] << 24 | number for number, name in enumerate(kinds)}


def test_the_numbers_of_wait_events_are_those_of_the_servers_headers() -> None:
    known = numbers()
    expected = {
        READS: ["AIO_IO_COMPLETION", "DATA_FILE_PREFETCH", "DATA_FILE_READ", "BUFFER_IO"],
        WRITES: [f"DATA_FILE_{what}" for what in ("EXTEND", "FLUSH", "IMMEDIATE_SYNC", "SYNC", "TRUNCATE", "WRITE")],
        WAL: ["WAL_INIT_SYNC", "WAL_INIT_WRITE", "WAL_SYNC", "WAL_WRITE"],
        OTHER_LOCKS: ["PROCARRAY_GROUP_UPDATE", "XACT_GROUP_UPDATE", "SPIN_DELAY"],
    }
    named = {known[f"WAIT_EVENT_{name}"]: kind for kind, names in expected.items() for name in names}
    named |= {known[name]: WAL for name in ("WALBufMapping", "WALWrite", "LWTRANCHE_WAL_INSERT")}
    named |= {known[name]: ROW_LOCKS for name in ("LOCKTAG_TUPLE", "LOCKTAG_TRANSACTION")}
    assert named == EVENTS


@pytest.mark.parametrize(
    ("event", "tier", "function", "expected"),
    [
        (0x0A000015, "hdd", "", f"{READS} hdd"),
        (0x0A000015, "", "folio_wait_bit_common", READS),
        (0x0A000018, "", "fuse_file_write_iter", KERNEL_LOCKS),
        (0, "", "fuse_file_llseek", KERNEL_LOCKS),
        (0, "", "0", QUEUE),
        (0, "", "seccomp_do_user_notification", WAL),
        (0x0A00004E, "wal", "", WAL),
        (0x03000001, "", "", OTHER_LOCKS),
        (0x01000045, "", "", OTHER_LOCKS),
        (0x06000000, "", "", CLIENT),
        (0, "", "do_poll", "unnamed 0x00000000 do_poll"),
        (0x0A000035, "hdd", "", "unnamed 0x0a000035 hdd"),
    ],
)
def test_a_session_waits_for_what_its_event_its_request_and_the_kernel_say(event: int, tier: str, function: str, expected: str) -> None:
    assert resource(event, tier, function) == expected


def test_a_drive_is_busy_while_it_has_a_request_and_a_saturated_one_until_now() -> None:
    """What counted up to the last idle moment gave 0 for an array that was never idle."""
    drives: list[BusyTime] = []
    model = SlowedDevice(build(load_device("sas-10k-raid10"), seed=1, drives=drives), drives)
    model.slow(0.0, 3.0)
    assert len(drives) == 4
    for tag in range(400):
        model.submit(1.0, tag, Operation.READ, tag * 10**8, 8192)
    model.advance(1.2)
    assert model.busy_s(1.2) == pytest.approx(0.2)
    ended_s = 1.2
    while (event_s := model.next_event_s()) < math.inf:
        ended_s = event_s
        model.advance(event_s)
    assert 0.9 * (ended_s - 1.0) < model.busy_s(ended_s + 100.0) <= ended_s - 1.0
    model.reset()
    assert model.busy_s(ended_s + 200.0) == 0.0


def test_a_write_that_was_reported_keeps_its_drives_busy_until_it_is_down() -> None:
    drives: list[BusyTime] = []
    model = build(load_device("sas-10k-raid10"), seed=1, drives=drives)
    model.submit(0.0, 1, Operation.WRITE, 10**9, 8192)
    (done,) = (reported for _ in range(20) if (reported := model.advance(model.next_event_s())))
    reported_s = done[0][1]
    assert reported_s < 1e-3
    while model.next_event_s() < math.inf:
        model.advance(model.next_event_s())
    assert max(drive.busy_s(10.0) for drive in drives) > 2e-3


def test_bounds_flag_a_window_and_one_that_was_not_recorded_has_no_shares() -> None:
    phases = [Spent(2.0, 4, {ROW_LOCKS: 1.0, WAL: 0.5}), Spent(3.0, 4, {ROW_LOCKS: 1.2, KERNEL_LOCKS: 0.3})]
    found = shares(phases)
    assert found == pytest.approx({ROW_LOCKS: 2.2 / 20, WAL: 0.5 / 20, KERNEL_LOCKS: 0.3 / 20})
    assert bound_flags(CPU_BOUND, found) == ["row-locks"]
    assert bound_flags(CPU_BOUND + 1e-9, {KERNEL_LOCKS: LOCK_BOUND + 1e-9, ROW_LOCKS: LOCK_BOUND}) == ["cpu", "kernel-locks"]
    assert not hangs_on_the_log({WAL: WAL_BOUND})
    assert hangs_on_the_log({WAL: WAL_BOUND + 1e-9})
    assert shares([*phases, Spent(1.0, why_not="another version")]) == {}
    assert Spent(1.0, why_not="another version").as_proof() == {"unrecorded": "another version", "utilisation": None}
    assert processor_share(Parts(ClockKind.VIRTUAL_SEVERAL, cpu_s=0.3), 1.2) == pytest.approx(0.25)


LOCKED = """
import os, sys
path, role = sys.argv[1:]
descriptor = os.open(path, os.O_RDWR)
end = os.fstat(descriptor).st_size
print("ready", flush=True)
sys.stdin.readline()
if role == "write":
    for turn in range(200):
        os.pwrite(descriptor, bytes(8192), end + turn * 8192)
while os.lseek(descriptor, 0, os.SEEK_END) < end + 200 * 8192:
    pass
print("done", flush=True)
sys.stdin.readline()
"""
PLACE = 4100  # where the first process of a test has its number in a file that stands for a server's shared memory


def record(daemon: Daemon, memory: Path, pids: list[int]) -> None:
    memory.write_bytes(bytes(3 * PLACE))
    daemon.record(memory, {pid: PLACE + 900 * number for number, pid in enumerate(pids)})


@need_groups
@pytest.mark.parametrize("count", [1, 4])
def test_the_recorded_time_of_sessions_is_all_of_their_time_and_the_drive_is_busy_while_they_wait(tmp_path: Path, count: int) -> None:
    with virtual_readers(tmp_path, "sata-7k2", count, rounds=50) as (tier, processes):
        record(tier.daemon, tmp_path / "memory", [process.pid for process in processes])
        tier.reset_io()
        begun = tier.daemon.time()
        run(processes)
        ended = tier.daemon.time()
        intended_s = tier.io()["data"].intended_s
    elapsed_s = ended.now_s - begun.now_s
    blocked_s = {(event, name, function): seconds for event, name, function, seconds in ended.blocked_s}
    assert ended.sessions == count
    assert ended.processor_s + math.fsum(blocked_s.values()) == pytest.approx(count * elapsed_s, rel=0.02)
    assert blocked_s[0, "tier", ""] == pytest.approx(intended_s, rel=0.05)
    busy_s, jumped_s = ended.busy_s["tier"] - begun.busy_s["tier"], ended.jumped_s - begun.jumped_s
    assert 0.98 * jumped_s <= busy_s <= 1.02 * (jumped_s + ended.processor_s), "it may also be busy while a session computes"


@need_groups
def test_who_waits_in_the_kernel_for_a_file_that_another_writes_is_seen_there(tmp_path: Path) -> None:
    with filled(tmp_path, "sata-7k2") as (tier, path), session_group.session_group() as group, ExitStack() as ends:
        processes = []
        for role in ("seek", "write"):  # who seeks computes until the other writes
            with group.entered():
                command = [sys.executable, "-c", LOCKED, str(path), role]
                processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            ends.callback(processes[-1].communicate, "\n")
            assert processes[-1].stdout is not None
            assert processes[-1].stdout.readline() == "ready\n"
        tier.daemon.count_several(group.folders, processors=2, origin_s=0.0)
        tier.delays(True)
        record(tier.daemon, tmp_path / "memory", [process.pid for process in processes])
        begun = tier.daemon.time()
        run(processes)
        spent = spent_between(begun, tier.daemon.time(), None)
        tier.delays(False)
        tier.daemon.wait_in_real_time()
    assert spent.seconds is not None
    locked_s, written_s, computed_s = (spent.seconds[name] for name in (KERNEL_LOCKS, "unnamed 0x00000000 tier", PROCESSOR))
    assert abs(locked_s - written_s) <= computed_s, "while the other writes, unless one of them still computes"
    assert locked_s > spent.elapsed_s / 2


@need_groups
def test_a_session_that_waits_for_a_row_does_so_as_long_as_its_holder_reads(workspace: Path, cluster18: Cluster) -> None:
    settings = measuring_settings(cluster18.binaries, io_mode=IoMode.DIRECT, shared_buffers_bytes=8 * MIB)
    table = "CREATE TABLE ondisk (id int, filler text) TABLESPACE disk"
    rows = "INSERT INTO ondisk SELECT n, repeat('x', 500) FROM generate_series(1, 10000) n"
    with (
        session_group.session_group() as group,
        tablespace(workspace, cluster18, "sata-7k2", table, rows, "VACUUM ondisk") as tier,
        ExitStack() as ends,
    ):
        with group.entered():
            cluster18.start(settings)
        control, holder, waiter = (ends.enter_context(cluster18.connect()) for _ in range(3))
        for session in (holder, waiter):
            session.execute("SELECT * FROM ondisk LIMIT 1")
        found = find_wait_events(control, cluster18.data)
        assert set(found.places) == {holder.info.backend_pid, waiter.info.backend_pid}
        tier.daemon.count_several(group.folders, processors=2, origin_s=0.0)
        tier.delays(True)
        with holder.transaction():
            holder.execute("UPDATE ondisk SET filler = 'y' WHERE ctid = '(0,1)'")
            waiting = threading.Thread(target=waiter.execute, args=("UPDATE ondisk SET filler = 'z' WHERE ctid = '(0,1)'",))
            waiting.start()
            while control.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone() != (1,):
                pass
            tier.daemon.record(found.memory, found.places)
            begun = tier.daemon.time()
            holder.execute("SELECT sum(length(filler)) FROM ondisk")
            spent = spent_between(begun, tier.daemon.time(), None)
        waiting.join()
        tier.delays(False)
        tier.daemon.wait_in_real_time()
    assert spent.seconds is not None
    assert shares([spent])[ROW_LOCKS] == pytest.approx(0.5, abs=0.02)
    assert spent.seconds[f"{READS} tier"] + spent.seconds[PROCESSOR] == pytest.approx(spent.elapsed_s, rel=0.05)


def test_a_server_of_another_version_is_not_recorded_and_says_so(cluster15: Cluster) -> None:
    cluster15.start({})
    with cluster15.connect() as session, pytest.raises(MissingError, match=r"the server is PostgreSQL 15\. Remedy: PostgreSQL 18"):
        find_wait_events(session, cluster15.data)
    cluster15.stop()
