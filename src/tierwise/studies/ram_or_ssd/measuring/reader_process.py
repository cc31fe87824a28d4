"""The process that reads mapped files in its own memory group, and answers over a pipe.

A process pool would share named semaphores, and Python's resource tracker prints tracebacks about them when it is killed.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe
from typing import Final, cast

from tierwise.core.errors import TierwiseError, with_remedy
from tierwise.studies.ram_or_ssd.measuring.mapped_reads import Reading, Sample, read_mapped

DONE_S: Final = 10.0


class Reader:
    def __init__(self, pid: int, pipe: Pipe):
        self.pid = pid
        self._pipe = pipe

    def begin(self, reading: Reading) -> None:
        with suppress(BrokenPipeError):  # `samples` says so
            self._pipe.send(reading)

    def samples(self) -> list[Sample]:
        try:
            found: list[Sample] | Exception = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise TierwiseError(with_remedy("the process that reads mapped files has ended, as where memory is short")) from error
        if isinstance(found, Exception):
            raise found
        return found

    def read(self, reading: Reading) -> list[Sample]:
        self.begin(reading)
        return self.samples()


@contextmanager
def started_reader() -> Iterator[Reader]:
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        yield Reader(cast("int", process.pid), ours)  # it has been started
    finally:
        ours.close()
        process.join(DONE_S)
        process.kill()


def _serve(pipe: Pipe) -> None:
    with suppress(EOFError, OSError):
        while True:
            reading = pipe.recv()
            try:
                found: list[Sample] | Exception = read_mapped(reading)
            except Exception as error:
                found = error
            pipe.send(found)
