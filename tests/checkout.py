"""The command line as a reader calls it, with folders of the tests' own for what it writes."""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import psutil

from tierwise.core import paths
from tierwise.timings.manifest import Manifest, load_manifest
from tierwise.timings.validation import validate_rows

PATIENCE_S = 300.0


def seed() -> int:
    """Return the seed that chooses when the tests kill what: ``SEED``, as in ``make soak SEED=7``, else 1."""
    return int(os.environ.get("SEED") or 1)


@dataclass(frozen=True)
class Home:
    """Folders of the tests' own for work, rows, site and temporary files, beside the checkout's inputs."""

    folder: Path

    def environment(self, **more: str) -> dict[str, str]:
        ours = {"TIERWISE_WORK": "work", "TIERWISE_RAW": "raw", "TIERWISE_SITE": "site", "TMPDIR": "tmp"}
        return {**os.environ, **{name: str(self.folder / place) for name, place in ours.items()}, "PROFILE": "smoke", **more}

    def command(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tierwise", *arguments]
        return subprocess.run(command, env=self.environment(**more), capture_output=True, text=True, check=False, cwd=paths.home())

    def lay_out(self, name: str, profile: str, *, without: tuple[str, ...] = ()) -> Path:
        """Return a checkout in the folder, with the inputs of this one and the profile `name`."""
        checkout = self.folder / "checkout"
        shutil.copytree(paths.data(), checkout / "data", ignore=shutil.ignore_patterns("work", "raw", "external", *without))
        for shared in ("notebooks", "report", "requirements.txt"):
            (checkout / shared).symlink_to(paths.home() / shared)
        (checkout / "data" / "profiles" / f"{name}.toml").write_text(profile, encoding="utf-8")
        return checkout

    def runs(self) -> dict[str, Manifest]:
        return {path.parent.name: load_manifest(path.parent) for path in sorted((self.folder / "raw").glob("*/manifest.json"))}

    def processes(self) -> list[str]:
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
        command = [sys.executable, "-m", "tierwise", "report"]
        with subprocess.Popen(
            command, env=self.environment(), stderr=subprocess.PIPE, text=True, cwd=paths.home(), start_new_session=True
        ) as report:
            yield report

    def parts(self) -> list[Path]:
        return list((self.folder / "raw").glob("*/parts/*/*.parquet"))

    def report_and_kill(self, chance: random.Random, *, parts: int) -> None:
        """Begin a report, and SIGKILL it with its notebook kernel once `parts` trials are measured; it must not end by itself."""
        with self.reporting() as report:
            deadline_s = time.monotonic() + PATIENCE_S
            while time.monotonic() < deadline_s and len(self.parts()) < parts:
                assert report.poll() is None, report.stderr.read() if report.stderr else ""
                time.sleep(0.05)
            time.sleep(chance.uniform(0.0, 0.5))  # anywhere in a trial
            with suppress(psutil.NoSuchProcess):
                for process in (psutil.Process(report.pid), *psutil.Process(report.pid).children()):
                    process.kill()
            report.wait(PATIENCE_S)
        for path in self.parts():
            validate_rows(pl.read_parquet(path), where=path.name)  # a row is whole or absent, at any moment


@contextmanager
def new_home() -> Iterator[Home]:
    folder = Path(tempfile.mkdtemp(prefix="tierwise-pipeline-", dir="/var/tmp"))
    folder.chmod(0o755)  # the server's account must pass
    (folder / "tmp").mkdir(mode=0o755)
    home = Home(folder)
    yield home
    assert not home.mounts()
    shutil.rmtree(folder)
