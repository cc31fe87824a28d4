"""What a running daemon leaves in its folder, so that somebody else can find and end it."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil

from tierwise.core.files import write_whole
from tierwise.core.toml import Strict

_NAME = "daemon.json"


class Record(Strict):
    """One daemon: `pid` and `started_s` together name a process for good."""

    pid: int
    started_s: float

    @classmethod
    def mine(cls) -> Self:
        return cls(pid=os.getpid(), started_s=psutil.Process().create_time())

    @staticmethod
    def all_below(folder: Path) -> dict[Path, "Record"]:
        """Return folder -> record, of every daemon that runs or was killed below `folder`; follows no mount and no link."""
        found = {}
        for inner, folders, files in os.walk(folder):
            folders[:] = [name for name in folders if name not in {"backing", "mount"}]
            if _NAME in files:
                with suppress(FileNotFoundError):  # it has just ended by itself
                    found[Path(inner)] = Record.model_validate_json(Path(inner, _NAME).read_text(encoding="utf-8"))
        return found

    @staticmethod
    def control(folder: Path) -> Path:
        return folder / "control"

    @staticmethod
    def forget(folder: Path) -> None:
        (folder / _NAME).unlink(missing_ok=True)
        Record.control(folder).unlink(missing_ok=True)

    def save(self, folder: Path) -> None:
        write_whole(folder / _NAME, self.model_dump_json() + "\n")

    def process(self) -> psutil.Process | None:
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started_s) < 0.01 and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return None
        return process if same else None
