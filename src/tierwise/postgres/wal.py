"""Where the write-ahead log lies, and how long it is."""

import os
import shutil
from pathlib import Path
from typing import Final

from tierwise.postgres.cluster import Cluster, ServerError
from tierwise.postgres.settings import Connection

WAL: Final = "pg_wal"


def log_position(conn: Connection) -> int:
    """Bytes of log that the server has written since it was made."""
    row = conn.execute("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").fetchone()
    assert row is not None
    return int(row[0])


def place_wal(cluster: Cluster, directory: Path) -> None:
    """Have `cluster`, which must be down, keep its log in a folder `WAL` of `directory`; nothing where it does already.

    Raises:
        ServerError: it runs.
    """
    if cluster.running:
        raise ServerError(f"{cluster.data}: a server runs there, so its log cannot be moved")
    link, before, target = cluster.data / WAL, cluster.data / f"{WAL}.before", directory / WAL
    if before.exists() and not link.exists():  # a move that was killed half-way
        before.rename(link)
    if link.is_symlink() and link.readlink() == target:
        return
    shutil.rmtree(target, ignore_errors=True)  # of a move that was killed
    shutil.copytree(link, target)
    for path in (target, *target.rglob("*")):
        cluster.account.own(path)
        path.chmod(0o700 if path.is_dir() else 0o600)
    made = link.with_name(f".{WAL}")
    made.unlink(missing_ok=True)
    made.symlink_to(target)
    if os.geteuid() == 0:
        os.lchown(made, cluster.account.uid, cluster.account.gid)
    link.rename(before)
    made.rename(link)
    if before.is_symlink():
        before.unlink()
    else:
        shutil.rmtree(before)
