"""The work folder while a run measures: one run at a time, and nothing left of those before it."""

import fcntl
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tierwise.core.errors import TierwiseError
from tierwise.core.progress import say
from tierwise.postgres import processes as servers
from tierwise.postgres.workspace import open_workspace
from tierwise.tiers import reclaim as mounts

PATIENCE_S = 10.0
"""A killed run's notebook kernel notices within seconds that nobody waits for it any more."""


@contextmanager
def exclusive_workspace() -> Iterator[Path]:
    """Yield the work folder, held by this process alone, with the servers and mounts of a killed run ended.

    Raises:
        TierwiseError: another run holds it.
    """
    workspace = open_workspace()
    with (workspace / "lock").open("w") as lock:
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline_s:
                    message = (
                        f"{workspace}: another run is measuring in this work folder. Remedy: wait for it, or TIERWISE_WORK=another folder"
                    )
                    raise TierwiseError(message) from None
                time.sleep(0.2)
        for line in (*servers.reclaim(workspace), *mounts.reclaim(workspace)):
            say(f"left by a killed run: {line}")
        yield workspace


def run_folder(workspace: Path, run_id: str) -> Path:
    """Return where run `run_id` keeps its clusters and tiers while it measures."""
    return workspace / "runs" / run_id


def discard_runs(workspace: Path, *, but: str = "") -> None:
    """Remove the loaded data of unfinished runs, except of run `but`; their measured rows stay, and a resumed run loads again."""
    for folder in (workspace / "runs").glob("*/"):
        if folder.name != but:
            mounts.discard(folder)


def remove_workspace() -> None:
    """Remove the work folder with everything in it and what its tiers made elsewhere."""
    with exclusive_workspace() as workspace:
        discard_runs(workspace)
        shutil.rmtree(workspace)
