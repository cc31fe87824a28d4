"""Processes and a device on one clock: each process is a generator that says what it waits for."""

import math
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

from tierwise.core.units import PAGE_BYTES
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.scans.read_ahead import Run

Process = Generator["float | Event", None, None]  # yields the seconds for which it computes, or the event that it waits for


@dataclass(eq=False)
class Event:
    happened: bool = False
    waiting: list[Process] = field(default_factory=list)


class Clock:
    """Seconds, from 0 on, of `device` and of processes that share `processors`: who has one keeps it until he waits for something."""

    def __init__(self, device: DeviceModel, processors: float = math.inf):
        self.now_s = self.device_wait_s = 0.0  # `device_wait_s` is what of the time everybody waits for the device
        self._device = device
        self._event_s = device.next_event_s()  # it changes by what is submitted and by going on alone
        self._ready: list[tuple[float, int, Process]] = []  # a heap; each of them has a processor
        self._in_line: deque[Process] = deque()
        self._free = processors
        self._number = count()
        self._reads: dict[int, Event] = {}

    def start(self, process: Process) -> None:
        if self._free > 0:
            self._free -= 1
            heappush(self._ready, (self.now_s, next(self._number), process))
        else:
            self._in_line.append(process)

    def read(self, address_bytes: int, run: Run, done: Event) -> None:
        """Ask the device for the pages of `run` of a file that begins at an address; `done` happens with the last of them."""
        tag = next(self._number)
        self._reads[tag] = done
        self._device.submit(self.now_s, tag, Operation.READ, address_bytes + run.first * PAGE_BYTES, run.length * PAGE_BYTES)
        self._event_s = self._device.next_event_s()

    def happen(self, event: Event) -> None:
        event.happened = True
        for process in event.waiting:
            self.start(process)
        event.waiting.clear()

    def run(self, until: Event) -> float:
        while not until.happened:
            if self._ready and self._ready[0][0] <= self._event_s:
                self.now_s, _, process = heappop(self._ready)
                self._step(process, until)
            else:
                assert self._event_s < math.inf, "everybody waits for nothing"
                done = self._device.advance(self._event_s)
                self._event_s = self._device.next_event_s()
                for tag, done_s in done:
                    self.device_wait_s += 0.0 if self._ready else done_s - self.now_s
                    self.now_s = done_s
                    self.happen(self._reads.pop(tag))
        return self.now_s

    def _step(self, process: Process, until: Event) -> None:
        for wanted in process:
            if isinstance(wanted, Event):
                if not wanted.happened:
                    wanted.waiting.append(process)
                    break
            elif wanted > 0:
                due_s = self.now_s + wanted
                if due_s > self._event_s or until.happened or (self._ready and self._ready[0][0] <= due_s):
                    heappush(self._ready, (due_s, next(self._number), process))
                    return
                self.now_s = due_s
        self._free += 1
        if self._in_line:
            self.start(self._in_line.popleft())
