"""Processes that read at random from an emulated tier, in a session group whose virtual clock it goes by."""

import mmap
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from emulation import emulated, opened
from tierwise.core import session_group
from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.tiers.emulated import Emulated

FILE_BYTES = 64 * MIB
READS = 200
READER = """
import mmap, os, random, sys
path, seed, count, rounds = sys.argv[1], *map(int, sys.argv[2:])
descriptor, chance = os.open(path, os.O_RDONLY | os.O_DIRECT), random.Random(seed)
buffer = mmap.mmap(-1, 8192)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(count):
    os.preadv(descriptor, [buffer], chance.randrange(8192) * 8192)
    for _ in range(rounds):
        os.sched_yield()  # which has the kernel charge it
print("done", flush=True)
sys.stdin.readline()
"""

need_groups = pytest.mark.skipif(session_group.obstacle() is not None, reason=str(session_group.obstacle()))


@contextmanager
def filled(work: Path, device: str) -> Iterator[tuple[Emulated, Path]]:
    with emulated(work, device) as tier:
        path = tier.directory / "data"
        path.write_bytes(bytes(FILE_BYTES))
        yield tier, path


def read_at_random(path: Path, count: int = READS, *, seed: int = 1) -> None:
    chance = random.Random(seed)
    with opened(path, direct=True) as descriptor, mmap.mmap(-1, PAGE_BYTES) as buffer:
        for _ in range(count):
            os.preadv(descriptor, [buffer], chance.randrange(FILE_BYTES // PAGE_BYTES) * PAGE_BYTES)


@contextmanager
def readers(path: Path, count: int, *, reads: int = READS, rounds: int = 0) -> Iterator[list[subprocess.Popen[str]]]:
    command = [sys.executable, "-c", READER, str(path)]
    started = [
        subprocess.Popen([*command, str(seed), str(reads), str(rounds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for seed in range(count)
    ]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield started
    finally:
        for process in started:
            process.communicate("\n")


@contextmanager
def virtual_readers(
    work: Path, device: str, count: int, *, reads: int = READS, rounds: int = 0, origin_s: float = 0.0
) -> Iterator[tuple[Emulated, list[subprocess.Popen[str]]]]:
    """Readers by whose clock the tier goes, which has its delays; the test's own process is not among them."""
    with filled(work, device) as (tier, path), session_group.session_group() as group, ExitStack() as ends:
        with group.entered():
            processes = ends.enter_context(readers(path, count, reads=reads, rounds=rounds))
        tier.daemon.count_several(group.folders, processors=2, origin_s=origin_s)
        tier.delays(True)
        yield tier, processes


def run(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
