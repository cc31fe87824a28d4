"""The kinds of faults: what is done to a run that is under way, and how it is undone before the run is resumed."""

# ruff: noqa: ARG002 - each kind uses of its arguments what it needs

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psutil

from fault_injection import POWER_CUT, FaultyDaemon
from faults.place import ANY, MEASURED, PHASES, WATCH, Life, Place
from tierwise.core import control_groups
from tierwise.tiers.mounting import mounts_below, unmount

STOPPED_S = (1.0, 5.0)
WITH_MOUNTS: Final = 2 * MEASURED
"""Phases of the faults that need an emulated tier."""


class Kind:
    """A kind of fault that needs nothing before, and of which nothing is to be undone."""

    name = ""
    deadly = False
    """Processes that are hit end by it, and cannot say so."""
    grace_s = 20.0
    """How long a life may take to end by it; one that does not is struck by the next."""
    phases: tuple[str, ...] = (*PHASES, ANY)
    """The phases that have what is hit, of each of the `OF_A_KIND` faults."""

    @contextmanager
    def around(self, place: Place) -> Iterator[None]:
        """What there is while a run of `place` is struck and resumed."""
        yield

    def environment(self, place: Place) -> Mapping[str, str]:
        """Variables of the run."""
        return {}

    def inject(self, place: Place, life: Life, at: int | None, chance: random.Random) -> str:
        """Strike; `at`: the process that has come to the moment. Returns who or what was hit, empty where there was nothing to hit."""
        raise NotImplementedError

    def undo(self, place: Place) -> None:
        """Undo it, before the run is resumed."""


class Killed(Kind):
    """Whoever stands at the moment that was waited for, now and then with all others; else anybody, or all."""

    name, deadly = "SIGKILL", True

    def inject(self, place: Place, life: Life, at: int | None, chance: random.Random) -> str:
        living = life.processes()
        victims = [process for process in living if process.pid == at] or [chance.choice(living or [life.report])]
        if chance.random() < 0.3:
            victims = living
        names = roles(victims)
        for process in victims:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        return names


class Stopped(Kind):
    """One process or all, for some seconds."""

    name, grace_s = "stopped and continued", 0.0

    def inject(self, place: Place, life: Life, at: int | None, chance: random.Random) -> str:
        living = life.processes()
        victims = living if chance.random() < 0.5 else [chance.choice(living or [life.report])]
        names = roles(victims)
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for process in victims:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(number)
            if number == signal.SIGSTOP:
                time.sleep(chance.uniform(*STOPPED_S))
        return names


class Full(Kind):
    """Rows, work files, site and temporary files lie on a small disk, and no byte of it is left; a tmpfs would be none: what is in memory
    alone cannot be made cold."""

    name = "disk full"
    size = "6G"

    @contextmanager
    def around(self, place: Place) -> Iterator[None]:
        image = place.base / "disk"
        image.unlink(missing_ok=True)
        subprocess.run(["truncate", "-s", self.size, image], check=True)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, place.folder], check=True)
        try:
            place.folder.joinpath("lost+found").rmdir()
            yield
        finally:
            subprocess.run(["umount", "-l", place.folder], check=True)
            image.unlink()

    def inject(self, place: Place, life: Life, at: int | None, chance: random.Random) -> str:
        free_bytes = shutil.disk_usage(place.folder).free
        with (place.folder / "filler").open("wb") as filler, suppress(OSError):
            os.posix_fallocate(filler.fileno(), 0, free_bytes)
        return "the disk of everything"

    def undo(self, place: Place) -> None:
        (place.folder / "filler").unlink(missing_ok=True)


class OnMounts(Kind):
    """What is done to one of the mounts that the run has just now."""

    phases = WITH_MOUNTS

    def inject(self, place: Place, life: Life, at: int | None, chance: random.Random) -> str:
        mounts = mounts_below(place.folder)
        if not mounts:
            return ""
        chance.shuffle(mounts)
        return next((f"tier {mount.parent.name}" for mount in mounts if self.strike(mount)), "")

    def strike(self, mount: Path) -> bool:
        """Strike, and return whether the kernel let that be done just now."""
        raise NotImplementedError


class ReadOnly(OnMounts):
    name = "read-only tier"

    def strike(self, mount: Path) -> bool:
        """No mount is made read-only while a file on it is open for writing."""
        done = subprocess.run(["mount", "-i", "-o", "remount,ro", mount], check=False, capture_output=True, text=True)
        assert done.returncode == 0 or "busy" in done.stderr, done.stderr
        return done.returncode == 0


class TakenAway(OnMounts):
    name = "mount taken away"

    def strike(self, mount: Path) -> bool:
        subprocess.run(["umount", "-l", mount], check=True)
        return True


class Broken(Kind):
    """System calls of the daemon on backing directories fail by EIO (`watch/sitecustomize.py`)."""

    name, phases = "EIO from the backing directory", WITH_MOUNTS

    def inject(self, place: Place, life: Life, at: int | None, chance: random.Random) -> str:
        if not mounts_below(place.folder):
            return ""
        (life.watch / "eio").touch()
        return "every backing directory"

    def undo(self, place: Place) -> None:
        (place.watch / "eio").unlink(missing_ok=True)


class SetBack(Kind):
    """The clock of the command and its kernels goes back by some hours, each time further."""

    name, grace_s = "clock set back", 0.0

    @contextmanager
    def around(self, place: Place) -> Iterator[None]:
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", place.base / "clock.so", WATCH / "clock.c", "-ldl"], check=True)
        self._set(place, 0)
        yield

    def environment(self, place: Place) -> Mapping[str, str]:
        return {"LD_PRELOAD": str(place.base / "clock.so"), "FAULT_CLOCK": str(place.base / "clock")}

    def inject(self, place: Place, life: Life, at: int | None, chance: random.Random) -> str:
        hours = chance.randint(1, 48)
        self._set(place, self.ahead_s - 3600 * hours)
        return f"{hours} hours"

    def _set(self, place: Place, ahead_s: int) -> None:
        self.ahead_s = ahead_s
        file = place.base / "clock"
        with file.open("r+b" if file.exists() else "wb") as clock:
            clock.write(ahead_s.to_bytes(8, "little", signed=True))


class InGroup(Kind):
    """What is done to a control group of version 1 that has all processes of the run."""

    controller = ""

    @contextmanager
    def around(self, place: Place) -> Iterator[None]:
        parent = control_groups.own(self.controller)
        assert parent is not None, f"no control group of version 1 has {self.controller}"
        place.group = control_groups.make(parent, "faults")
        try:
            yield
        finally:
            control_groups.remove(place.group)
            place.group = None

    def write(self, place: Place, name: str, value: int) -> None:
        assert place.group is not None
        (place.group / name).write_text(f"{value}\n", encoding="ascii")

    def read(self, place: Place, name: str) -> int:
        assert place.group is not None
        return int((place.group / name).read_text(encoding="ascii"))


class MemoryShort(InGroup):
    """All processes together may hold less than they do: the kernel kills one of them."""

    name, deadly, controller = "memory short", True, "memory"

    def inject(self, place: Place, life: Life, at: int | None, chance: random.Random) -> str:
        share = chance.uniform(0.3, 0.7)
        used_bytes = self.read(place, "memory.usage_in_bytes")
        while share < 1:
            with suppress(OSError):  # pages that nobody can give up now
                self.write(place, "memory.limit_in_bytes", int(share * used_bytes))
                break
            share += 0.05
        return f"{share:.0%} of {used_bytes / 2**20:.0f} MiB are left"

    def undo(self, place: Place) -> None:
        self.write(place, "memory.limit_in_bytes", -1)


class ProcessorsHeld(InGroup):
    """All processes together have a fiftieth of one processor, for some seconds."""

    name, grace_s, controller = "processors held", 0.0, "cpu"

    def inject(self, place: Place, life: Life, at: int | None, chance: random.Random) -> str:
        seconds = chance.uniform(3.0, 10.0)
        self.write(place, "cpu.cfs_quota_us", 2_000)
        life.go_on()
        time.sleep(seconds)
        self.undo(place)
        return f"{seconds:.0f} s"

    def undo(self, place: Place) -> None:
        self.write(place, "cpu.cfs_quota_us", -1)


class PowerCut(Kind):
    """Rows lie on an emulated mount that loses what was not flushed; every process ends."""

    name, deadly = "power cut", True

    @contextmanager
    def around(self, place: Place) -> Iterator[None]:
        for name in ("raw", "backing"):
            (place.folder / name).mkdir()
        self.daemon = FaultyDaemon(place.base / "daemon", POWER_CUT)  # a folder that is closed to others
        self._mount(place)
        try:
            yield
        finally:
            self._unmount(place)

    def inject(self, place: Place, life: Life, at: int | None, chance: random.Random) -> str:
        for process in life.processes():
            with suppress(psutil.NoSuchProcess):
                if process.pid != self.daemon.pid:
                    process.kill()
        self.daemon.cut_power(place.folder / "left")
        return "everything"

    def undo(self, place: Place) -> None:
        if not (place.folder / "left").exists():
            return  # nothing was struck
        self._unmount(place)
        shutil.rmtree(place.folder / "backing")
        (place.folder / "left").rename(place.folder / "backing")
        self._mount(place)

    def _mount(self, place: Place) -> None:
        self.daemon.mount_faulty(place.folder / "backing", place.folder / "raw")
        (place.folder / "raw").stat()

    def _unmount(self, place: Place) -> None:
        unmount(place.folder / "raw", lazily=True)
        self.daemon.end()


def roles(processes: list[psutil.Process]) -> str:
    return ", ".join(sorted({role(process) for process in processes}))


def role(process: psutil.Process) -> str:
    """What `process` does in a run."""
    with suppress(psutil.Error):
        words = " ".join(process.cmdline())
        for name, mark in {"kernel": "ipykernel_launcher", "daemon": "tierwise.tiers.server", "runner": "-m tierwise report"}.items():
            if mark in words:
                return name
        return {"postgres": "server"}.get(process.name(), process.name())
    return "gone"


ALL: Final[tuple[Kind, ...]] = (
    Killed(),
    Full(),
    PowerCut(),
    TakenAway(),
    ReadOnly(),
    Broken(),
    MemoryShort(),
    SetBack(),
    Stopped(),
    ProcessorsHeld(),
)
KINDS: Final = {kind.name: kind for kind in ALL}
