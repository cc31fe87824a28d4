"""Reads, writes and flushes of a mount: each is answered once its data are there and the device model has completed it."""

import errno
import math
import mmap
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from tierwise.core.units import KIB
from tierwise.devices.protocol import Operation
from tierwise.devices.slowed_device import SlowedDevice
from tierwise.tiers import fuse_abi as abi
from tierwise.tiers.clock import AnyClock, Real
from tierwise.tiers.meter import Counters, RequestLog
from tierwise.tiers.nodes import Node, Nodes

THREADS: Final = 4

INLINE_BYTES: Final = 128 * KIB
"""A larger write goes to a thread, so that it holds nobody up; for a smaller one that takes longer than the write."""

GLANCE_S: Final = 1e-4  # how long to sleep between two looks at jobs that must end

Data = bytes | memoryview
Answer = Data | int  # the answer to the kernel: data, or an errno
Job = Callable[[], bytes | int]  # something that may block and gives an answer, or raises `OSError`


@dataclass(slots=True)
class Request:
    unique: int
    pid: int  # of the process that waits for it; 0 where the kernel sent it by itself
    read_s: float  # when the loop read its message, by the daemon's clock
    node: Node
    operation: Operation
    offset: int
    size: int
    address: int = 0
    came_s: float = 0.0  # when it reached the device
    answer: Answer | None = None  # None until known
    due_s: float | None = None  # when the device completed it; None until it has


class Workers:
    """Threads that do what may block, for every mount of a daemon; `wake` has its loop look around."""

    def __init__(self, wake: Callable[[], None]):
        self.pending = 0  # jobs whose answer the loop has not collected
        self._wake = wake
        self._jobs: SimpleQueue[tuple[Callable[[Answer], None], Job]] = SimpleQueue()
        self._finished: deque[tuple[Callable[[Answer], None], Answer]] = deque()
        for _ in range(THREADS):
            threading.Thread(target=self._work, daemon=True).start()

    def put(self, job: Job, then: Callable[[Answer], None]) -> None:
        self.pending += 1
        self._jobs.put((then, job))

    def collect(self) -> None:
        while self._finished:
            then, answer = self._finished.popleft()
            self.pending -= 1
            then(answer)

    def finish(self) -> None:
        while self.pending:
            self.collect()
            time.sleep(GLANCE_S)

    def _work(self) -> None:
        while True:
            then, job = self._jobs.get()
            self._finished.append((then, attempt(job)))
            self._wake()


class Transfers:
    """The transfers of one mount, with the delays of `model`, off at first.

    Reads from the page cache and short writes are done at once; what may block goes to threads, so that no request's deadline waits for
    another's disk. With the delays on, an fsync takes the model's time and does not reach the real disk: what was written survives a kill
    of the server and of the daemon, not a power cut.

    In real time a request reaches the device when it left the program, `path` before the loop reads it, but never before what the device
    has done already. So the log's arrivals, replayed through a new model, give the same completions. In virtual time there is no path.
    """

    def __init__(self, model: SlowedDevice, nodes: Nodes, reply: Callable[[int, Answer], None], workers: Workers, clock: AnyClock):
        self.due_s = math.inf  # of the device's next event
        self.delayed = False
        self._model = model
        self._nodes, self._reply, self._workers, self._clock = nodes, reply, workers, clock
        self._path_s = self._way_s = 0.0
        self._reached_s = -math.inf  # the device's last event or arrival
        self._out: dict[int, Request] = {}  # requests at the device, by their unique number
        self.requests = RequestLog()
        self._busy_s = self._busy_since_s = 0.0
        self.page = memoryview(mmap.mmap(-1, mmap.PAGESIZE + abi.REQUEST_BYTES))[mmap.PAGESIZE - abi.OUT_HEADER.size :]
        self._data = self.page[abi.OUT_HEADER.size :]

    @property
    def waits(self) -> bool:
        return self.delayed or not isinstance(self._clock, Real)

    @property
    def path_s(self) -> tuple[float, float]:
        return self._path_s, self._way_s

    @property
    def outstanding(self) -> int:
        return len(self._out)

    def waiting(self) -> list[int]:
        return [request.pid for request in self._out.values()]

    def go_by(self, clock: AnyClock) -> None:
        """Have `clock` from now on, with a device as new; not while it has requests. Only real time has a path."""
        self.forget()
        self._clock, self._reached_s = clock, -math.inf
        self._path_s = self._way_s = 0.0

    # What the kernel asks for the process `pid`; `body` follows the header of its message

    def read(self, unique: int, number: int, body: memoryview, pid: int) -> None:
        read_s = self._clock.now()
        handle, offset, size, _, _, _, _ = abi.READ_IN.unpack_from(body)
        request = Request(unique, pid, read_s, self._nodes.by_id[number], Operation.READ, offset, size)
        page = self._data[:size]
        try:
            got = os.preadv(handle, (page,), offset, os.RWF_NOWAIT)
            whole = got == size or offset + got >= os.fstat(handle).st_size
        except OSError:  # not in the page cache, or on a file system that cannot tell
            whole = False
        if not whole:
            self._begin(request, lambda: os.pread(handle, size, offset))
            return
        if got < size:
            request.size, page = got, page[:got]
        request.answer = bytes(page) if self.delayed else page  # by its deadline the buffer is another's
        self._begin(request)

    def write(self, unique: int, number: int, body: memoryview, pid: int) -> None:
        read_s = self._clock.now()
        handle, offset, size, _, _, _, _ = abi.WRITE_IN.unpack_from(body)
        request = Request(unique, pid, read_s, self._nodes.by_id[number], Operation.WRITE, offset, size)
        data: Data = body[abi.WRITE_IN.size : abi.WRITE_IN.size + size]
        if self.delayed and size > INLINE_BYTES:
            data = bytes(data)
            self._begin(request, lambda: abi.WRITE_OUT.pack(os.pwrite(handle, data, offset), 0))
        else:
            request.answer = attempt(lambda: abi.WRITE_OUT.pack(os.pwrite(handle, data, offset), 0))
            self._begin(request)

    def flush(self, unique: int, number: int, body: memoryview, pid: int) -> None:
        read_s = self._clock.now()
        handle, flags, _ = abi.FSYNC_IN.unpack_from(body)
        request = Request(unique, pid, read_s, self._nodes.by_id[number], Operation.FLUSH, 0, 0)
        if self.delayed:
            request.answer = b""
            self._begin(request)
        else:
            self._begin(request, lambda: (os.fdatasync if flags & 1 else os.fsync)(handle) or b"")

    # What the loop does between

    def advance(self, now_s: float) -> None:
        while self.due_s <= now_s:  # event by event, to know which the device has seen
            self._reached_s = self.due_s
            for tag, done_s in self._model.advance(self.due_s):
                request = self._out.pop(tag)
                if not self._out:
                    self._busy_s += done_s - self._busy_since_s
                request.due_s = done_s
                self._settle(request)
            self.due_s = self._model.next_event_s()

    def _begin(self, request: Request, job: Job | None = None) -> None:
        charged = self.delayed
        if request.operation is not Operation.FLUSH:
            charged = charged and request.size > 0
            try:
                request.address = self._nodes.extents.address(request.node.inode, request.offset)
            except OSError as full:
                self._reply(request.unique, full.errno or errno.EIO)
                return
        if charged:
            self._submit(request)
        else:
            request.came_s = request.due_s = request.read_s - self._path_s
        if job is not None:
            self._workers.put(job, lambda answer: self._answered(request, answer))
        elif not charged:
            self._settle(request)

    def _submit(self, request: Request) -> None:
        came_s = request.read_s - self._path_s
        self.advance(came_s)
        request.came_s = self._reached_s = max(came_s, math.nextafter(self._reached_s, math.inf))
        if not self._out:
            self._busy_since_s = request.came_s
        self._out[request.unique] = request
        self._model.submit(request.came_s, request.unique, request.operation, request.address, request.size)
        self.due_s = self._model.next_event_s()

    def _answered(self, request: Request, answer: Answer) -> None:
        request.answer = answer
        self._settle(request)

    def _settle(self, request: Request) -> None:
        answer, due_s = request.answer, request.due_s
        if answer is None or due_s is None:
            return
        now_s = self._clock.now()
        self._reply(request.unique, answer)
        if request.operation is Operation.READ and not isinstance(answer, int):
            request.size = len(answer)
        intended_s, actual_s = due_s - request.came_s, now_s - request.read_s + self._way_s
        request.node.io.count(request.operation, request.size, intended_s, actual_s)
        place = (request.offset, request.address, request.node.id, request.size)
        self.requests.append((request.came_s, *place, intended_s, actual_s, request.operation))

    # What the control channel asks

    def delays(self, *, on: bool, slowdown: float = 1.0) -> None:
        """Let requests from now on wait for the device, which is then as new and slowed by a factor, or not wait."""
        if on and not self.delayed and not self._out:
            self.forget()
        self._model.slow(self._clock.now(), slowdown)
        self.due_s = self._model.next_event_s()
        self.delayed = on

    def path(self, *, seconds: float, outside: float) -> None:
        """Set what a request needs beyond the device: in all, and outside the loop (before it reads it, and after the answer)."""
        self._path_s, self._way_s = seconds, outside

    def forget(self) -> None:
        if self._out:
            raise ValueError(f"{len(self._out)} requests are under way")
        self._model.reset()
        self.due_s = math.inf

    def reset(self) -> None:
        self.requests.clear()
        self._busy_s, self._busy_since_s = 0.0, self._clock.now()
        self._nodes.reset_io()

    def statistics(self) -> dict[str, dict[str, float]]:
        total: dict[str, Counters] = {}
        for _, path, io in self._nodes.used():
            total.setdefault(path, Counters()).add(io)
        return {path: io.as_dict() for path, io in total.items()}

    def busy(self) -> float:
        return self._busy_s + (max(0.0, self._clock.now() - self._busy_since_s) if self._out else 0.0)

    def drives_busy_s(self) -> float:
        return self._model.busy_s(self._clock.now())

    def hits(self) -> tuple[int, int] | None:
        return self._model.hits()

    def log(self, *, path: str) -> dict[str, str]:
        """Write the log to `path`, and return which files its numbers mean."""
        self.requests.write(Path(path))
        return {str(number): name for number, name, _ in self._nodes.used()}


def attempt(job: Job) -> bytes | int:
    try:
        return job()
    except OSError as error:
        return error.errno or errno.EIO
