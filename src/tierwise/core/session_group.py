"""A group of the processes whose time is counted: a server, and the clients that load it."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tierwise.core import control_groups
from tierwise.core.errors import MissingError

CONTROLLERS: Final = ("cpuacct", "pids")
"""Controllers of version 1 that a group needs: the first knows processor time and states, the second how many tasks there are."""
PRECEDENCE: Final = {"cpu.shares": 262_144, "cpu.weight": 10_000}
"""The most that versions 1 and 2 give a group over what else runs, because the same work takes more processor time beside other work."""


@dataclass(frozen=True)
class SessionGroup:
    """A group: a folder for each of `CONTROLLERS` (and `cpu`) in version 1, one in version 2; `outside` is where this process was."""

    folders: tuple[Path, ...]
    outside: tuple[Path, ...]

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Put into the group what this process starts meanwhile, with everything that it starts itself."""
        with ExitStack() as stack:
            for folder, outside in zip(self.folders, self.outside, strict=True):
                control_groups.take_in(folder, 0)
                stack.callback(control_groups.take_in, outside, 0)
            yield


def obstacle() -> str | None:
    if os.geteuid():
        return "an ordinary user may not group processes and see what each of them waits for"
    closed = [folder for folder in _parents() if not (folder.is_dir() and os.access(folder, os.W_OK))]
    return f"no control group can be made in {closed[0]}" if closed else None


@contextmanager
def session_group() -> Iterator[SessionGroup]:
    """Make a new, empty group; its processes must have ended before the end."""
    if why := obstacle():
        raise MissingError("a control group for the server's processes", why=why, remedy="run as root, where cgroups are mounted writable")
    parents = _parents()
    if len(parents) > 1 and (folder := control_groups.own("cpu")) and os.access(folder, os.W_OK):
        parents += (folder,)
    with ExitStack() as stack:
        folders = []
        for parent in parents:
            folders.append(control_groups.make(parent, "sessions"))
            stack.callback(control_groups.remove, folders[-1])
            for name, most in PRECEDENCE.items():
                with suppress(OSError):  # not of this controller or version, or not permitted: then it has none
                    (folders[-1] / name).write_text(f"{most}\n", encoding="ascii")
        yield SessionGroup(tuple(folders), parents)


def _parents() -> tuple[Path, ...]:
    found = [control_groups.own(controller) for controller in CONTROLLERS]
    first = [folder for folder in found if folder is not None]
    return tuple(first) if len(first) == len(CONTROLLERS) else (control_groups.own_unified(),)
