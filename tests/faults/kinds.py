"""The kinds of faults: what is done to a run that is under way, and how it is undone before the run is resumed."""

import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import psutil

from faults.place import Life, Place

Undo = Callable[[], None]
Inject = Callable[[Place, Life, int | None, random.Random], tuple[str, Undo]]


def nothing() -> None:
    """There is nothing to undo."""


@dataclass(frozen=True)
class Kind:
    """One kind of fault: `inject` breaks the run, and says whom it hit and how that is undone."""

    name: str
    inject: Inject
    deadly: bool = False
    """The process that is hit ends by it, and cannot say so."""


def killed(place: Place, life: Life, at: int | None, chance: random.Random) -> tuple[str, Undo]:
    """SIGKILL: whoever stands at the moment that was waited for, now and then with all others; else anybody, or all."""
    living = life.processes()
    victims = [process for process in living if process.pid == at] or [chance.choice(living)]
    if chance.random() < 0.3:
        victims = living
    names = sorted({role(process) for process in victims})
    for process in victims:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    return ", ".join(names), nothing


def stopped(place: Place, life: Life, at: int | None, chance: random.Random) -> tuple[str, Undo]:
    """SIGSTOP for some seconds, then SIGCONT: one process or all."""
    living = life.processes()
    victims = living if chance.random() < 0.5 else [chance.choice(living)]
    names = sorted({role(process) for process in victims})
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for process in victims:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        if number == signal.SIGSTOP:
            time.sleep(chance.uniform(1.0, 5.0))
    return ", ".join(names), nothing


def role(process: psutil.Process) -> str:
    """What `process` does in a run."""
    with suppress(psutil.Error):
        words = " ".join(process.cmdline())
        for name, mark in {"kernel": "ipykernel_launcher", "daemon": "tierwise.tiers.server", "runner": "-m tierwise report"}.items():
            if mark in words:
                return name
        return {"postgres": "server"}.get(process.name(), process.name())
    return "gone"


KINDS: Final = {kind.name: kind for kind in (Kind("SIGKILL", killed, deadly=True), Kind("stopped and continued", stopped))}
