"""Groups of processes by the kernel: sessions that are counted, and memory that is limited."""

import os
import re
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from random_readers import FILE_BYTES, need_groups, readers
from support import BUSY, beside
from tierwise.core import control_groups, memory_group, session_group
from tierwise.core.errors import MissingError, TierwiseError
from tierwise.core.units import MIB
from tierwise.tiers.sessions import CgroupV2, Grouped, ProcTasks, grouped, state_of, used_s_of


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
            busy = ends.enter_context(beside(*BUSY))
        time.sleep(0.5)
        sessions = grouped([str(folder) for folder in group.folders])
        one_runs(sessions)
        by_hand = ProcTasks(group.folders[0] / "tasks")
        assert by_hand.running() == 1
        busy.kill()
        busy.wait()
        assert sessions.running(thoroughly=True) == by_hand.running() == 0
        by_hand.close()
        sessions.close()


def one_runs(sessions: Grouped) -> None:
    assert sessions.running(thoroughly=True) == 1
    before_s = sessions.used_s()
    time.sleep(0.2)
    assert sessions.used_s() > before_s


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
    with ExitStack() as ends:
        ends.callback(control_groups.remove, folder)
        busy = ends.enter_context(beside(*BUSY))
        control_groups.take_in(folder, busy.pid)
        sessions = CgroupV2(folder)
        one_runs(sessions)
        busy.kill()
        busy.wait()
        assert sessions.running(thoroughly=True) == 0
        sessions.close()


SESSION = "user.slice/session.scope"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(control_groups, "ROOT", tmp_path / "cgroup")
    monkeypatch.setattr(control_groups, "OWN", tmp_path / "own")
    (tmp_path / "cgroup" / SESSION).mkdir(parents=True)
    return tmp_path


def belonging(machine: Path, *lines: str) -> None:
    (machine / "own").write_text("\n".join(lines) + "\n", encoding="ascii")


def hands_on(machine: Path, folder: str, controllers: str) -> None:
    (machine / "cgroup" / folder / "cgroup.subtree_control").write_text(f"{controllers}\n", encoding="ascii")


def emptied(group: memory_group.MemoryGroup) -> None:
    for path in group.folder.iterdir():
        path.unlink()


def test_version_2_makes_the_group_where_memory_is_handed_on_and_writes_its_files(machine: Path) -> None:
    belonging(machine, f"0::/{SESSION}")
    hands_on(machine, "user.slice", "cpu memory pids")
    hands_on(machine, SESSION, "cpu")
    assert memory_group.obstacle() is None
    with memory_group.memory_group("server") as group:
        assert (group.folder.parent, group.version) == (machine / "cgroup" / "user.slice", 2)
        assert re.fullmatch(rf"tierwise-server-\d+-{os.getpid()}", group.folder.name)
        group.limit(64 * MIB)
        group.take_in(4711)
        (group.folder / "memory.current").write_text("5000\n", encoding="ascii")
        (group.folder / "memory.stat").write_text("anon 1000\nfile 4000\nkernel 0\n", encoding="ascii")
        assert group.used_bytes() == (5000, 4000)
        assert (group.folder / "memory.max").read_text(encoding="ascii") == f"{64 * MIB}\n"
        assert (group.folder / "cgroup.procs").read_text(encoding="ascii") == "4711\n"
        emptied(group)
    assert not group.folder.exists()


@pytest.mark.parametrize("controllers", ["", "cpu pids"])
def test_version_2_where_nobody_hands_memory_on_makes_none_and_says_so(machine: Path, controllers: str) -> None:
    """Most containers are like this: the group can be made, but it would limit nothing."""
    belonging(machine, f"0::/{SESSION}")
    hands_on(machine, "", controllers)
    assert "hands memory on" in str(memory_group.obstacle())
    with pytest.raises(MissingError, match="hands memory on"), memory_group.memory_group("server"):
        pass
    assert not list((machine / "cgroup").rglob("tierwise-*"))


def test_version_1_makes_the_group_in_ones_own_and_writes_its_files(machine: Path) -> None:
    belonging(machine, "5:cpu,cpuacct:/", "4:memory:/job", "0::/")
    (machine / "cgroup" / "memory" / "job").mkdir(parents=True)
    with memory_group.memory_group("server") as group:
        assert (group.folder.parent, group.version) == (machine / "cgroup" / "memory" / "job", 1)
        assert re.fullmatch(rf"tierwise-server-\d+-{os.getpid()}", group.folder.name)
        group.limit(MIB)
        (group.folder / "memory.usage_in_bytes").write_text("70\n", encoding="ascii")
        (group.folder / "memory.stat").write_text("cache 60\nrss 10\n", encoding="ascii")
        assert group.used_bytes() == (70, 60)
        assert (group.folder / "memory.limit_in_bytes").read_text(encoding="ascii") == f"{MIB}\n"
        emptied(group)


def test_version_1_in_a_container_whose_own_group_is_not_mounted_takes_the_root(machine: Path) -> None:
    belonging(machine, "4:memory:/docker/0123", "0::/docker/0123")
    (machine / "cgroup" / "memory").mkdir()
    with memory_group.memory_group("server") as group:
        assert group.folder.parent == machine / "cgroup" / "memory"


@pytest.mark.parametrize(
    ("lines", "parent"),
    [
        (("4:memory:/", "3:cpu,cpuacct:/"), "memory"),
        (("4:memory:/", "3:cpu,cpuacct:/"), "cpuacct"),
        ((f"0::/{SESSION}",), SESSION),
        ((f"0::/{SESSION}",), "user.slice"),
    ],
    ids=["version 1, memory", "version 1, processors", "version 2, its own", "version 2, where memory is handed on"],
)
def test_groups_of_killed_runs_are_removed_and_those_of_living_ones_stay(machine: Path, lines: tuple[str, ...], parent: str) -> None:
    belonging(machine, *lines)
    names = ("tierwise-server-0-999999999", f"tierwise-other-0-{os.getppid()}", "someone-elses-1")
    dead, alive, other = (machine / "cgroup" / parent / name for name in names)
    for folder in (dead, alive, other):
        folder.mkdir(parents=True)
    control_groups.sweep()
    assert not dead.exists()
    assert alive.exists()
    assert other.exists()


@pytest.mark.skipif(memory_group.obstacle() is not None, reason=str(memory_group.obstacle()))
def test_the_kernel_has_the_files_that_are_written_and_read() -> None:
    with memory_group.memory_group("names") as group:
        names = {path.name for path in group.folder.iterdir()}
        group.limit(64 * MIB)
        assert group.used_bytes() == (0, 0)
        assert {path.name for path in group.folder.iterdir()} == names, "no name is ours"
    assert not group.folder.exists()
