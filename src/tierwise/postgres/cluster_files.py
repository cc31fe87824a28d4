"""The files of a cluster that is down: its write-ahead log kept elsewhere, and the whole put back as it was prepared."""

import os
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from tierwise.core.errors import InputError
from tierwise.core.private_folders import closed_folder
from tierwise.core.units import MIB
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.processes import ServerError

TABLESPACES: Final = "tablespaces"
WAL: Final = "pg_wal"
LINKS: Final = "pg_tblspc"


def place_wal(cluster: Cluster, directory: Path) -> None:
    """Move the log of `cluster`, which must be down, to a folder `WAL` of `directory`, unless it is there already."""
    if cluster.running:
        raise ServerError(f"{cluster.data}: a server runs there, so its log cannot be moved")
    link, before, target = cluster.data / WAL, cluster.data / f"{WAL}.before", directory / WAL
    if before.exists() and not link.exists():  # a move that was killed half-way
        before.rename(link)
    if link.is_symlink() and link.readlink() == target:
        return
    _copy_tree(link, target, cluster)
    made = link.with_name(f".{WAL}")
    made.unlink(missing_ok=True)
    _link(made, target, cluster)
    link.rename(before)
    made.rename(link)
    if before.is_symlink():
        before.unlink()
    else:
        shutil.rmtree(before)


def copy_fresh_cluster(cluster: Cluster, first: Cluster) -> None:
    """Make `cluster` as initdb leaves one, by copying `first`, since initdb takes seconds; `first` is made where it does not exist yet."""
    if not first.exists:
        first.create()
    closed_folder(cluster.folder, owner=cluster.account.ids)
    restore(first, cluster, {})


def restore(prepared: Cluster, cluster: Cluster, tablespaces: Mapping[str, Path], wal: Path | None = None) -> None:
    """Make `cluster` a copy of `prepared`, with tablespaces (name -> directory) and WAL in folders of their names; both must be down."""
    for there in (prepared, cluster):
        if there.running:
            raise ServerError(f"{there.data}: a server runs there, so its files cannot be copied")
    links = {link: link.readlink() for link in (prepared.data / LINKS).iterdir()}
    if missing := {target.name for target in links.values()} - tablespaces.keys():
        raise InputError("tablespaces", value=sorted(tablespaces), rule=f"must say where these lie: {', '.join(sorted(missing))}")
    shutil.rmtree(cluster.data, ignore_errors=True)  # PG_VERSION goes with it: a copy that is cut short is no cluster
    elsewhere = {link: (target, tablespaces[target.name] / target.name) for link, target in links.items()}
    if wal is not None:
        elsewhere[prepared.data / WAL] = prepared.data / WAL, wal / WAL
    for source, target in elsewhere.values():
        _copy_tree(source, target, cluster)
    part = cluster.data.with_name("data.part")
    _copy_tree(prepared.data, part, cluster, leave_out=elsewhere)
    for link, (_, target) in elsewhere.items():
        _link(part / link.relative_to(prepared.data), target, cluster)
    part.rename(cluster.data)


def _copy_tree(source: Path, target: Path, cluster: Cluster, *, leave_out: Collection[Path] = ()) -> None:
    shutil.rmtree(target, ignore_errors=True)
    for folder, folders, files in os.walk(source):
        folders[:] = [name for name in folders if Path(folder, name) not in leave_out and not Path(folder, name).is_symlink()]
        there = target / Path(folder).relative_to(source)
        there.mkdir(mode=0o700, parents=True)
        cluster.account.own(there)
        for name in files:
            _copy_file(Path(folder, name), there / name, cluster)


def _copy_file(source: Path, target: Path, cluster: Cluster) -> None:
    """Copy a file in large pieces, which a mount without a page cache needs."""
    with source.open("rb", buffering=0) as there, target.open("xb", buffering=0) as here:
        shutil.copyfileobj(there, here, length=MIB)
        os.fchmod(here.fileno(), 0o600)
    cluster.account.own(target)


def _link(link: Path, target: Path, cluster: Cluster) -> None:
    link.symlink_to(target)
    cluster.account.own(link)
