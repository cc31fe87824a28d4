"""A report that is killed, stopped or starved at random moments, however often, loses nothing: it is resumed to the same rows."""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

import polars as pl
import psutil
import pytest

from checkout import PATIENCE_S, Home, seed
from tierwise.core import control_groups, paths
from tierwise.tiers.reclaim import reclaim
from tierwise.timings.manifest import load_manifest
from tierwise.timings.parts import ROW, read_rows
from tierwise.timings.validation import validate_rows

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK), reason="faults are injected by root, with FUSE"),
]

FAULTS = 6  # number of faults of each kind, all of which strike one run
DISK = "6G"


class Struck(Home):
    """Folders of one run, which measures a profile as small as possible (`fault_profile.toml`) in a copy of the checkout."""

    group: Path | None = None

    def environment(self, **more: str) -> dict[str, str]:
        copy = self.folder.parent / "checkout"
        ours = {"PROFILE": "fault", "PYTHONPATH": str(copy / "src"), "TIERWISE_HOME": str(copy), "ENGINE": "plain"}
        return super().environment(**ours, **more)

    @property
    def log(self) -> Path:
        return self.folder.with_suffix(".log")

    @contextmanager
    def life(self) -> Iterator[psutil.Popen]:
        command = [sys.executable, "-m", "tierwise", "report", "--yes"]
        with self.log.open("w", encoding="utf-8") as log:
            report = psutil.Popen(command, env=self.environment(), stderr=log, stdout=log, cwd="/", start_new_session=True)
            if self.group is not None:
                control_groups.take_in(self.group, report.pid)
            try:
                yield report
            finally:
                for process in () if report.poll() is not None else self.living(report):
                    with suppress(psutil.NoSuchProcess):
                        process.kill()

    def living(self, report: psutil.Popen) -> list[psutil.Process]:
        found = {report, *psutil.Process(report.pid).children(recursive=True)} if report.poll() is None else set()
        for process in psutil.process_iter(["cmdline", "cwd"]):
            if str(self.folder) in " ".join([*(process.info["cmdline"] or []), process.info["cwd"] or ""]):
                with suppress(psutil.NoSuchProcess):
                    found |= {process, *process.children(recursive=True)}
        return sorted(found, key=lambda process: process.pid)

    def to_its_end(self) -> Path:
        """Resume the run undisturbed; it must leave nothing behind but its folder, which is returned."""
        with self.life() as report:
            report.wait(4 * PATIENCE_S)
        assert report.returncode == 0, self.log.read_text(encoding="utf-8")
        assert self.processes() == []
        assert [line for line in self.mounts() if f" {self.folder} " not in line] == []
        assert [path for path in self.folder.rglob("*") if path.name.endswith(".part") and "work" not in path.parts] == []
        assert list((self.folder / "tmp").iterdir()) == []
        (run,) = (folder for folder in (self.folder / "raw").iterdir() if (folder / "manifest.json").exists())
        return run

    def write(self, name: str, value: int) -> None:
        """Set a limit of the control group that has all processes of the run."""
        assert self.group is not None
        (self.group / name).write_text(f"{value}\n", encoding="ascii")


def kill(home: Struck, living: list[psutil.Process], chance: random.Random) -> None:
    for process in living if chance.random() < 0.3 else [chance.choice(living)]:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def stop(home: Struck, living: list[psutil.Process], chance: random.Random) -> None:
    stopped = living if chance.random() < 0.5 else [chance.choice(living)]
    for process in stopped:
        with suppress(psutil.NoSuchProcess):
            process.suspend()
    time.sleep(chance.uniform(1.0, 5.0))
    for process in stopped:
        with suppress(psutil.NoSuchProcess):
            process.resume()


def hold_processors(home: Struck, living: list[psutil.Process], chance: random.Random) -> None:
    """Leave all processes together a fiftieth of one processor for some seconds."""
    home.write("cpu.cfs_quota_us", 2_000)
    time.sleep(chance.uniform(3.0, 10.0))
    home.write("cpu.cfs_quota_us", -1)


def take_memory(home: Struck, living: list[psutil.Process], chance: random.Random) -> None:
    """Leave all processes together less memory than they hold, so that the kernel kills one of them."""
    assert home.group is not None
    used_bytes = int((home.group / "memory.usage_in_bytes").read_text(encoding="ascii"))
    for percent in range(chance.randint(30, 70), 100, 5):
        with suppress(OSError):  # pages that nobody can give up now
            home.write("memory.limit_in_bytes", used_bytes * percent // 100)
            return


def fill_disk(home: Struck, living: list[psutil.Process], chance: random.Random) -> None:
    with (home.folder / "filler").open("wb") as filler, suppress(OSError):
        os.posix_fallocate(filler.fileno(), 0, shutil.disk_usage(home.folder).free)


@contextmanager
def small_disk(home: Struck) -> Iterator[None]:
    image = home.folder.with_suffix(".disk")
    subprocess.run(["truncate", "-s", DISK, image], check=True)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, home.folder], check=True)
    try:
        (home.folder / "lost+found").rmdir()
        yield
    finally:
        subprocess.run(["umount", "-l", home.folder], check=True)


@contextmanager
def grouped(home: Struck, controller: str) -> Iterator[None]:
    parent = control_groups.own(controller)
    if parent is None:
        pytest.skip(f"no control group of version 1 has {controller}")
    home.group = control_groups.make(parent, "faults")
    try:
        yield
    finally:
        control_groups.remove(home.group)


def as_it_is(home: Struck) -> AbstractContextManager[None]:
    return nullcontext()


Fault = Callable[[Struck, list[psutil.Process], random.Random], None]
KINDS: dict[str, tuple[Fault, Callable[[Struck], AbstractContextManager[None]]]] = {
    "SIGKILL": (kill, as_it_is),
    "stopped": (stop, as_it_is),
    "processors held": (hold_processors, lambda home: grouped(home, "cpu")),
    "memory short": (take_memory, lambda home: grouped(home, "memory")),
    "disk full": (fill_disk, small_disk),
}


@pytest.fixture(scope="module")
def base() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="tierwise-faults-", dir="/var/tmp"))
    folder.chmod(0o755)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=paths.home(), capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, listed):
        (folder / "checkout" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(paths.home() / name, folder / "checkout" / name)
    shutil.copy(Path(__file__).with_name("fault_profile.toml"), folder / "checkout" / "data" / "profiles" / "fault.toml")
    try:
        yield folder
    finally:
        reclaim(folder)
        shutil.rmtree(folder)


def new_run(base: Path, name: str) -> Struck:
    home = Struck(base / name)
    home.folder.mkdir(mode=0o755)
    return home


@pytest.fixture(scope="module")
def undisturbed(base: Path) -> tuple[Path, float]:
    home, begun_s = new_run(base, "undisturbed"), time.monotonic()
    (home.folder / "tmp").mkdir(mode=0o755)
    return home.to_its_end(), time.monotonic() - begun_s


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_that_is_struck_at_random_moments_is_resumed_to_the_same_rows(
    base: Path, undisturbed: tuple[Path, float], kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (expected, took_s), (strike, around), chance = undisturbed, KINDS[kind], random.Random(f"{seed()} {kind}")
    home = new_run(base, kind.replace(" ", "-"))
    with around(home):
        (home.folder / "tmp").mkdir(mode=0o755)
        struck = 0
        while struck < FAULTS:
            with home.life() as report:
                while struck < FAULTS and report.poll() is None:
                    with suppress(psutil.TimeoutExpired):
                        report.wait(chance.uniform(0.0, 2.0 * took_s / FAULTS))
                    if (living := home.living(report)) and report.poll() is None:
                        strike(home, living, chance)
                        struck += 1
                        with capsys.disabled():
                            print(f"SEED={seed()} {kind} {struck} of {FAULTS}, {len(home.parts())} trials kept", flush=True)
                report.wait(4 * PATIENCE_S)
            (home.folder / "filler").unlink(missing_ok=True)
            if home.group is not None and strike is take_memory:
                home.write("memory.limit_in_bytes", -1)
            check_whole(home, report.returncode)
            if report.returncode == 0:
                break  # there is nothing left to strike
        assert struck
        check_same(read_rows(expected), read_rows(home.to_its_end()), calibrated=load_manifest(expected).calibrations)


def check_whole(home: Struck, code: int) -> None:
    """After a life that has ended by itself or by a fault: rows are whole or absent, and an error names cause and remedy."""
    for path in home.parts():
        validate_rows(pl.read_parquet(path), where=path.name)
    said = home.log.read_text(encoding="utf-8", errors="replace")
    assert "Traceback" not in re.sub(r'Traceback \(most recent call last\):\n  File "[^"]*zmq/eventloop', "", said), said
    last = (said.strip().splitlines() or [""])[-1]
    assert code <= 0 or ("tierwise: " in last and re.search(r"Remedy|Linux|resume", last)), said


def check_same(expected: pl.DataFrame, found: pl.DataFrame, *, calibrated: Iterable[str]) -> None:
    """Hold the rows of a struck run against those of an undisturbed one: the same trials, simulated values and pages read."""
    key = list(ROW)
    assert sorted(found.select(key).rows()) == sorted(expected.select(key).rows())
    both = expected.join(found, on=key, suffix="_here")
    simulated = both.filter(pl.col("evidence") == "simulated", ~pl.col("pair").is_in({name.partition("/")[0] for name in calibrated}))
    for column in ("elapsed_s", "result_rows", "relation_io", "tier_io"):
        assert simulated.filter(pl.col(column).ne_missing(pl.col(f"{column}_here"))).is_empty(), column
    for row in both.filter((pl.col("clock") == "virtual-one") & (pl.col("clock_here") == "virtual-one")).iter_rows(named=True):
        for column, name in (("relation_io", "relation"), ("tier_io", "tier")):
            was, now = ({io[name]: io["reads"] for io in row[column]} for column in (column, f"{column}_here"))
            assert was == now, [row[name] for name in key]
