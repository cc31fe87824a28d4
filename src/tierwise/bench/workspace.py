"""The work folder while a run measures: one run at a time, and nothing left of those before it."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tierwise.core import control_groups
from tierwise.core.errors import InputError, TierwiseError
from tierwise.core.files import lock as take_lock
from tierwise.core.files import write_whole
from tierwise.core.progress import say
from tierwise.postgres import processes as servers
from tierwise.postgres.cluster import SETTINGS_FILE
from tierwise.postgres.workspace import open_workspace
from tierwise.tiers import reclaim as mounts

BOOT: Final = Path("/proc/sys/kernel/random/boot_id")  # Linux's name for the time since the machine was started
PATIENCE_S = 10.0  # a killed run's notebook kernel notices within seconds that nobody waits for it any more
LOADS: Final = "maintenance_work_mem"  # a setting that a server has while it loads alone


@contextmanager
def exclusive_workspace() -> Iterator[Path]:
    """Yield the work folder, held by this process alone, with the servers and mounts of a killed run ended."""
    workspace = open_workspace()
    with _locked(workspace, "lock", PATIENCE_S):
        half_loaded = _loading(workspace)
        for line in (*servers.reclaim(workspace), *mounts.reclaim(workspace)):
            say(f"left by a killed run: {line}")
        for testbed in half_loaded:
            mounts.discard(testbed)
        _discard_unflushed(workspace)
        _discard_unmounted(workspace)
        yield workspace


@contextmanager
def one_report() -> Iterator[None]:
    """Hold the work folder against other commands that measure, whose notebooks would write the same manifests in turn."""
    with _locked(open_workspace(), "report", 0.0):
        control_groups.sweep()
        yield


@contextmanager
def _locked(workspace: Path, name: str, patience_s: float) -> Iterator[None]:
    with (workspace / name).open("w") as held:
        deadline_s = time.monotonic() + patience_s
        while not (locked := take_lock(held.fileno())):
            if locked is None:
                rule = "its file system has no locks (flock), which keep two runs from measuring at the same time"
                raise InputError("work folder", value=str(workspace), rule=rule, remedy="set TIERWISE_WORK to a folder on a local disk")
            if time.monotonic() > deadline_s:
                message = f"{workspace}: another run is measuring in this work folder. Remedy: wait for it, or TIERWISE_WORK=another folder"
                raise TierwiseError(message)
            time.sleep(0.2)
        yield


def _loading(workspace: Path) -> list[Path]:
    # Files that a killed server had not committed lie there, and another would use their numbers again.
    stopped = (workspace / "runs").glob(f"*/*/*/cluster/data/{servers.PID_FILE}")
    return [pid.parents[2] for pid in stopped if LOADS in pid.with_name(SETTINGS_FILE).read_text(encoding="utf-8")]


def _discard_unflushed(workspace: Path) -> None:
    """Remove what was loaded before the machine was last started: nobody flushed it, and after a power cut it may be anything."""
    kept, now = workspace / "boot", BOOT.read_text(encoding="ascii").strip() if BOOT.exists() else ""
    if kept.exists() and kept.read_text(encoding="ascii") != now:
        discard_runs(workspace)
    write_whole(kept, now)


def _discard_unmounted(workspace: Path) -> None:
    """Remove the loaded data of every replicate whose mount was taken away: what the server made from then on is on no tier."""
    for mountpoint in (workspace / "runs").glob("*/*/*/*/mount"):
        testbed, tier = mountpoint.parents[1], mountpoint.parent.name
        if any(mountpoint.iterdir()):
            say(f"left by a run whose mount was taken away: files past the tier {tier}; what was loaded beside them is loaded again")
            mounts.discard(testbed)


def run_folder(workspace: Path, run_id: str) -> Path:
    return workspace / "runs" / run_id


def discard_runs(workspace: Path, *, but: str = "") -> None:
    """Remove the loaded data of unfinished runs, except of run `but`; their measured rows stay, and a resumed run loads again."""
    for folder in (workspace / "runs").glob("*/"):
        if folder.name != but:
            mounts.discard(folder)


def remove_workspace() -> None:
    with exclusive_workspace() as workspace:
        discard_runs(workspace)
        shutil.rmtree(workspace)
