"""A tier on a real disk, and what that disk can do."""

import hashlib
import mmap
import os
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

from tierwise.core.errors import InputError
from tierwise.core.files import closing_fd, write_whole
from tierwise.core.private_folders import UnsafeFolderError, close_off, reached
from tierwise.core.toml import Strict
from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.core.vocabulary import Evidence
from tierwise.devices.spec import Measured
from tierwise.tiers.tier import Tier

PLACED: Final = "placed"  # a file in the tier's work folder: the one folder that it made in the reader's directory, for whoever cleans up

FILE_BYTES: Final = 256 * MIB
JOBS: Final = 8
DEPTHS: Final = (1, 2, 4, 8, 16)


class Directory(Tier):
    """A folder of our own in `directory` (absolute, or relative to `work`), on whatever disk that lies."""

    evidence = Evidence.MEASURED

    def __init__(self, name: str, directory: str, *, work: Path, owner: tuple[int, int]):
        self.name = name
        mark = hashlib.sha256(str(work.resolve()).encode()).hexdigest()[:8]  # two checkouts may name the same directory
        self.directory = work / directory / f"tierwise-{mark}"
        self._trusted = work if self.directory.is_relative_to(work) else Path("/")
        self._record = work / PLACED
        self._owner = owner

    def start(self) -> None:
        write_whole(self._record, f"{self.directory}\n")
        above = self.directory.parent
        try:
            with reached(above, start=self._trusted) as folder:
                close_off(self.directory.name, above=folder, owner=self._owner)
        except UnsafeFolderError as error:
            rule = f"must be a directory that no other user can replace or write to ({error.strerror})"
            remedy = "name a folder of your own, or of one user whom you trust"
            raise InputError(f"tier {self.name}", field="directory", value=str(above), rule=rule, remedy=remedy) from error
        except OSError as error:
            rule = f"must be a directory that can be created and given to the server's account ({error.strerror})"
            raise InputError(f"tier {self.name}", field="directory", value=str(above), rule=rule) from error


class Simulated(Directory):
    """The stand-in for an emulated tier where nothing can be mounted: a folder in `work`, and the device that is replayed afterwards."""

    evidence = Evidence.SIMULATED

    def __init__(self, name: str, device: str, *, work: Path, owner: tuple[int, int]):
        super().__init__(name, ".", work=work, owner=owner)
        self.device = device


class Calibration(Strict):
    """What a disk did in a few seconds. `direct` False: through the page cache, so the figures are of memory as much as of the disk."""

    random_read_latency_s: float  # mean, 8 KiB, one at a time
    random_read_iops_8jobs: float  # 8 KiB, eight at a time
    sequential_read_bytes_per_s: float  # 1 MiB, one at a time
    direct: bool


def calibrate(directory: Path, *, seconds: float = 3.0) -> Calibration:
    """Measure the disk of `directory` on a temporary file of 256 MiB, which goes in any case; a third of `seconds` for each figure."""
    part_s = seconds / 3
    with _filled(directory) as (descriptor, direct):
        one, eight = (_point(part_s, descriptor, PAGE_BYTES, depth, random=True) for depth in (1, JOBS))
        in_order = _point(part_s, descriptor, MIB, 1, random=False)
    return Calibration(
        random_read_latency_s=1 / one.iops,
        random_read_iops_8jobs=eight.iops,
        sequential_read_bytes_per_s=in_order.iops * MIB,
        direct=direct,
    )


def calibrated_points(directory: Path, *, seconds: float = 9.0) -> tuple[list[Measured], bool]:
    """Measure random reads of a page at each of `DEPTHS`, and reads of 1 MiB in order; return also whether they were direct."""
    part_s = seconds / (len(DEPTHS) + 1)
    with _filled(directory) as (descriptor, direct):
        random = [_point(part_s, descriptor, PAGE_BYTES, depth, random=True) for depth in DEPTHS]
        return [*random, _point(part_s, descriptor, MIB, 1, random=False)], direct


def _point(part_s: float, descriptor: int, block_bytes: int, depth: int, *, random: bool) -> Measured:
    done, took_s = _read_for(part_s, descriptor, block_bytes, FILE_BYTES // block_bytes, jobs=depth, in_order=not random)
    iops = done / took_s
    return Measured(
        operation="read",
        random=random,
        queue_depth=depth,
        block_bytes=block_bytes,
        iops=iops,
        rate_mb_s=iops * block_bytes / 1e6,
        mean_ms=1e3 * depth / iops,
    )


@contextmanager
def _filled(directory: Path) -> Iterator[tuple[int, bool]]:
    """Yield the descriptor of a temporary file of `FILE_BYTES` in `directory`, and whether its reads are direct."""
    with NamedTemporaryFile(dir=directory, prefix=".tierwise-calibration-") as file:
        for _ in range(FILE_BYTES // MIB):
            file.write(random.randbytes(MIB))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        try:
            descriptor, direct = os.open(file.name, os.O_RDONLY | os.O_DIRECT), True
        except OSError:
            descriptor, direct = os.open(file.name, os.O_RDONLY), False
        with closing_fd(descriptor):
            yield descriptor, direct


def _read_for(duration_s: float, descriptor: int, size: int, places: int, *, jobs: int, in_order: bool = False) -> tuple[int, float]:
    started_s = time.perf_counter()

    def read(job: int) -> int:
        chance, done = random.Random(job), 0
        with mmap.mmap(-1, size) as buffer:  # aligned to a page, as direct reads demand
            while time.perf_counter() - started_s < duration_s or not done:
                os.preadv(descriptor, [buffer], (done % places if in_order else chance.randrange(places)) * size)
                done += 1
        return done

    with ThreadPoolExecutor(jobs) as pool:
        done = sum(pool.map(read, range(jobs)))
    return done, time.perf_counter() - started_s
