"""What a killed run left: daemons without anybody who would end them, and their mounts."""

import os
import shutil
from pathlib import Path
from typing import Final

import psutil

from tierwise.core.errors import InputError
from tierwise.core.paths import short
from tierwise.tiers.control import Record
from tierwise.tiers.directory import PLACED
from tierwise.tiers.mounting import mounts_below, unmount

PATIENCE_S: Final = 5.0


def reclaim(work: Path) -> list[str]:
    """End the daemons that are recorded below `work`, and unmount what is mounted there; return one line for each thing done."""
    work = work.resolve()
    said = []
    for folder, record in Record.all_below(work).items():
        if process := record.process():
            _end(process)
            said.append(f"emulated mount's daemon {record.pid} ended")
        Record.forget(folder)
    for mountpoint in mounts_below(work):
        try:
            unmount(mountpoint)
            said.append(f"{short(mountpoint)} unmounted")
        except InputError as busy:
            unmount(mountpoint, lazily=True)
            said.append(f"unmounted although {busy}")
    return said


def discard(work: Path) -> None:
    """Remove `work` and every folder that its directory tiers made elsewhere. Nothing may run or be mounted below it any more."""
    for record in work.rglob(PLACED):
        if record.lstat().st_uid != os.geteuid():
            continue  # the server's account may write below some tiers, and its word removes nothing
        placed = Path(record.read_text(encoding="utf-8").strip())
        if placed.name.startswith("tierwise-") and not placed.is_symlink():
            shutil.rmtree(placed, ignore_errors=True)
    shutil.rmtree(work)


def _end(process: psutil.Process) -> None:
    process.terminate()
    try:
        process.wait(PATIENCE_S)
    except psutil.TimeoutExpired:
        process.kill()
        process.wait(PATIENCE_S)
