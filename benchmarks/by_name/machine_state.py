"""What else goes on in the machine: how much of it the host takes, how late it wakes whoever sleeps, and how it is made busy on purpose."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import psutil

from tierwise.core import control_groups
from tierwise.core.errors import MissingError
from tierwise.postgres.cluster import Cluster

PERIOD_US: Final = 100_000
SLEEPER: Final = """
import json, select, sys, time
late_s = []
print("ready", flush=True)
while True:
    begun_s = time.monotonic()
    if select.select([sys.stdin], [], [], 0.005)[0]:
        break
    late_s.append(time.monotonic() - begun_s - 0.005)
json.dump(sorted(late_s), sys.stdout)
"""


@dataclass(frozen=True)
class Machine:
    """The machine over a stretch of time: shares of all its processors' time, and one minute's load average at the end."""

    wall_s: float
    steal_share: float
    busy_share: float
    load: float

    def __str__(self) -> str:
        return f"steal {self.steal_share:.1%}, processors busy {self.busy_share:.0%}, load average {self.load:.1f}, {self.wall_s:.0f} s"


class Watch:
    """Looks at the machine from its making on."""

    def __init__(self) -> None:
        self._begun_s, self._begun = time.monotonic(), psutil.cpu_times()

    def found(self) -> Machine:
        """How it was until now."""
        return machine_between(self._begun, psutil.cpu_times(), time.monotonic() - self._begun_s)


def machine_between(begun: Any, ended: Any, wall_s: float) -> Machine:
    """How the machine was between two readings of `psutil.cpu_times`; guests' time is in user's already."""
    spent_s = {name: getattr(ended, name) - getattr(begun, name) for name in begun._fields if name not in {"guest", "guest_nice"}}
    total_s = sum(spent_s.values()) or 1.0
    idle_s = spent_s["idle"] + spent_s.get("iowait", 0.0)
    return Machine(wall_s, spent_s.get("steal", 0.0) / total_s, 1.0 - idle_s / total_s, os.getloadavg()[0])


def pooled(every: Sequence[Machine]) -> Machine:
    """Several stretches as one, each for as long as it was."""
    wall_s = sum(one.wall_s for one in every)
    steal, busy, load = (sum(getattr(one, name) * one.wall_s for one in every) / wall_s for name in ("steal_share", "busy_share", "load"))
    return Machine(wall_s, steal, busy, load)


class Sleeper:
    """A process of its own that sleeps five milliseconds over and over, and knows how late it was woken."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([sys.executable, "-c", SLEEPER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.late_s = 0.0  # the median, once it has ended

    def __enter__(self) -> Self:
        assert self._process.stdout is not None
        self._process.stdout.readline()
        return self

    def __exit__(self, *_: object) -> None:
        said, _unused = self._process.communicate("\n")
        found = json.loads(said)
        self.late_s = statistics.median(found) if found else float("inf")


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep this number of processes that do nothing but compute."""
    with ExitStack() as stack:
        for _ in range(processes):
            process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield


class Quota:
    """A control group (version 1) whose processes together get a share of one processor.

    Raises:
        MissingError: no such group can be made.
    """

    def __init__(self, processors: float):
        parent = control_groups.own("cpu")
        if parent is None or not os.access(parent, os.W_OK):
            raise MissingError(
                "a control group that limits processor time", why="no cpu group of version 1 can be made", remedy="run as root"
            )
        self._outside, self.folder = parent, control_groups.make(parent, "quota")
        (self.folder / "cpu.cfs_period_us").write_text(f"{PERIOD_US}\n", encoding="ascii")
        (self.folder / "cpu.cfs_quota_us").write_text(f"{round(processors * PERIOD_US)}\n", encoding="ascii")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        control_groups.remove(self.folder)

    @contextmanager
    def held(self, process: int) -> Iterator[None]:
        """Meanwhile `process` (its id; 0: this one), with whatever it starts, is held to the quota."""
        control_groups.take_in(self.folder, process)
        try:
            yield
        finally:
            control_groups.take_in(self._outside, process)

    def throttled_s(self) -> float:
        """How long its processes were not let run for their quota."""
        words = (self.folder / "cpu.stat").read_text(encoding="ascii").split()
        return int(words[words.index("throttled_time") + 1]) / 1e9


@dataclass(frozen=True)
class HeldCluster(Cluster):
    """A cluster whose server, and only it, is started in the group of `quota`."""

    quota: Quota

    def start(self, settings: Any) -> None:
        """Start the server as `Cluster.start` does, in the group of `quota`."""
        with self.quota.held(0):
            super().start(settings)


def held_cluster(cluster: Cluster, quota: Quota) -> HeldCluster:
    """`cluster`, its server held from the next start on."""
    return HeldCluster(Path(cluster.folder), cluster.binaries, cluster.account, quota)
