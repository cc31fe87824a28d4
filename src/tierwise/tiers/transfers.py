"""Reads, writes and flushes of a mount: each is answered once its data are there and the device model has completed it."""

import errno
import mmap
import os
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import Any, Final

from tierwise.devices.model import DeviceModel, Operation
from tierwise.devices.slowed import Slowed
from tierwise.tiers import fuse_abi as abi
from tierwise.tiers.meter import Counters, RequestLog
from tierwise.tiers.nodes import Node, Nodes

THREADS: Final = 4

Data = bytes | memoryview
Answer = Data | int
"""What the kernel is told: data, or an errno."""
Job = Callable[[], bytes | int]
"""Something that may block and gives an answer, or raises `OSError`."""


@dataclass(slots=True)
class Request:
    """A transfer between its arrival and its answer."""

    unique: int
    came_s: float
    node: Node
    operation: Operation
    offset: int
    size: int
    address: int = 0
    answer: Answer | None = None  # None until known
    due_s: float | None = None  # when the device completed it; None until it has


class Transfers:
    """The transfers of one mount, with the delays of `model`, off at first.

    Reads from the page cache are done at once; what may block goes to threads, so that no request's deadline waits for another's
    disk. The backing directory is scratch: with the delays on, the time of an fsync is the model's alone, so what was written
    survives a kill of the server and of the daemon, not a power cut. With the delays off an fsync reaches the real disk.
    """

    def __init__(self, model: DeviceModel, nodes: Nodes, reply: Callable[[int, Answer], None], wake: Callable[[], None]):
        self.model = Slowed(model)
        self._nodes, self._reply, self._wake = nodes, reply, wake
        self._delays = False
        self._path_s = 0.0
        self._out: dict[int, Request] = {}  # requests at the device, by their unique number
        self._log = RequestLog()
        self._page = memoryview(mmap.mmap(-1, abi.REQUEST_BYTES))
        self._jobs: SimpleQueue[tuple[Request, Job]] = SimpleQueue()
        self._finished: deque[tuple[Request, Answer]] = deque()
        for _ in range(THREADS):
            threading.Thread(target=self._work, daemon=True).start()

    # What the kernel asks; `body` follows the header of its message

    def read(self, unique: int, number: int, body: memoryview) -> None:
        came_s = monotonic()
        handle, offset, size, _, _, _, _ = abi.READ_IN.unpack_from(body)
        request = Request(unique, came_s, self._nodes.by_id[number], Operation.READ, offset, size)
        try:
            got = os.preadv(handle, [self._page[:size]], offset, os.RWF_NOWAIT)
            whole = got == size or offset + got >= os.fstat(handle).st_size
        except OSError:  # not in the page cache, or on a file system that cannot tell
            whole = False
        if not whole:
            self._begin(request, lambda: os.pread(handle, size, offset))
            return
        request.size = got
        request.answer = bytes(self._page[:got]) if self._delays else self._page[:got]  # by its deadline the buffer is another's
        self._begin(request)

    def write(self, unique: int, number: int, body: memoryview) -> None:
        came_s = monotonic()
        handle, offset, size, _, _, _, _ = abi.WRITE_IN.unpack_from(body)
        request = Request(unique, came_s, self._nodes.by_id[number], Operation.WRITE, offset, size)
        data: Data = body[abi.WRITE_IN.size : abi.WRITE_IN.size + size]
        if self._delays:
            data = bytes(data)
            self._begin(request, lambda: abi.WRITE_OUT.pack(os.pwrite(handle, data, offset), 0))
        else:
            request.answer = _attempt(lambda: abi.WRITE_OUT.pack(os.pwrite(handle, data, offset), 0))
            self._begin(request)

    def flush(self, unique: int, number: int, body: memoryview) -> None:
        came_s = monotonic()
        handle, flags, _ = abi.FSYNC_IN.unpack_from(body)
        request = Request(unique, came_s, self._nodes.by_id[number], Operation.FLUSH, 0, 0)
        if self._delays:
            request.answer = b""
            self._begin(request)
        else:
            self._begin(request, lambda: (os.fdatasync if flags & 1 else os.fsync)(handle) or b"")

    # What the loop does between

    def advance(self, now_s: float) -> None:
        """Answer what the device has completed by `now_s`."""
        for tag, done_s in self.model.advance(now_s):
            request = self._out.pop(tag)
            request.due_s = done_s
            self._settle(request)

    def collect(self) -> None:
        """Answer what the threads have done."""
        while self._finished:
            request, answer = self._finished.popleft()
            request.answer = answer
            self._settle(request)

    def _begin(self, request: Request, job: Job | None = None) -> None:
        """Hand `request` to the device, and to a thread what may block."""
        charged = self._delays
        if request.operation is not Operation.FLUSH:
            charged = charged and request.size > 0
            try:
                request.address = self._nodes.extents.address(request.node.inode, request.offset)
            except OSError as full:
                self._reply(request.unique, full.errno or errno.EIO)
                return
        if charged:
            self._out[request.unique] = request
            self.model.submit(request.came_s - self._path_s, request.unique, request.operation, request.address, request.size)
        else:
            request.due_s = request.came_s - self._path_s
        if job is None:
            self._settle(request)
        else:
            self._jobs.put((request, job))

    def _settle(self, request: Request) -> None:
        """Answer and count `request`, if both its data and the device are through."""
        if request.answer is None or request.due_s is None:
            return
        now_s = monotonic()
        self._reply(request.unique, request.answer)
        if request.operation is Operation.READ and not isinstance(request.answer, int):
            request.size = len(request.answer)
        came_s = request.came_s - self._path_s
        intended_s, actual_s = request.due_s - came_s, now_s - came_s
        request.node.io.count(request.operation, request.size, intended_s, actual_s)
        place = (request.offset, request.address, request.node.id, request.size)
        self._log.append((came_s, *place, intended_s, actual_s, request.operation))

    def _work(self) -> None:
        """A thread: do what may block; only the loop touches a request."""
        while True:
            request, job = self._jobs.get()
            self._finished.append((request, _attempt(job)))
            self._wake()

    # What the control channel asks

    def delays(self, *, on: bool, slowdown: float = 1.0) -> None:
        """Requests from now on wait for the device, slowed by a factor, or do not."""
        self.model.slow(monotonic(), slowdown)
        self._delays = on

    def path(self, *, seconds: float) -> None:
        """What a request needs on its way from the program to the loop and back, which the model need not wait for."""
        self._path_s = seconds

    def forget(self) -> None:
        """The device holds nothing in its own buffers any more; not while it has requests."""
        if self._out:
            raise ValueError(f"{len(self._out)} requests are under way")
        self.model.reset()

    def reset(self) -> None:
        """Count from zero, with an empty log."""
        self._log.clear()
        self._nodes.reset_io()

    def statistics(self) -> dict[str, dict[str, float]]:
        """Counters by path below the mount."""
        total: dict[str, Counters] = {}
        for _, path, io in self._nodes.used():
            total.setdefault(path, Counters()).add(io)
        return {path: io.as_dict() for path, io in total.items()}

    def log(self, *, path: str) -> dict[str, Any]:
        """Write the log to `path` as it is; says how many requests were too old for it, and which files its numbers mean."""
        return {"lost": self._log.write(Path(path)), "files": {str(number): name for number, name, _ in self._nodes.used()}}


def _attempt(job: Job) -> bytes | int:
    """What `job` gives, or the errno with which it failed."""
    try:
        return job()
    except OSError as error:
        return error.errno or errno.EIO
