"""The command line as a reader calls it, with folders of the tests' own for work, rows and site."""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tierwise.core import paths
from tierwise.timings.manifest import Manifest, load_manifest

PATIENCE_S = 300.0


@dataclass(frozen=True)
class Home:
    """Folders of the tests' own for work, rows and site, beside the checkout's inputs."""

    folder: Path

    def environment(self, **more: str) -> dict[str, str]:
        ours = {"TIERWISE_WORK": "work", "TIERWISE_RAW": "raw", "TIERWISE_SITE": "site"}
        return {**os.environ, **{name: str(self.folder / place) for name, place in ours.items()}, "PROFILE": "smoke", **more}

    def command(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run ``tierwise`` as `make` does, to its end."""
        command = [sys.executable, "-m", "tierwise", *arguments]
        return subprocess.run(command, env=self.environment(**more), capture_output=True, text=True, check=False, cwd=paths.home())

    def runs(self) -> dict[str, Manifest]:
        return {path.parent.name: load_manifest(path.parent) for path in sorted((self.folder / "raw").glob("*/manifest.json"))}

    def processes(self) -> list[str]:
        """Command lines and folders of every process that works in here."""
        found = []
        for process in psutil.process_iter(["cmdline", "cwd"]):
            words = " ".join([*(process.info["cmdline"] or []), process.info["cwd"] or ""])
            if str(self.folder) in words:
                found.append(words)
        return found

    def mounts(self) -> list[str]:
        return [line for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines() if str(self.folder) in line]

    @contextmanager
    def reporting(self) -> Iterator[subprocess.Popen[str]]:
        """``tierwise report``, under way."""
        command = [sys.executable, "-m", "tierwise", "report"]
        with subprocess.Popen(
            command, env=self.environment(), stderr=subprocess.PIPE, text=True, cwd=paths.home(), start_new_session=True
        ) as report:
            yield report

    def parts(self) -> list[Path]:
        """What an unfinished run has measured so far."""
        return list((self.folder / "raw").glob("*/parts/*/*.parquet"))

    def wait_for_parts(self, count: int, report: subprocess.Popen[str]) -> None:
        """Until `count` trials are measured; fails where the report ends before, or takes too long."""
        deadline_s = time.monotonic() + PATIENCE_S
        while len(self.parts()) < count:
            assert time.monotonic() < deadline_s, f"no {count} trials in {PATIENCE_S:.0f} s"
            assert report.poll() is None, report.stderr.read() if report.stderr else ""
            time.sleep(0.1)

    def kill_runner(self, report: subprocess.Popen[str]) -> None:
        """SIGKILL to the command and its notebook kernel; server and mounts are left behind."""
        runners = [psutil.Process(report.pid), *psutil.Process(report.pid).children()]
        for process in runners:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)

    def kill_something(self, report: subprocess.Popen[str], chance: random.Random) -> str:
        """SIGKILL to the runner, a server or an emulator's daemon, whichever chance says; says which."""
        ours = [process for process in psutil.process_iter(["cmdline"]) if str(self.folder) in " ".join(process.info["cmdline"] or [])]
        victims = {
            "runner": [psutil.Process(report.pid)],
            "server": [process for process in ours if process.name() == "postgres"],
            "daemon": [process for process in ours if "tierwise.tiers.server" in process.cmdline()],
        }
        name = chance.choice([name for name, processes in victims.items() if processes])
        if name == "runner":
            self.kill_runner(report)
        else:
            with suppress(psutil.NoSuchProcess):
                chance.choice(victims[name]).kill()
        return name


@contextmanager
def new_home() -> Iterator[Home]:
    """Folders that the server's account can enter; gone at the end, which must find nothing mounted there."""
    folder = Path(tempfile.mkdtemp(prefix="tierwise-pipeline-", dir="/var/tmp"))
    folder.chmod(0o755)  # the server's account must pass
    home = Home(folder)
    yield home
    assert not home.mounts()
    shutil.rmtree(folder)
