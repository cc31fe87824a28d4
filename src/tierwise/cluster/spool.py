"""Whole attempts on a worker's disk until the store has them: a refused write, or a killed worker, costs no measured replicate."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tierwise.cluster.attempts import SUFFIX, Attempt, described, put_attempt, sealed
from tierwise.cluster.store import PATIENCE_S, open_store
from tierwise.core.errors import TierwiseError
from tierwise.core.progress import say

MANIFEST: Final = "attempt.json"
STORE: Final = "store"


def keep(spool: Path, store_url: str, attempt: Attempt, tables: Mapping[str, bytes]) -> Path:
    """Write an attempt below `spool`, its manifest last, and return its folder."""
    folder = spool / attempt.attempt
    folder.mkdir(parents=True)
    for table, content in tables.items():
        (folder / f"{table}{SUFFIX}").write_bytes(content)
    (folder / STORE).write_text(store_url, encoding="utf-8")
    (folder / MANIFEST).write_text(sealed(attempt, tables).model_dump_json(), encoding="utf-8")
    return folder


def hand_over(folder: Path, *, patience_s: float = PATIENCE_S) -> None:
    """Store the attempt in `folder`, then remove it; what a killed worker has left half written is removed only."""
    if (folder / MANIFEST).exists():
        attempt = Attempt.model_validate_json((folder / MANIFEST).read_bytes())
        tables = {table: (folder / f"{table}{SUFFIX}").read_bytes() for table in attempt.objects}
        if {table: described(content) for table, content in tables.items()} == attempt.objects:
            store = open_store((folder / STORE).read_text(encoding="utf-8"))
            put_attempt(store, attempt, tables, patience_s=patience_s)
    shutil.rmtree(folder)


def hand_over_left(spool: Path) -> None:
    """Store what a killed worker left. Where a store refuses, the attempt stays for the next worker."""
    for folder in sorted(spool.glob("*/")):
        try:
            hand_over(folder, patience_s=0.0)
            say(f"left by a killed worker: attempt {folder.name}, now stored or removed")
        except (TierwiseError, OSError, ValueError) as error:
            say(f"left by a killed worker: attempt {folder.name} stays in {folder.parent.name}: {error}")
