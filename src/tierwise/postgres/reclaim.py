"""End what a killed run left: servers whose data folder lies below the work folder, and their sockets."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from tierwise.postgres.cluster import ServerError, remove_socket
from tierwise.postgres.processes import PID_FILE, postmaster, serving, wait_down

PATIENCE_S: Final = 10.0
"""How long a server may take to end by itself (SIGQUIT: without a checkpoint) before it is killed."""


def reclaim(work: Path) -> list[str]:
    """End every server whose data folder lies below `work` and remove its socket folder and pid file; one line for each.

    Looks nowhere else: a server is ours only if its working directory is such a data folder.
    """
    told = []
    for data in _data_folders(work):
        found = serving(data)
        if found:
            _end(data)
            told.append(f"ended a PostgreSQL server that a killed run left in {data.relative_to(work)}")
        if (data / PID_FILE).exists():
            (data / PID_FILE).unlink()
            if not found:
                told.append(f"removed the pid file of a server that was killed in {data.relative_to(work)}")
        remove_socket(data.parent)
    return told


def _data_folders(work: Path) -> Iterator[Path]:
    """Data folders below `work`; neither symbolic links nor a data folder's own insides are followed."""
    for folder, inside, files in os.walk(work.resolve()):
        if "PG_VERSION" in files and "global" in inside:
            inside.clear()
            yield Path(folder)


def _end(data: Path) -> None:
    """A SIGQUIT to the postmaster ends it and its children and frees the shared memory; what is left then is killed."""
    server = postmaster(data)
    if server is not None:
        with suppress(psutil.NoSuchProcess):
            server.send_signal(signal.SIGQUIT)
        if wait_down(data, PATIENCE_S):
            return
    if not wait_down(data, PATIENCE_S, kill=True):
        raise ServerError(f"{data}: a server survives SIGKILL")
