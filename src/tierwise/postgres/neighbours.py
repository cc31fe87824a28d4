"""Which running PostgreSQL servers a disk serves already."""

from contextlib import suppress
from pathlib import Path

import psutil


def servers_on(folder: Path) -> list[Path]:
    """Return the data folders of the servers that run and have a data folder or a tablespace on the file system of `folder`.

    Of servers that this account may not look at nothing is known.
    """
    device = folder.stat().st_dev
    found = set()
    for pid in psutil.pids():
        with suppress(OSError):  # gone meanwhile, or not ours to look at
            data = Path(f"/proc/{pid}/cwd").readlink()
            if (data / "PG_VERSION").is_file() and device in {place.stat().st_dev for place in (data, *data.glob("pg_tblspc/*"))}:
                found.add(data)
    return sorted(found)
