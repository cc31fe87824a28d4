"""Where faults are injected: a copy of the checkout, with a profile that is small enough, and folders of its own for all that it writes."""

import hashlib
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
from tierwise.core.files import write_whole
from tierwise.tiers.reclaim import reclaim

if TYPE_CHECKING:
    from faults.kinds import Kind

PROFILE: Final = "fault"
OWN_PROFILE: Final = Path(__file__).with_name(f"{PROFILE}.toml")
WATCH: Final = Path(__file__).parent / "watch"
MEASURED: Final = ("loading", "measuring", "writing rows", "renaming")
"""Phases that a run comes to again and again, until all is measured; renaming is of rows and of what lies beside them."""
ONCE: Final = ("merging", "rendering", "exporting")
"""Phases after those, in their order; the last two take turns, chapter after chapter."""
PHASES: Final = MEASURED + ONCE
ANY: Final = "any moment"
STARTING: Final = "starting"
COMMAND: Final = ("report", "--yes")


PRODUCT: Final = (
    *("src", "notebooks", "data", ":!data/validation", ":!data/reference"),
    *(":!data/plan", ":!src/tierwise/studies/*/measuring/forecast.toml"),  # by which minutes are told beforehand
    *("Makefile", "pyproject.toml", "requirements.txt", "environment.yml"),
)
"""What a run hangs on, as git names it: what was tried stays true while this is the same."""


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=paths.home(), capture_output=True, text=True, check=True).stdout.strip()


def tracked(*which: str) -> list[str]:
    """Every file of the checkout that git knows, or of `which`."""
    return [name for name in git("ls-files", "-z", "--", *which).split("\0") if name and (paths.home() / name).is_file()]


def product() -> str:
    """Digest of the `PRODUCT` as it lies here, and of the campaign's profile."""
    digest = hashlib.sha256(OWN_PROFILE.read_bytes())
    for name in tracked(*PRODUCT):
        digest.update(name.encode() + b"\0" + hashlib.sha256((paths.home() / name).read_bytes()).digest())
    return digest.hexdigest()[:16]


def commit() -> str:
    """The last commit that changed the `PRODUCT`."""
    changed = "-dirty" if git("status", "--porcelain", "--untracked-files=no", "--", *PRODUCT) else ""
    return git("log", "-1", "--format=%h", "--", *PRODUCT) + changed


def phases_met(watch: Path) -> list[str]:
    """The phases that were met by the last life that `watch` was of, one for each time."""
    with suppress(FileNotFoundError):
        return [line.split(maxsplit=2)[2] for line in watch.joinpath("phases").read_text(encoding="utf-8").splitlines()]
    return []


def working_in(folder: Path) -> Iterator[psutil.Process]:
    """Every process whose words or working folder name `folder`, but for this one."""
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words = " ".join([*(process.info["cmdline"] or []), process.info["cwd"] or ""])
        if str(folder) in words and process.pid != os.getpid():
            yield process


@dataclass
class Life:
    """One call of the command, from its start to its end: by itself, or by a fault."""

    report: psutil.Popen
    folder: Path
    watch: Path
    seen: set[int] = field(default_factory=set)
    awaited: int = 0
    """How many moments were waited for, this one too."""

    def processes(self) -> list[psutil.Process]:
        """Everything that lives of it: the command, its kernels, servers, daemons, clients and tracers."""
        found: dict[int, psutil.Process] = {}
        with suppress(psutil.NoSuchProcess):
            root = psutil.Process(self.report.pid)
            found = {one.pid: one for one in (root, *root.children(recursive=True))}
        for process in working_in(self.folder):
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

    def last(self) -> str:
        """The last line of it."""
        return (self.said().strip().splitlines() or [""])[-1]

    def phase(self) -> str:
        """The phase that was met last."""
        return (phases_met(self.watch) or [STARTING])[-1]

    def over(self, phase: str) -> bool:
        """Whether `phase` does not come again, though the run goes on."""
        return phase not in ONCE[1:] and any(met in ONCE and PHASES.index(met) > PHASES.index(phase) for met in phases_met(self.watch))

    def await_phase(self, phase: str, nth: int) -> None:
        """Have whoever comes to `phase` for the `nth` time from now on tell so, and stand still where that is over at once."""
        self.awaited += 1
        write_whole(self.watch / "awaited", f"{self.awaited} {phases_met(self.watch).count(phase) + nth} {phase}")

    def arrived(self) -> int | None:
        """The process that has come to the phase which is waited for."""
        with suppress(FileNotFoundError):
            return int(self.watch.joinpath(f"here-{self.awaited}").read_text(encoding="utf-8").split()[0])
        return None

    def go_on(self) -> None:
        """Let whoever stands still go on."""
        self.watch.joinpath(f"go-{self.awaited}").touch()

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
        self.watch = base / "watch"  # where no disk is full
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
        shutil.copy(OWN_PROFILE, part / "data" / "profiles" / f"{PROFILE}.toml")
        part.rename(self.copy)

    def environment(self, **more: str) -> dict[str, str]:
        path = f"{WATCH}{os.pathsep}{self.copy / 'src'}"
        return super().environment(**{"PROFILE": PROFILE, "PYTHONPATH": path, "TIERWISE_HOME": str(self.copy), "ENGINE": "plain", **more})

    @contextmanager
    def new_run(self, kind: "Kind") -> Iterator[None]:
        """Begin anew, with what `kind` needs: no rows, no report, nothing loaded, and nothing of a campaign that was killed."""
        left = list(working_in(self.base))  # a command that has just begun names nothing of its folder yet
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left)  # what still writes makes its folders anew
        reclaim(self.base)
        while any(line.split()[1] == str(self.folder) for line in self.mounts()):
            subprocess.run(["umount", "-l", self.folder], check=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o755)
        with kind.around(self):
            (self.folder / "tmp").mkdir(mode=0o755)
            self.own_mounts = self.mounts()
            yield

    @contextmanager
    def living(self, kind: "Kind") -> Iterator[Life]:
        """The command under way."""
        shutil.rmtree(self.watch, ignore_errors=True)
        self.watch.mkdir()
        environment = self.environment(FAULT_WATCH=str(self.watch), **kind.environment(self))
        with (self.watch / "said").open("w", encoding="utf-8") as said:
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
            life = Life(report, self.folder, self.watch)
            try:
                yield life
            finally:
                life.go_on()
                for process in () if life.ended else life.processes():
                    with suppress(psutil.NoSuchProcess):
                        process.kill()
                report.wait()
