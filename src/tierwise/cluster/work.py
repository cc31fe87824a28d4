"""What a worker does for the client: measure a replicate in its own process group, and end the groups of a run."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Timer
from typing import Any, Final

import psutil

from tierwise.bench.workspace import exclusive_workspace
from tierwise.cluster.attempts import hand_over_left
from tierwise.cluster.replicate import FOLDER, GRACE_S, SPOOL, UNFIT, Job, fail
from tierwise.core.errors import InputError, TierwiseError
from tierwise.core.files import make_folder, write_whole
from tierwise.core.profiles import load_profile
from tierwise.core.progress import say
from tierwise.core.tasks import LOCAL, SCHEDULER
from tierwise.core.text_files import read_json
from tierwise.core.units import human_bytes
from tierwise.postgres.workspace import open_workspace

GROUPS: Final = "groups"


def measure(text: str, scheduler: str = LOCAL) -> None:
    """Measure the `Job` in `text` and wait until the store has the attempt; a failed attempt is in the store, too.

    Simulated work uses this machine's processors unless `scheduler` is empty.
    """
    job, started_at = Job.model_validate_json(text), datetime.now(UTC)
    _check_space(job)
    command, alone = [sys.executable, "-m", "tierwise.cluster.replicate"], {**os.environ, SCHEDULER: scheduler}
    child = subprocess.Popen(command, stdin=subprocess.PIPE, env=alone, start_new_session=True)
    assert child.stdin is not None
    with _noted(child.pid, job.run.run_id):
        try:
            with suppress(BrokenPipeError):
                child.stdin.write(text.encode() + b"\n")
                child.stdin.flush()
            status = child.wait()
        finally:
            with suppress(BrokenPipeError):
                child.stdin.close()
            _end_group(child.pid)
    if status == UNFIT:
        rule, remedy = f"has other code or inputs than run {job.run.run_id}", "check out the commit of the run on this machine"
        raise InputError("this machine", rule=rule, remedy=remedy)
    if status < 0:
        fail(job, f"its process ended by signal {-status}", started_at)


def _check_space(job: Job) -> None:
    free_bytes, profile = shutil.disk_usage(open_workspace()).free, load_profile(job.run.profile["name"])
    if free_bytes < profile.free_space_bytes:
        needed = human_bytes(profile.free_space_bytes)
        rule = f"has {human_bytes(free_bytes)} free for the work folder, and profile {profile.name} needs {needed}"
        raise InputError("this machine", rule=rule, remedy="free space on this disk, then start the worker again")


def end_run(run_id: str = "") -> int:
    """End this worker's processes of a run, or of all runs, and return how many there were."""
    ended = 0
    for noted in _notes():
        note = read_json(noted, noted.name)
        if run_id in {"", note["run_id"]} and note["worker"] == os.getpid() and _is(note):
            os.kill(note["group"], signal.SIGINT)
            late = Timer(GRACE_S, _kill, [note])
            late.daemon = True
            late.start()
            ended += 1
    return ended


def _kill(note: dict[str, Any]) -> None:
    if _is(note):
        os.killpg(note["group"], signal.SIGKILL)


def end_left_behind() -> None:
    """End what killed workers of this user left: process groups, then servers and mounts; then store their whole attempts."""
    for noted in _notes():
        note = read_json(noted, noted.name)
        if not _alive(note["worker"], note["worker_began_s"]):
            if _is(note):
                say(f"left by a killed worker: process group {note['group']}")
                _end_group(note["group"])
            noted.unlink(missing_ok=True)
    try:
        with exclusive_workspace():
            pass
    except TierwiseError:  # another worker of this machine measures
        return
    hand_over_left(open_workspace() / FOLDER / SPOOL)


@contextmanager
def _noted(group: int, run_id: str) -> Iterator[None]:
    folder = open_workspace() / FOLDER / GROUPS
    make_folder(folder)
    noted = folder / f"{group}.json"
    me, began_s = os.getpid(), psutil.Process(group).create_time()
    text = f'{{"run_id": "{run_id}", "group": {group}, "began_s": {began_s}, "worker": {me}, "worker_began_s": {_began_s(me)}}}'
    write_whole(noted, text)
    try:
        yield
    finally:
        noted.unlink(missing_ok=True)


def _notes() -> list[Path]:
    return sorted((open_workspace() / FOLDER / GROUPS).glob("[0-9]*.json"))


def _is(note: dict[str, Any]) -> bool:
    """Return whether the group's leader is still the noted process, of this user."""
    pid = int(note["group"])
    with suppress(psutil.Error):
        return _alive(pid, note["began_s"]) and psutil.Process(pid).uids().real == os.getuid()
    return False


def _alive(pid: int, began_s: float) -> bool:
    with suppress(psutil.Error):
        return abs(_began_s(pid) - began_s) < 0.01 and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def _began_s(pid: int) -> float:
    return float(psutil.Process(pid).create_time())


def _end_group(group: int) -> None:
    for number, patience_s in ((signal.SIGINT, GRACE_S), (signal.SIGKILL, 5.0)):
        deadline_s = time.monotonic() + patience_s
        for process in _members(group):
            with suppress(psutil.Error):
                process.send_signal(number)
        while _members(group):
            if time.monotonic() > deadline_s:
                break
            time.sleep(0.1)
        else:
            return


def _members(group: int) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found
