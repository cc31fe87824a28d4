"""One mount of a daemon: the kernel's messages for it, and their answers."""

import errno
import mmap
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tierwise.core.units import KIB
from tierwise.devices.model import build
from tierwise.devices.slowed_device import BusyTime, SlowedDevice
from tierwise.devices.spec import load_device
from tierwise.tiers import fuse_abi as abi
from tierwise.tiers.clock import AnyClock
from tierwise.tiers.filesystem import Filesystem
from tierwise.tiers.fuse_abi import Fopen, Opcode
from tierwise.tiers.mounting import mount
from tierwise.tiers.nodes import Extents, Nodes
from tierwise.tiers.transfers import Answer, Transfers, Workers

if TYPE_CHECKING:
    from tierwise.tiers.quick_reads import QuickReads

READ_AHEAD_BYTES: Final = 128 * KIB  # the kernel's read-ahead where its page cache is used: Linux's default

SLOW_READS: Final = 50_000
"""Reads without delays that Python answers before it loads the code that is quicker: to load that takes about what it saves of these."""

_START: Final = mmap.PAGESIZE - abi.PAYLOAD_OFFSET  # where a message begins in its buffer, so that the data of a WRITE begin on a page


class Unmounted(Exception):  # noqa: N818 - an event, not an error
    """The kernel asks nothing of this mount any more."""


class Volume:
    """The directory `backing` shown at `mountpoint` as if it lay on `device`; `cache` lets the kernel keep pages."""

    def __init__(
        self, device: str, backing: Path, mountpoint: Path, *, seed: int, stretch: float, cache: bool, workers: Workers, clock: AnyClock
    ):
        drives: list[BusyTime] = []
        model = SlowedDevice(build(load_device(device), seed=seed, stretch=stretch, drives=drives), drives)
        self.mountpoint, self.cached = mountpoint, cache
        self._extents = Extents(backing.with_name(f"{backing.name}.extents"), model.capacity_bytes)
        self._nodes = Nodes(backing, self._extents)
        open_flags = Fopen.KEEP_CACHE if cache else Fopen.DIRECT_IO | Fopen.PARALLEL_DIRECT_WRITES
        self._operations = Filesystem(self._nodes, open_flags=open_flags).operations
        self.transfers = Transfers(model, self._nodes, self._reply, workers, clock)
        self._buffer = memoryview(mmap.mmap(-1, mmap.PAGESIZE + abi.REQUEST_BYTES))
        self._message = [self._buffer[_START:]]
        self._accepted = abi.Init.WANTED
        self._transfer = {Opcode.READ: self.transfers.read, Opcode.WRITE: self.transfers.write, Opcode.FSYNC: self.transfers.flush}
        self._quick: QuickReads | None = None
        self._slow_reads = 0  # without delays
        self.descriptor = mount(mountpoint)
        self._clock = clock

    def go_by(self, clock: AnyClock) -> None:
        self.transfers.go_by(clock)
        self._clock = clock

    def close(self) -> None:
        os.close(self.descriptor)
        self._extents.close()
        self._nodes.close()

    def take(self) -> bool:
        """Process one message of the kernel; False where there is none, `Unmounted` after the last one."""
        length = self._receive()
        if not length:
            return length is not None
        _, opcode, unique, number, uid, gid, pid, _, _ = abi.IN_HEADER.unpack_from(self._buffer, _START)
        body = self._buffer[_START + abi.IN_HEADER.size : _START + length]
        self._clock.spare(pid, opcode)
        match opcode:
            case Opcode.READ | Opcode.WRITE | Opcode.FSYNC:
                self._clock.meet(pid)
                self._transfer[opcode](unique, number, body, pid)
                if opcode == Opcode.READ and not self.transfers.waits:
                    self._hasten(number, body)
            case Opcode.FORGET:
                self._nodes.forget(number, *abi.FORGET_IN.unpack(body))
            case Opcode.BATCH_FORGET:
                for forgotten, count in abi.FORGET_ONE.iter_unpack(body[abi.BATCH_FORGET_IN.size :]):
                    self._nodes.forget(forgotten, count)
            case Opcode.INTERRUPT:
                pass  # what is under way is answered in its time
            case Opcode.INIT:
                self._reply(unique, _agree(body, self._accepted))
            case _:
                self._reply(unique, self._done(opcode, number, body, (uid, gid)))
        return True

    def _receive(self) -> int | None:
        """Have the next message in the buffer, and return its length; 0 where it is seen to already, None where there is none."""
        length = 0 if self._quick is None or self.transfers.waits else self._quick.take(*self.transfers.path_s)
        try:
            return max(0, length or os.readv(self.descriptor, self._message))
        except BlockingIOError:
            return None
        except OSError as error:
            # The caller has given up, or the mount goes while its last message is read: the next read says ENODEV.
            if error.errno in {errno.EINTR, errno.ENOENT, errno.ECONNABORTED}:
                return 0
            if error.errno == errno.ENODEV:
                raise Unmounted from error
            raise

    def _hasten(self, number: int, body: memoryview) -> None:
        self._slow_reads += 1
        if self._slow_reads == SLOW_READS:
            try:
                from tierwise.tiers.quick_reads import QuickReads  # noqa: PLC0415 - takes half a second, and few mounts need it

                self._quick = QuickReads(self.descriptor, self._message[0], self.transfers.page, self.transfers.requests, self._nodes)
            except (ImportError, OSError, RuntimeError) as error:  # a mount goes on without
                print(f"{self.mountpoint}: reads stay slow, because {error}", file=sys.stderr, flush=True)
        if self._quick is not None:
            _, offset, _, _, _, _, _ = abi.READ_IN.unpack_from(body)
            with suppress(OSError):  # the device is full
                self._quick.learn(number, offset, self._extents.address(self._nodes.by_id[number].inode, offset))

    def _done(self, opcode: int, number: int, body: memoryview, caller: tuple[int, int]) -> Answer:
        operation = self._operations.get(opcode)
        try:
            return operation(number, body, *caller) if operation else errno.ENOSYS
        except OSError as error:
            return error.errno or errno.EIO
        except KeyError:
            return errno.ESTALE

    def _reply(self, unique: int, answer: Answer) -> None:
        parts: list[bytes | memoryview]
        if isinstance(answer, int):
            parts = [abi.OUT_HEADER.pack(abi.OUT_HEADER.size, -answer, unique)]
        else:
            parts = [abi.OUT_HEADER.pack(abi.OUT_HEADER.size + len(answer), 0, unique), answer]
        with suppress(FileNotFoundError):  # the caller was killed meanwhile
            os.writev(self.descriptor, parts)


def busy_s(volumes: Mapping[str, Volume]) -> dict[str, float]:
    return {name: volume.transfers.drives_busy_s() for name, volume in volumes.items()}


def waiting(volumes: Mapping[str, Volume]) -> dict[int, str]:
    return {pid: name for name, volume in volumes.items() for pid in volume.transfers.waiting()}


def _agree(body: memoryview, wanted: int) -> bytes:
    _, _, read_ahead, low, high = abi.INIT_IN.unpack(bytes(body).ljust(abi.INIT_IN.size, b"\0"))  # shorter before Linux 5.17
    flags = (low | high << 32) & wanted
    background, congestion, pages = 256, 192, abi.REQUEST_BYTES // mmap.PAGESIZE
    limits = (background, congestion, abi.REQUEST_BYTES, 1, pages, 0)
    return abi.INIT_OUT.pack(abi.MAJOR, abi.MINOR, min(read_ahead, READ_AHEAD_BYTES), flags & 0xFFFFFFFF, *limits, flags >> 32)
