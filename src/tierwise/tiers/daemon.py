"""The client of a daemon of emulated tiers, which starts with its first mount and ends with its last."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import tierwise
from tierwise.core.errors import TierwiseError
from tierwise.core.private_folders import closed_folder
from tierwise.core.vocabulary import ClockKind
from tierwise.tiers.clock import AS_USED, Charge
from tierwise.tiers.control import Control, Record

START_S: Final = 30.0
END_S: Final = 30.0  # real seconds for a daemon without mounts to end before it is killed
LAST_WORDS_S: Final = 0.5  # real seconds for a daemon that does not answer to be seen as one that has ended
SLEEP_MOST_S: Final = 3600.0  # the most real seconds that anybody waits for a virtual clock: a window is some seconds of it


@dataclass(frozen=True, slots=True)
class ClockParts:
    """What a clock has gained since it was set, and where its sessions' time went until the same moment."""

    now_s: float
    computed_s: float = 0.0  # gained by processors
    jumped_s: float = 0.0  # gained by devices
    strangers: int = 0  # requests that it cannot count truly
    used_s: float = 0.0  # processor time of all that is counted
    mount_s: float = 0.0  # of it, the mount's
    charged_s: float = 0.0  # of it, what is charged
    sessions: int = 0  # whose time is recorded
    processor_s: float = 0.0  # of them
    blocked_s: Sequence[tuple[int, str, str, float]] = ()  # wait event, tier, function of the kernel, seconds of all sessions
    busy_s: Mapping[str, float] = field(default_factory=dict)  # by tier: of its drives, the mean


class Daemon:
    """A process that serves mounts, by one clock. `folder` is that of its control channel, record, log and lists of requests."""

    program: tuple[str, ...] = ("-m", "tierwise.tiers.server")

    def __init__(self, folder: Path):
        self.folder = folder
        self.clock = ClockKind.REAL
        self._mounted: set[str] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: Control | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def call(self, do: str, **arguments: object) -> Any:
        if self._control is None or self._process is None:
            raise TierwiseError(f"no daemon serves {self.folder}. Remedy: start the tier first")
        try:
            return self._control.call(do, **arguments)
        except TierwiseError as error:
            with suppress(subprocess.TimeoutExpired):
                code = self._process.wait(LAST_WORDS_S)
                raise TierwiseError(f"{error}; the daemon ended with {code}: {self.said() or 'it said nothing'}") from error
            raise

    def mount(self, tier: str, **arguments: object) -> None:
        try:
            if self._process is None:
                self._start()
            self.call("mount", tier=tier, **arguments)
        except BaseException:  # an interrupt as well: a daemon without a mount would wait for ever
            if not self._mounted:
                self.end()
            raise
        self._mounted.add(tier)

    def unmounted(self, tier: str) -> None:
        """Take note that `tier` was unmounted; with the last one the daemon ends."""
        self._mounted.discard(tier)
        with suppress(TierwiseError):  # it has ended; but where another mount namespace has a copy, the kernel tells it nothing
            self.call("drop", tier=tier)
        if not self._mounted:
            self._ended()

    def end(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._ended()

    def _ended(self) -> None:
        """Wait for its end; without this limit a loop in the daemon would hold up a run for ever."""
        if self._process is not None:
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
            self.wait()

    def wait(self) -> int:
        if self._process is None:
            return 0
        code = self._process.wait()
        if self._control:
            self._control.close()
        self._process = self._control = None
        self._mounted.clear()
        self.clock = ClockKind.REAL
        return code

    def said(self) -> str:
        return (self.folder / "daemon.log").read_text(encoding="utf-8").strip()

    # Its clock

    def wait_in_real_time(self) -> None:
        if self.clock is not ClockKind.REAL:
            self.call("clock")
        self.clock = ClockKind.REAL

    def count_one(self, session: int, *, origin_s: float) -> None:
        """Count the process `session` alone; `origin_s` decides where platters stand."""
        self.call("clock", session=session, origin_s=origin_s)
        self.clock = ClockKind.VIRTUAL_ONE

    def count_several(self, group: tuple[Path, ...], *, processors: int, origin_s: float, charge: Charge = AS_USED) -> None:
        """Count the processes of a group (the folders of a `SessionGroup`) as if they had this number of processors."""
        folders = [str(folder) for folder in group]
        self.call("clock", group=folders, processors=processors, origin_s=origin_s, charge=charge.as_dict())
        self.clock = ClockKind.VIRTUAL_SEVERAL

    def time(self) -> ClockParts:
        return ClockParts(**self.call("time"))

    def sleep(self, seconds: float, *, hold: bool) -> None:
        """Let its clock of several go until it has gained these seconds; with `hold` it then stands until it is let go."""
        with closing(Sleeper(self.folder)) as sleeper:
            sleeper.sleep(seconds, hold=hold)

    def serve_sleeps(self, descriptor: int) -> None:
        self.call("sleeps", pid=os.getpid(), descriptor=descriptor)

    def history(self) -> NDArray[np.float64]:
        """Return the history of a clock of several sessions: rows of (CLOCK_MONOTONIC, its own time), in seconds."""
        path = self.folder / "history"
        try:
            self.call("history", path=str(path))
            return np.fromfile(path, dtype=np.float64).reshape(-1, 2)
        finally:
            path.unlink(missing_ok=True)

    def record(self, memory: Path, places: Mapping[int, int]) -> None:
        self.call("record", memory=str(memory), places=list(places.items()))

    def hold(self, held: bool) -> None:
        self.call("hold", held=held)

    def _start(self) -> None:
        closed_folder(self.folder)
        package = str(Path(tierwise.__file__).parents[1])
        with (self.folder / "daemon.log").open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, *self.program, str(self.folder)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))},
                start_new_session=True,  # a Ctrl-C at the terminal is for the server first
            )
        deadline_s = time.monotonic() + START_S
        while self._process.poll() is None and time.monotonic() < deadline_s:
            with suppress(OSError, TierwiseError):
                self._control = Control(Record.control(self.folder))
                self._control.call("ping")
                return
            time.sleep(0.005)
        self.end()
        raise TierwiseError(f"the daemon of emulated tiers did not start: {self.said() or f'no answer within {START_S:.0f} s'}")


class Sleeper(Control):
    """Somebody who sleeps by the clock of the daemon in `folder`, in whatever process he is."""

    def __init__(self, folder: Path):
        super().__init__(Record.control(folder), timeout_s=SLEEP_MOST_S)

    def sleep(self, seconds: float, *, hold: bool = False) -> None:
        self.call("sleep", seconds=seconds, hold=hold)
