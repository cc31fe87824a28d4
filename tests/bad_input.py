"""What becomes of a mutated file, option or variable: a right answer, one clear line, or a fault, found by a child process."""

import io
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Final, Self

from tierwise.core.errors import InputError
from tierwise.core.units import GIB

PROCESSOR_S: Final = 10.0  # most processor time of a case, in seconds: what others make it wait is none
RESIDENT_BYTES: Final = 1 * GIB  # most memory that a process may hold at any moment of a case
LINE: Final = 2000  # characters that one clear line has at most; a list of everything that could be named is in it


@dataclass(frozen=True)
class Case:
    """One thing that a reader may touch, as it was mutated: `content` of `file`, `options` of a command, variables of the `environment`."""

    target: str
    file: str = ""
    content: bytes = b""
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """How a case ended: `line` is what the reader is reported (empty: a right answer), `fault` what he should never see."""

    line: str = ""
    fault: str = ""
    processor_s: float = 0.0
    resident_bytes: int = 0

    def check(self, processor_s: float = PROCESSOR_S) -> None:
        assert not self.fault, self.fault
        assert "\n" not in self.line.strip(), f"more than one line: {self.line}"
        assert len(self.line) <= LINE, f"{len(self.line)} characters: {self.line[:LINE]}"
        assert self.processor_s <= processor_s, f"{self.processor_s:.1f} s of processor time"
        assert self.resident_bytes <= RESIDENT_BYTES, f"{self.resident_bytes / GIB:.2f} GiB resident"


class Child:
    """A process that answers case after case with `load`, and a new one where that has died."""

    def __init__(self, home: Path, load: Callable[[Case], None]):
        self._home, self._load, self._pool = home, load, self._begun(home)

    @staticmethod
    def _begun(home: Path) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(1, get_context("spawn"), _limit, (home,))

    def answer(self, case: Case, *, processor_s: float = PROCESSOR_S) -> Outcome:
        try:
            return self._pool.submit(answer, self._load, self._home, case, processor_s).result()
        except BrokenProcessPool:
            self._pool = self._begun(self._home)
            return Outcome(fault=f"the process died: a panic, or over {PROCESSOR_S:g} s of processor time")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()


def _limit(home: Path) -> None:
    """Set up the child: its home, and a bound on memory well above what a case may take, so that the machine does not suffer."""
    os.environ["TIERWISE_HOME"] = str(home)
    os.chdir(home)
    resource.setrlimit(resource.RLIMIT_DATA, (6 * GIB, 6 * GIB))


def answer(load: Callable[[Case], None], home: Path, case: Case, processor_s: float) -> Outcome:
    _forget()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak counts from here
    begun_s = _processor_s()
    signal.setitimer(signal.ITIMER_PROF, processor_s)
    try:
        with _mutated(home, case), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
            line, fault = _reported(load, case, said)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return Outcome(line, fault, _processor_s() - begun_s, _peak_bytes())


def _reported(load: Callable[[Case], None], case: Case, said: io.StringIO) -> tuple[str, str]:
    try:
        load(case)
    except InputError as error:
        return str(error), ""
    except SystemExit as ended:
        reported = said.getvalue()
        return reported, "" if ended.code in {0, 2, None} else f"exit code {ended.code}: {reported}"
    except BaseException:
        return "", traceback.format_exc()
    return "", ""


@contextmanager
def _mutated(home: Path, case: Case) -> Iterator[None]:
    argv, variables = sys.argv, dict(os.environ)
    with _spoilt(home, case):
        os.environ.update(case.environment)
        sys.argv = ["tierwise", *case.options]
        try:
            yield
        finally:
            sys.argv = argv
            os.environ.clear()
            os.environ.update(variables)


@contextmanager
def _spoilt(home: Path, case: Case) -> Iterator[None]:
    if not case.file:
        yield
        return
    place = home / case.file
    before = place.read_bytes()
    try:
        place.write_bytes(case.content)
        yield
    finally:
        place.write_bytes(before)


def _forget() -> None:
    """Empty what our modules remember of files that they have read, but for what they know of the code, which is no case's."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tierwise") and name != "tierwise.bench.code_digests":
            for value in list(vars(module).values()):
                with suppress(AttributeError):
                    value.cache_clear()


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _peak_bytes() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024
