"""Where faults are injected: a copy of the checkout, with a profile that is small enough, and folders of its own for all that it writes."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

from checkout import Home
from tierwise.core import control_groups, paths
from tierwise.tiers.reclaim import reclaim

if TYPE_CHECKING:
    from faults.kinds import Kind

PROFILE: Final = "fault"
WATCH: Final = Path(__file__).parent / "watch"
COMMAND: Final = ("report", "--yes")


def tracked() -> list[str]:
    """Every file of the checkout that git knows."""
    told = subprocess.run(["git", "ls-files", "-z"], cwd=paths.home(), capture_output=True, text=True, check=True).stdout
    return [name for name in told.split("\0") if name and (paths.home() / name).is_file()]


@dataclass
class Life:
    """One call of the command, from its start to its end: by itself, or by a fault."""

    report: psutil.Popen
    folder: Path
    watch: Path
    seen: set[int] = field(default_factory=set)

    def processes(self) -> list[psutil.Process]:
        """Everything that lives of it: the command, its kernels, servers, daemons, clients and tracers."""
        found: dict[int, psutil.Process] = {}
        with suppress(psutil.NoSuchProcess):
            root = psutil.Process(self.report.pid)
            found = {one.pid: one for one in (root, *root.children(recursive=True))}
        for process in psutil.process_iter(["cmdline", "cwd"]):
            words = " ".join([*(process.info["cmdline"] or []), process.info["cwd"] or ""])
            if str(self.folder) in words and process.pid != os.getpid():
                found[process.pid] = process
                with suppress(psutil.NoSuchProcess):
                    found |= {one.pid: one for one in process.children(recursive=True)}
        self.seen |= found.keys()
        return [one for one in found.values() if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]

    @property
    def ended(self) -> bool:
        return self.report.poll() is not None

    def said(self) -> str:
        """What it wrote on standard error."""
        return self.watch.joinpath("said").read_text(encoding="utf-8", errors="replace")

    def arrived(self) -> int | None:
        """The process that has come to the phase which is waited for."""
        with suppress(FileNotFoundError):
            return int(self.watch.joinpath("here").read_text(encoding="utf-8").split()[0])
        return None

    def phase(self) -> str:
        """The phase that was met last."""
        with suppress(FileNotFoundError):
            return self.watch.joinpath("phases").read_text(encoding="utf-8").splitlines()[-1].split(maxsplit=2)[2]
        return "starting"

    def go_on(self) -> None:
        """Let whoever stands still go on."""
        self.watch.joinpath("go").touch()

    def wait(self, patience_s: float) -> bool:
        """Wait for its end; False where it outlives `patience_s`."""
        until_s = time.monotonic() + patience_s
        while not self.ended and time.monotonic() < until_s:
            time.sleep(0.05)
        return self.ended


class Place(Home):
    """Folders of one campaign in `base`: the copy of the checkout, and ``run``, which has all that a run writes.

    `group`: the control group that runs are started in.
    """

    group: Path | None

    def __init__(self, base: Path):
        super().__init__(base / "run")
        self.base, self.copy = base, base / "checkout"
        self.group = None

    def lay_out(self) -> None:
        """Copy the checkout as git knows it, with the profile of the campaign."""
        if self.copy.exists():
            return
        part = self.copy.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        for name in tracked():
            (part / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(paths.home() / name, part / name)
        shutil.copy(Path(__file__).with_name("fault.toml"), part / "data" / "profiles" / f"{PROFILE}.toml")
        part.rename(self.copy)

    def environment(self, **more: str) -> dict[str, str]:
        path = f"{WATCH}{os.pathsep}{self.copy / 'src'}"
        return super().environment(**{"PROFILE": PROFILE, "PYTHONPATH": path, "TIERWISE_HOME": str(self.copy), "ENGINE": "plain", **more})

    @contextmanager
    def new_run(self, kind: "Kind") -> Iterator[None]:
        """Begin anew, with what `kind` needs: no rows, no report, nothing loaded."""
        reclaim(self.base)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o755)
        with kind.around(self):
            (self.folder / "tmp").mkdir(mode=0o755)
            self.own_mounts = self.mounts()
            yield

    @contextmanager
    def living(self, kind: "Kind", phase: str = "", nth: int = 1) -> Iterator[Life]:
        """The command under way, to be told of once it comes to `phase` for the `nth` time."""
        watch = self.folder / "watch"
        shutil.rmtree(watch, ignore_errors=True)
        watch.mkdir()
        environment = self.environment(FAULT_WATCH=str(watch), FAULT_PHASE=phase, FAULT_NTH=str(nth), **kind.environment(self))
        with (watch / "said").open("w", encoding="utf-8") as said:
            report = psutil.Popen(
                [sys.executable, "-m", "tierwise", *COMMAND],
                env=environment,
                stderr=said,
                stdout=said,
                cwd=self.copy,
                start_new_session=True,
            )
            if self.group:
                control_groups.take_in(self.group, report.pid)
            life = Life(report, self.folder, watch)
            try:
                yield life
            finally:
                life.go_on()
                for process in () if life.ended else life.processes():
                    with suppress(psutil.NoSuchProcess):
                        process.kill()
                report.wait()
