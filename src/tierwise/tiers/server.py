"""The daemon of an emulated tier: one loop between the kernel, which asks, and a device model, which says when to answer.

``python -m tierwise.tiers.server`` mounts, serves until it is unmounted or told to end, and leaves no mount.
"""

import argparse
import errno
import gc
import mmap
import os
import signal
import sys
import threading
from contextlib import suppress
from enum import Enum, auto
from math import inf
from pathlib import Path
from select import select
from time import monotonic
from typing import Final

from tierwise.core.errors import InputError, TierwiseError
from tierwise.core.units import KIB
from tierwise.devices.model import DeviceModel, build
from tierwise.devices.spec import load_device
from tierwise.tiers import fuse_abi as abi
from tierwise.tiers.control import Command, ControlServer
from tierwise.tiers.extents import Extents
from tierwise.tiers.filesystem import Filesystem
from tierwise.tiers.fuse_abi import Fopen, Init, Opcode
from tierwise.tiers.mounting import mount, unmount
from tierwise.tiers.nodes import Nodes
from tierwise.tiers.record import Record
from tierwise.tiers.transfers import Answer, Transfers

SPIN_S: Final = 50e-6
SPIN_SHARE: Final = 0.03
SPIN_MOST_S: Final = 150e-6
"""The last stretch before a deadline is polled, not slept: a short sleep ends 20-40 us late, one of milliseconds up to 150 us."""

AT_ONCE: Final = 32
"""Messages taken before the loop looks for anything else."""

READ_AHEAD_BYTES: Final = 128 * KIB
"""The kernel's read-ahead where its page cache is used: Linux's default."""

_START: Final = mmap.PAGESIZE - abi.PAYLOAD_OFFSET
"""Where a message begins in its buffer, so that the data of a WRITE begin on a page."""


class State(Enum):
    """What the daemon is at."""

    SERVING = auto()
    TOLD_TO_END = auto()
    LEAVING = auto()
    ENDED = auto()


class Server:
    """A backing directory shown at `mountpoint`; `cache` lets the kernel keep pages of it."""

    def __init__(self, model: DeviceModel, backing: Path, mountpoint: Path, extents: Extents, *, cache: bool):
        self._mountpoint, self._extents = mountpoint, extents
        self._woken, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._nodes = Nodes(backing, extents)
        open_flags = Fopen.KEEP_CACHE if cache else Fopen.DIRECT_IO | Fopen.PARALLEL_DIRECT_WRITES
        self._operations = Filesystem(self._nodes, open_flags=open_flags).operations
        self._transfers = Transfers(model, self._nodes, self._reply, self._wake)
        self._buffer = memoryview(mmap.mmap(-1, mmap.PAGESIZE + abi.REQUEST_BYTES))
        self._message = [self._buffer[_START:]]
        self._state = State.SERVING
        self._fuse = -1
        self.commands: dict[str, Command] = {
            "ping": os.getpid,
            "delays": self._transfers.delays,
            "path": self._transfers.path,
            "forget": self._transfers.forget,
            "reset": self._transfers.reset,
            "statistics": self._transfers.statistics,
            "log": self._transfers.log,
        }

    def serve(self, control: ControlServer) -> None:
        """Mount, and answer the kernel until it is unmounted, by somebody else or because of a signal."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._told_to_end)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        os.umask(0)  # the kernel has applied the caller's
        os.chdir("/")
        self._fuse = mount(self._mountpoint)
        gc.freeze()
        gc.disable()  # the loop makes no cycles, and a collection would delay whatever is due
        try:
            while self._state is not State.ENDED:
                self._turn(control)
        except OSError as error:
            if error.errno != errno.ENODEV:  # that is: unmounted
                raise
        finally:
            os.close(self._fuse)
            self._extents.close()

    def _turn(self, control: ControlServer) -> None:
        """Wait for what comes first, a message or a deadline, and see to it."""
        ready, _, _ = select((self._fuse, self._woken, control.descriptor), (), (), self._patience_s())
        self._transfers.advance(monotonic())
        for source in ready:
            if source == self._fuse:
                for _ in range(AT_ONCE):  # most often there are more, and to take them is quicker than to be told of them
                    if not self._take():
                        break
                    self._transfers.advance(monotonic())
            elif source == self._woken:
                os.read(self._woken, 4096)
                self._transfers.collect()
            else:
                control.serve()
        if self._state is State.TOLD_TO_END:
            self._state = State.LEAVING
            threading.Thread(target=self._leave, daemon=True).start()

    def _patience_s(self) -> float | None:
        """How long to sleep at most."""
        if self._transfers.due_s == inf:
            return None
        wait_s = self._transfers.due_s - monotonic()
        return max(0.0, wait_s - max(SPIN_S, min(SPIN_SHARE * wait_s, SPIN_MOST_S)))

    def _take(self) -> bool:
        """Read one message of the kernel and see to it; False where there is none."""
        try:
            length = os.readv(self._fuse, self._message)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno in {errno.EINTR, errno.ENOENT}:  # whoever asked has given up
                return True
            raise
        _, opcode, unique, number, uid, gid, _, _, _ = abi.IN_HEADER.unpack_from(self._buffer, _START)
        body = self._buffer[_START + abi.IN_HEADER.size : _START + length]
        match opcode:
            case Opcode.READ:
                self._transfers.read(unique, number, body)
            case Opcode.WRITE:
                self._transfers.write(unique, number, body)
            case Opcode.FSYNC:
                self._transfers.flush(unique, number, body)
            case Opcode.FORGET:
                self._nodes.forget(number, *abi.FORGET_IN.unpack(body))
            case Opcode.BATCH_FORGET:
                for forgotten, count in abi.FORGET_ONE.iter_unpack(body[abi.BATCH_FORGET_IN.size :]):
                    self._nodes.forget(forgotten, count)
            case Opcode.INTERRUPT:
                pass  # what is under way is answered in its time
            case Opcode.INIT:
                self._reply(unique, _agree(body))
            case _:
                self._reply(unique, self._done(opcode, number, body, (uid, gid)))
        return True

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
        with suppress(FileNotFoundError):  # whoever asked was killed meanwhile
            os.writev(self._fuse, parts)

    def _wake(self) -> None:
        """Have the loop look around; called by threads."""
        with suppress(BlockingIOError):  # the pipe is full of wake-ups
            os.write(self._waker, b"\0")

    def _told_to_end(self, *_: object) -> None:
        """A signal came, which has also woken the loop."""
        if self._state is State.SERVING:
            self._state = State.TOLD_TO_END

    def _leave(self) -> None:
        """Unmount, in a thread because that may need the loop; out of the tree even if somebody still uses it."""
        try:
            unmount(self._mountpoint)
            return  # the loop learns of it from the kernel
        except InputError as busy:
            print(f"unmounted although {busy}", file=sys.stderr, flush=True)
            unmount(self._mountpoint, lazily=True)
        except OSError as gone:
            print(gone, file=sys.stderr, flush=True)
        self._state = State.ENDED
        self._wake()


def _agree(body: memoryview) -> bytes:
    """The answer to INIT: what of the kernel's offers is taken."""
    _, _, read_ahead, low, high = abi.INIT_IN.unpack(bytes(body).ljust(abi.INIT_IN.size, b"\0"))  # shorter before Linux 5.17
    flags = (low | high << 32) & Init.WANTED
    background, congestion, pages = 256, 192, abi.REQUEST_BYTES // mmap.PAGESIZE
    limits = (background, congestion, abi.REQUEST_BYTES, 1, pages, 0)
    return abi.INIT_OUT.pack(abi.MAJOR, abi.MINOR, min(read_ahead, READ_AHEAD_BYTES), flags & 0xFFFFFFFF, *limits, flags >> 32)


def main() -> int:
    """Mount, serve, unmount; an error is one line on standard error."""
    parser = argparse.ArgumentParser(prog="tierwise.tiers.server", description=__doc__)
    parser.add_argument("device", help="a file of data/devices")
    for name in ("backing", "mountpoint", "state"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stretch", type=float, default=1.0)
    parser.add_argument("--cache", action="store_true", help="let the kernel keep pages")
    asked = parser.parse_args()
    try:
        model = build(load_device(asked.device), seed=asked.seed, stretch=asked.stretch)
        extents = Extents(asked.backing.with_name(f"{asked.backing.name}.extents"), model.capacity_bytes)
        server = Server(model, asked.backing, asked.mountpoint, extents, cache=asked.cache)
        Record.mine(asked.mountpoint).save(asked.state)
        control = ControlServer(Record.control(asked.state), server.commands)
        try:
            server.serve(control)
        finally:
            control.close()
            Record.forget(asked.state)
    except (TierwiseError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
