"""What must not leave this machine: its name, its user's home, the folders that were used. Whatever is given away is looked through."""

import os
import platform
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import polars as pl

from tierwise.core import paths
from tierwise.core.errors import InputError

COMMON: Final = frozenset({"localhost", "linux", "debian", "ubuntu"})  # host names that say nothing and stand in texts by chance


def check_nothing_private(folder: Path) -> None:
    """Raise `InputError` for a file below `folder` that names this machine, its user's home or a folder, or is a symbolic link."""
    private = re.compile("|".join(rf"(?<![\w.-]){re.escape(word)}(?![\w-])" for word in _private()).encode())
    for path in folder.rglob("*"):
        where = str(path.relative_to(folder))
        if path.is_symlink():
            raise InputError(where, rule="is a symbolic link, and a published folder holds none")
        if path.is_file() and (found := private.search(_content(path))):
            rule = "stands in a file that would be published: a report names no host, no user and no folder"
            raise InputError(where, value=found[0].decode(), rule=rule, remedy="report this as a bug")


def _private() -> Iterator[str]:
    host = platform.node().split(".")[0]
    if len(host) >= 4 and host.lower() not in COMMON:
        yield host
    homes = [paths.home(), paths.raw(), paths.site()]
    with suppress(RuntimeError):  # a user without one
        homes.append(Path.home())
    yield from {str(path) for path in homes} - {"/"}
    if work := os.environ.get("TIERWISE_WORK"):
        yield str(Path(work).resolve())


def _content(path: Path) -> bytes:
    if path.suffix != ".parquet":
        return path.read_bytes()
    texts = pl.read_parquet(path, hive_partitioning=False).select(pl.col(pl.String)).unique()
    return texts.write_csv().encode()
