"""Memory cgroups of either version: where a group is made, and how its files are called. The kernel's own files where it has them."""

import os
import re
from pathlib import Path

import pytest

from tierwise.core import control_groups, memory_group
from tierwise.core.errors import MissingError
from tierwise.core.units import MIB

SESSION = "user.slice/session.scope"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder in place of the kernel's; what `belonging` writes says where this process is."""
    monkeypatch.setattr(control_groups, "ROOT", tmp_path / "cgroup")
    monkeypatch.setattr(control_groups, "OWN", tmp_path / "own")
    (tmp_path / "cgroup" / SESSION).mkdir(parents=True)
    return tmp_path


def belonging(machine: Path, *lines: str) -> None:
    (machine / "own").write_text("\n".join(lines) + "\n", encoding="ascii")


def hands_on(machine: Path, folder: str, controllers: str) -> None:
    (machine / "cgroup" / folder / "cgroup.subtree_control").write_text(f"{controllers}\n", encoding="ascii")


def emptied(group: memory_group.MemoryGroup) -> None:
    """Remove the files of the made-up group: the kernel's go with the folder."""
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


def test_without_any_cgroup_there_is_an_obstacle(machine: Path) -> None:
    belonging(machine, "4:memory:/docker/0123")
    assert "no memory cgroup can be made" in str(memory_group.obstacle())


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
