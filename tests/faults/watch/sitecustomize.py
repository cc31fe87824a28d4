"""Tells the campaign of faults which phase a run is in: Python imports this at its start where ``PYTHONPATH`` names this folder.

What Python is about to do is known by its audit events. In the folder ``FAULT_WATCH`` each phase that is met is a line of ``phases``, and
``awaited`` has a number, a count and a phase: a process by which the run comes to that phase for so many times writes ``here-NUMBER``, and
where the phase is a moment (`MOMENTS`) stands still until there is ``go-NUMBER``.
"""

import errno
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

MOMENTS = ("writing rows", "renaming", "merging", "exporting")
"""Phases that are over within a millisecond: who is to break them is waited for."""
PATIENCE_S = 60.0

watch = os.environ.get("FAULT_WATCH", "")
busy = threading.local()


def phase_of(event: str, arguments: tuple[Any, ...]) -> str:
    """The phase that the audit event `event` belongs to; empty: none."""
    if event == "subprocess.Popen":
        return starting([os.fsdecode(word) for word in arguments[1] if isinstance(word, str | bytes | os.PathLike)])
    if event not in {"open", "os.rename", "os.remove"} or not isinstance(arguments[0], str | bytes | os.PathLike):
        return ""
    path, opens = os.fsdecode(arguments[0]), event == "open"
    raw, site = os.environ.get("TIERWISE_RAW", "?"), Path(os.environ.get("TIERWISE_SITE", "?"))
    if path.startswith(raw):
        return of_rows(event, path)
    if path.startswith(str(site.with_name("_build"))):
        return "exporting" if event == "os.rename" or "/site/notebooks/" in path else "rendering" if opens else ""
    return "exporting" if path.startswith(str(site)) and path.endswith((".part", "latest")) else ""


def of_rows(event: str, path: str) -> str:
    """The same, of what is done below the folder of the runs."""
    if "/notebooks/.part-" in path and "/show-" in path:
        return "rendering" if event == "open" else ""
    if "timings.parquet" in path or (event == "os.remove" and "/parts/" in path and not path.endswith(".part")):
        return "merging" if event != "open" or path.endswith(".part") else ""
    if not path.endswith(".part"):
        return ""
    return {"open": "writing rows", "os.rename": "renaming", "os.remove": "renaming"}[event]  # what is removed was renamed just before


def starting(words: list[str]) -> str:
    """Loading or measuring, by the settings of the server that is started."""
    data = next((word.partition("=")[2] for word in words if word.startswith("--pgdata=")), "")
    if "start" not in words or not data:
        return ""
    settings = Path(data, "tierwise.conf").read_text(encoding="utf-8")
    return "loading" if "maintenance_work_mem" in settings else "measuring"


def hear(event: str, arguments: tuple[Any, ...]) -> None:
    if getattr(busy, "now", False) or event not in {"subprocess.Popen", "open", "os.rename", "os.remove"}:
        return
    busy.now = True
    try:
        phase = phase_of(event, arguments)
        if phase:
            phases = Path(watch, "phases")
            with phases.open("a", encoding="utf-8") as told:
                told.write(f"{time.time():.6f} {os.getpid()} {phase}\n")
            number, nth, wanted = Path(watch, "awaited").read_text(encoding="utf-8").split(maxsplit=2)
            met = phase == wanted and sum(line.endswith(phase) for line in phases.read_text(encoding="utf-8").splitlines())
            if met >= int(nth) and not Path(watch, f"here-{number}").exists():
                stand(number, phase, f"{event} {arguments[0]}")
    except (OSError, IndexError, ValueError):
        pass  # who watches disturbs nothing
    finally:
        busy.now = False


def stand(number: str, phase: str, what: str) -> None:
    here = Path(watch, f".here-{os.getpid()}")
    here.write_text(f"{os.getpid()} {what}", encoding="utf-8")
    here.rename(Path(watch, f"here-{number}"))
    until_s = time.monotonic() + PATIENCE_S
    while phase in MOMENTS and not Path(watch, f"go-{number}").exists() and time.monotonic() < until_s:
        time.sleep(0.001)


def break_files() -> None:
    """Have reads and writes of a daemon fail while there is a file ``eio``."""
    broken = False

    def look() -> None:
        nonlocal broken
        while True:
            broken = Path(watch, "eio").exists()
            time.sleep(0.02)

    def failing(real: Any) -> Any:
        def call(*arguments: Any) -> Any:
            if broken:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return real(*arguments)

        return call

    for name in ("preadv", "pread", "pwrite", "fsync", "fdatasync"):
        setattr(os, name, failing(getattr(os, name)))
    threading.Thread(target=look, daemon=True).start()


if watch:
    sys.addaudithook(hear)
    if "tierwise.tiers.server" in sys.orig_argv:
        break_files()
