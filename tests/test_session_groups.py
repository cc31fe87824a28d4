"""The control groups of virtual sessions: their precedence, their processor time, and how many of their tasks run."""

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from random_readers import FILE_BYTES, need_groups, readers
from tierwise.core import control_groups, session_group
from tierwise.core.errors import TierwiseError
from tierwise.tiers.sessions import CgroupV2, ProcTasks, grouped, state_of, used_s_of


@need_groups
def test_virtual_sessions_go_before_what_else_runs() -> None:
    """Else the same work takes more processor time, which is part of what is counted."""
    outside = Path("/proc/self/cgroup").read_text()
    with session_group.session_group() as group:
        controls = [group.folders[-1] / name for name in session_group.PRECEDENCE]
        precedence = {control.name: int(control.read_text()) for control in controls if control.exists()}
        if not precedence:
            pytest.skip("no controller here gives precedence")
        assert precedence.items() <= session_group.PRECEDENCE.items()
        with group.entered():
            assert Path("/proc/self/cgroup").read_text() != outside
    assert Path("/proc/self/cgroup").read_text() == outside
    assert not any(folder.exists() for folder in group.folders)


@need_groups
def test_the_kernels_count_of_tasks_by_state_is_that_of_looking_at_each(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(FILE_BYTES))
    with session_group.session_group() as group, ExitStack() as ends:
        with group.entered():
            ends.enter_context(readers(path, 3))
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            time.sleep(0.5)
            sessions = grouped([str(folder) for folder in group.folders])
            assert sessions.running(thoroughly=True) == 1
            before_s = sessions.used_s()
            time.sleep(0.2)
            assert sessions.used_s() > before_s
            by_hand = ProcTasks(group.folders[0] / "tasks")
            assert by_hand.running() == 1
            busy.kill()
            busy.wait()
            assert sessions.running(thoroughly=True) == by_hand.running() == 0
            by_hand.close()
            sessions.close()
        finally:
            busy.kill()
            busy.wait()


def test_files_of_control_groups_are_read_as_the_kernel_writes_them() -> None:
    assert state_of(b"4711 (a (b) c) S 1 4711 4711 0 -1") == b"S"
    assert state_of(b"12 (postgres) R 1 2") == b"R"
    assert used_s_of(b"usage_usec 1234567\nuser_usec 1000000\nsystem_usec 234567\n") == pytest.approx(1.234567)
    with pytest.raises(TierwiseError, match="no usage_usec"):
        used_s_of(b"nr_periods 0\n")


@pytest.mark.skipif(
    os.geteuid() != 0 or not (control_groups.own_unified() / "cgroup.procs").exists(), reason="no control groups of version 2 here"
)
def test_a_group_of_version_2_is_looked_at_task_by_task(tmp_path: Path) -> None:
    folder = control_groups.make(control_groups.own_unified(), "test")
    if not (folder / "cpu.stat").exists():
        control_groups.remove(folder)
        pytest.skip("this kernel's control groups of version 2 tell no processor time")
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        control_groups.take_in(folder, busy.pid)
        sessions = CgroupV2(folder)
        assert sessions.running(thoroughly=True) == 1
        before_s = sessions.used_s()
        time.sleep(0.2)
        assert sessions.used_s() > before_s
        busy.kill()
        busy.wait()
        assert sessions.running(thoroughly=True) == 0
        sessions.close()
    finally:
        busy.kill()
        busy.wait()
        control_groups.remove(folder)
