"""Threads that read items of a file through mmap, by a scrambled Zipfian: the published benchmark on a real file.

Runs in its own process, so that a memory group can hold it. Compiled threads without the interpreter's lock draw their items
themselves, and sum up what they read to compare it with what the file must hold.
"""

import mmap
import os
import resource
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from random import Random
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from tierwise.core.compiled import released
from tierwise.core.errors import TierwiseError, with_remedy
from tierwise.core.units import KIB
from tierwise.simulate.zipfian import item_of, mix_of, rank_of

ITEM_BYTES: Final = KIB
ITEM_WORDS: Final = ITEM_BYTES // 8
PAGE_BYTES: Final = 4 * KIB
CHUNK_ITEMS: Final = 2**14
DRAW_BITS: Final = 62  # bits of a thread's first draw number, so that no two threads ever reach the same one
_CACHE_LINE_WORDS: Final = 8
_READS, _WRONG = 0, 1

Words = NDArray[np.int64]


@dataclass(frozen=True)
class Reading:
    path: Path
    items: int
    scale: int  # how many real items one stands for (`zipfian.item_of`)
    threads: int
    random: bool  # MADV_RANDOM: the kernel reads only the missing page
    intervals: int
    interval_s: float
    seed: int


@dataclass(frozen=True)
class Sample:
    time_s: float
    reads: int
    major_faults: int  # reads that had to wait for a page
    read_bytes: int  # that this process had a disk read; 0 on a mount that another process serves
    wrong: int  # items that did not hold what was written


def write_items(path: Path, items: int) -> None:
    """Write a file of `items` items, in whole pages: each word holds its own number."""
    words = -(-items * ITEM_BYTES // PAGE_BYTES) * PAGE_BYTES // 8
    with path.open("wb") as file:
        for first in range(0, words, CHUNK_ITEMS * ITEM_WORDS):
            file.write(np.arange(first, min(words, first + CHUNK_ITEMS * ITEM_WORDS), dtype=np.int64).tobytes())
        file.flush()
        os.fsync(file.fileno())


def read_mapped(reading: Reading) -> list[Sample]:
    """Read as requested, with a sample at the beginning and at the end of each interval, which lasts as long as the samples say."""
    with reading.path.open("rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
    mapping.madvise(mmap.MADV_RANDOM if reading.random else mmap.MADV_NORMAL)
    items = np.frombuffer(mapping, np.int64, reading.items * ITEM_WORDS).reshape(reading.items, ITEM_WORDS)
    counts = np.zeros((reading.threads, _CACHE_LINE_WORDS), np.int64)
    stop = np.ones(1, np.int64)
    read_items(items, reading.scale, 0, counts[0], stop)  # compiled, and nothing read
    stop[0] = 0
    with ThreadPoolExecutor(reading.threads) as pool:
        begun = [
            pool.submit(read_items, items, reading.scale, Random(f"{reading.seed}/{thread}").getrandbits(DRAW_BITS), counts[thread], stop)
            for thread in range(reading.threads)
        ]
        try:
            samples = _sample(counts, reading)
        finally:
            stop[0] = 1
        for thread in begun:
            thread.result()
    del items, begun  # a mapping cannot be closed while an array looks into it
    mapping.close()
    return samples


@released
def read_items(items: Words, scale: int, first_draw: int, counts: Words, stop: Words) -> None:
    draw = first_draw
    while not stop[0]:
        item = item_of(rank_of((mix_of(draw) >> 10) * 2.0**-53), len(items), scale)
        draw += 1
        words, total = items[item], 0
        for at in range(ITEM_WORDS):
            total += words[at]
        # The sum of ITEM_WORDS numbers from item * ITEM_WORDS on.
        counts[_WRONG] += total != ITEM_WORDS * ITEM_WORDS * item + ITEM_WORDS * (ITEM_WORDS - 1) // 2
        counts[_READS] += 1


def _sample(counts: Words, reading: Reading) -> list[Sample]:
    begun_s = time.monotonic()
    samples = [_now(counts)]
    for interval in range(1, reading.intervals + 1):
        time.sleep(max(0.0, begun_s + interval * reading.interval_s - time.monotonic()))
        samples.append(_now(counts))
    return samples


def _now(counts: Words) -> Sample:
    reads, wrong = counts[:, : _WRONG + 1].sum(axis=0).tolist()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
    io = dict(line.split(": ") for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines())
    return Sample(time.monotonic(), reads, faults, int(io["read_bytes"]), wrong)


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
    """Start the process that reads. A process pool would share named semaphores, of which Python complains when the process is killed."""
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
