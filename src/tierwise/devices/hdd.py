"""A disk drive: an arm that seeks over cylinders, a platter that really turns, a buffer that reads ahead and takes writes.

A command begins with the drive's own work. What the buffer holds, or the head is just reading, is answered at once; everything else
waits for the arm. The arm does one job at a time: of the commands that the drive has accepted the one that it reaches soonest
(shortest positioning time first), else it writes down what the buffer has taken. The bus carries data meanwhile: a sector that was
read goes to the host when it is in the buffer, and a write does not begin on the medium before the bus can keep ahead of the head.
After a read the head reads on until a command needs it elsewhere.
"""

import math
from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import islice
from typing import Final, NamedTuple, Self

from tierwise.core.units import SECTOR_BYTES
from tierwise.devices.electronics import Bus, EarlyWrite, Electronics, datasheet_electronics
from tierwise.devices.geometry import Spiral, Spot
from tierwise.devices.mechanism import Held, Mechanics, Mechanism, Pass, datasheet_curve
from tierwise.devices.protocol import Operation
from tierwise.devices.spec import HddSpec

PATIENCE_S: Final = 1.0  # a command that has waited for so long is next, wherever it lies
DESTAGED_AT_ONCE: Final = 32  # the arm takes the nearest of this many buffered writes, the oldest ones
READ, WRITE = Operation.READ, Operation.WRITE


class _Job(NamedTuple):
    tag: int
    early: bool  # a write that was reported done when it was buffered
    write: bool
    address: int
    end: int
    spot: Spot
    ready_s: float
    came_s: float
    before: Operation  # the command before
    extra: bool = False  # a write that gives the bus back before its data
    medium_s: float = -math.inf  # a write does not begin on the medium before: the bus must keep ahead of the head
    filled_s: float = -math.inf  # its data are in the buffer


class Hdd(Mechanism):
    """The drive of `mechanics` and `electronics`; the seed decides where the platter stands at time 0. Hits are reads of sectors that the
    buffer holds, and early writes on a drive that reports every write early.
    """

    def __init__(self, mechanics: Mechanics, electronics: Electronics, *, seed: int, stretch: float = 1.0):
        super().__init__(mechanics, electronics, seed=seed, stretch=stretch)
        self._work, self._queue = electronics.scale / 1e3, electronics.queue
        self._sector_s = electronics.bus_ms_per_sector / 1e3
        self._write_bytes = max(1, electronics.write_segments) * electronics.segment_sectors * SECTOR_BYTES
        self._overheads_s = [  # by operation, hit, the operation before
            [[self._work * electronics.command_ms(operation, hit=hit, before=before) for before in (READ, WRITE)] for hit in (False, True)]
            for operation in (READ, WRITE)
        ]
        self.reset()

    @classmethod
    def of(cls, spec: HddSpec, *, seed: int, stretch: float) -> Self:
        turn_s = 1 / spec.rotation.base
        geometry = Spiral(int(spec.capacity.base), turn_s, spec.outer_rate.base, spec.inner_rate.base, int(spec.surfaces.base))
        curve = datasheet_curve(spec, geometry.cylinders)
        mechanics = Mechanics(geometry, curve, turn_s, spec.head_switch.base, spec.write_settle.base)
        return cls(mechanics, datasheet_electronics(spec), seed=seed, stretch=stretch)

    def reset(self) -> None:
        self._waiting: deque[tuple[float, int, Operation, int, int]] = deque()  # not accepted yet
        self._seen_s: float | None = None  # when the first of them was begun that waits for space in the buffer
        self._draining = False  # a flush or a write waits until buffered writes are on the platter
        self._accepted = 0
        self._open_s = -math.inf  # nothing is accepted before: the queue was full
        self._done: list[tuple[float, int]] = []  # a heap of (completion, tag)
        self._bus = Bus(self._electronics, one_rate=self._geometry.has_one_rate)
        self._jobs: list[_Job] = []  # of the host, the oldest first
        self._dirty: deque[_Job] = deque()
        self._dirty_bytes = 0
        self._busy: _Job | None = None
        self._before, self._last_end = READ, -1  # of the command before
        self._reset_head()

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        while self._busy and self._free_s <= now_s:  # before this request: it decides whether the head has read on meanwhile
            self._finish()
            self._accept(self._free_s)
        self._waiting.append((now_s, tag, operation, address_bytes, size_bytes))
        self._accept(now_s)

    def next_event_s(self) -> float:
        done_s = self._done[0][0] if self._done else math.inf
        return done_s if self._busy is None else min(done_s, self._free_s)

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        done = []
        while (event_s := self.next_event_s()) <= now_s:
            if self._busy and self._free_s == event_s:
                self._finish()
            else:
                done_s, tag = heappop(self._done)
                done.append((tag, done_s))
                self._accepted -= 1
            self._open_s = event_s
            self._accept(event_s)
        return done

    def _accept(self, now_s: float) -> None:
        while self._waiting and self._accepted < self._queue:
            came_s, tag, operation, address, size = self._waiting[0]
            begin_s = came_s if came_s > self._open_s else self._open_s
            self._draining = operation is not READ and self._held_up(operation, size)
            if self._draining:
                self._seen_s = begin_s if self._seen_s is None else self._seen_s
                break
            self._waiting.popleft()
            self._accepted += 1
            if operation is READ:
                self._read(begin_s, came_s, tag, address, address + size)
            elif operation is WRITE:
                began_s, space_s = (begin_s, -math.inf) if self._seen_s is None else (self._seen_s, begin_s)
                self._write(began_s, space_s, tag, address, address + size)
            else:
                heappush(self._done, (begin_s + self._overheads_s[WRITE][True][self._before], tag))
            self._seen_s = None
        if self._busy is None and (self._jobs or self._dirty):
            start_s = max(now_s, self._free_s)
            job = self._choose(start_s)
            (self._dirty if job.early else self._jobs).remove(job)
            (self._write_down if job.write else self._fetch)(job, max(start_s, job.ready_s))

    def _held_up(self, operation: Operation, size: int) -> bool:
        if operation is Operation.FLUSH:
            return self._dirty_bytes > 0 or any(job.write for job in (*self._jobs, self._busy) if job)
        return operation is WRITE and self._dirty_bytes > 0 and self._dirty_bytes + size > self._write_bytes

    def _answer(self, job: _Job, done_s: float) -> None:
        heappush(self._done, (done_s if done_s > job.came_s else job.came_s, job.tag))

    def _read(self, now_s: float, came_s: float, tag: int, address: int, end: int) -> None:
        before, self._before, self._last_end = self._before, READ, end
        passing = None if self._busy else self._pass  # while the arm works, the nearest job is next, not what the head passes
        if passing and not passing.held.start <= address <= passing.limit:
            passing = None
        if passing:
            self._catch_up(now_s)
        if held := self._buffer.find(address, end):
            begin_s = now_s + self._overheads_s[READ][True][before]
            self._read_on(begin_s, held, address, end)
            done_s = self._bus.from_buffer(begin_s, _sectors(address, end), before)
            heappush(self._done, (max(came_s, done_s), tag))
            return
        begin_s = now_s + self._overheads_s[READ][False][before]
        job = _Job(tag, False, False, address, end, self._geometry.spot(address), begin_s, came_s, before)
        if passing and self._begun(passing, begin_s, address, waits=self._electronics.ahead_hits):
            self._pass_by(passing, begin_s, job)
        else:
            self._jobs.append(job)

    def _pass_by(self, passing: Pass, begin_s: float, job: _Job, soonest_s: float = math.inf) -> None:
        """Answer a read whose missing sectors the head passes, all of them at `soonest_s` at the latest."""
        known, sectors = passing.held.end, _sectors(job.address, job.end)
        self._set_limit(passing, job.address, job.end)
        if self._bus.is_plain:
            last_s = passing.least_s if passing.least == job.end else self._there_s(passing, job.end)
            coming = sectors if known == job.address else _sectors(known, job.end)
            done_s = self._bus.from_medium(begin_s, sectors, passing.from_s, last_s, coming)
        else:

            def there_s(count: int) -> float:
                until = job.address + count * SECTOR_BYTES
                return begin_s if until <= known else min(soonest_s, self._there_s(passing, until))

            done_s = self._bus.to_host(begin_s, there_s, sectors, job.before)
        self._answer(job, done_s)

    def _write(self, now_s: float, space_s: float, tag: int, address: int, end: int) -> None:
        electronics, size = self._electronics, end - address
        before, follows = self._before, self._before is WRITE and self._last_end == address
        self._before, self._last_end = WRITE, end
        level = electronics.early_write
        allowed = level is EarlyWrite.ALL or (level is EarlyWrite.LIMITED and (follows or not self._dirty_bytes))
        early = allowed and size <= self._write_bytes
        hit = (early and level is EarlyWrite.ALL) or self._buffer.find(address, end) is not None
        extra = bool(electronics.extra_disconnect) and not follows
        if extra:
            begin_s = now_s + self._work * (electronics.every_request_ms + electronics.extra_command_ms)
            pause_ms = electronics.extra_disconnect_ms + electronics.extra_pause_ms
            data_s = begin_s + self._work * (pause_ms + electronics.first_reselect_ms + electronics.prepare_ms)
        else:
            begin_s = now_s + self._overheads_s[WRITE][hit][before]
            data_s = begin_s + self._work * electronics.prepare_ms
        data_s = max(data_s, space_s)
        filled_s = self._bus.reserve(data_s, _sectors(address, end))
        medium_s = data_s + self._sector_s
        if not follows:
            least_ms = electronics.extra_least_seek_ms if electronics.extra_disconnect else electronics.least_write_seek_ms
            medium_s = max(medium_s, begin_s + self._work * least_ms) if least_ms else medium_s
        spot = self._geometry.spot(address)
        job = _Job(tag, early, True, address, end, spot, begin_s, now_s, before, extra, medium_s, filled_s)
        if self._busy is None:
            self._call_away(begin_s)
        self._buffer.write(address, end)
        if not early:
            self._jobs.append(self._keeping_ahead(job))
            return
        self._dirty_bytes += size
        self._answer(job, filled_s + self._work * electronics.write_end_ms)
        last = self._dirty[-1] if self._dirty else None
        if last and last.end == address and end - last.address <= self._buffer.segment_bytes:
            self._dirty[-1] = self._keeping_ahead(last._replace(end=end, filled_s=filled_s))
        else:
            self._dirty.append(self._keeping_ahead(job))

    def _keeping_ahead(self, job: _Job) -> _Job:
        """Return the write `job`, beginning so late on the medium that its last sector is in the buffer before the head is there."""
        last_s = (self._geometry.spot(job.end - SECTOR_BYTES)[0] - job.spot[0]) * self._turn_s
        return job._replace(medium_s=max(job.medium_s, job.filled_s - last_s))

    def _choose(self, now_s: float) -> _Job:
        jobs: Iterable[_Job] = self._jobs
        if self._jobs and now_s - self._jobs[0].ready_s > PATIENCE_S:
            return self._jobs[0]
        if self._draining or not self._jobs:
            jobs = [*self._jobs, *islice(self._dirty, DESTAGED_AT_ONCE)]
        elif len(self._jobs) == 1:
            return self._jobs[0]
        if self._pass:
            self._catch_up(now_s)
            self._head = self._geometry.end(self._at)
        nearest, soonest_s = self._jobs[0] if self._jobs else self._dirty[0], math.inf
        for job in jobs:
            begin_s = job.ready_s if job.ready_s > now_s else now_s
            if job.write:
                begin_s = max(self._arrive_s(begin_s, job.spot, self._settle_s), job.medium_s)
            else:
                begin_s = self._arrive_s(begin_s, job.spot, 0.0)
            begin_s = self._begin_s(begin_s, job.spot[0])
            if begin_s < soonest_s:
                nearest, soonest_s = job, begin_s
        return nearest

    def _fetch(self, job: _Job, begin_s: float) -> None:
        passing, soonest_s = self._pass, math.inf
        if passing is None or not passing.held.start <= job.address <= passing.limit or not self._begun(passing, begin_s, job.address):
            start_s = self._call_away(begin_s)
            held = self._buffer.continued(job.address)
            spot = job.spot if held.end == job.address else self._geometry.spot(held.end)
            passing, arrival_s = self._move_on(held, spot, start_s)
            if self._electronics.free_blocks or self._electronics.reads_on_arrival:
                soonest_s = self._on_arrival_s(passing, arrival_s, job.end)
        self._pass_by(passing, begin_s, job, soonest_s)
        end_s = passing.least_s if passing.least == job.end else self._there_s(passing, job.end)
        self._busy, self._free_s = job, max(begin_s, end_s)

    def _on_arrival_s(self, passing: Pass, arrival_s: float, end: int) -> float:
        """Keep what passes before the read begins; return when all of it has passed, where it may begin anywhere."""
        held, electronics = passing.held, self._electronics
        first, track_end = self._geometry.track(held.end)
        if electronics.free_blocks and held.start == held.end:
            passed = min((passing.from_s - arrival_s) / self._turn_s, passing.turns - self._geometry.spot(first)[0])
            held.start = max(first, held.end - int(passed * (track_end - first)) // SECTOR_BYTES * SECTOR_BYTES)
        return arrival_s + self._turn_s if electronics.reads_on_arrival and end <= track_end else math.inf

    def _write_down(self, job: _Job, begin_s: float) -> None:
        start_s = self._call_away(begin_s)
        arrival_s = max(self._arrive_s(start_s, job.spot, self._settle_s), job.medium_s)
        self._at, self._head = job.end, self._geometry.end(job.end)
        written_s = self._begin_s(arrival_s, job.spot[0]) + (self._head[0] - job.spot[0]) * self._turn_s
        if self._electronics.writes_on_arrival and job.end <= self._geometry.track(job.address)[1]:
            written_s = min(written_s, max(arrival_s, job.filled_s) + self._turn_s)
        self._busy, self._free_s = job, written_s
        if not job.early:
            end_s = self._bus.again_s(job.filled_s, written_s, extra=job.extra)
            self._answer(job, end_s + self._work * self._electronics.write_end_ms)

    def _finish(self) -> None:
        job, self._busy = self._busy, None
        if job and job.early:
            self._dirty_bytes -= job.end - job.address

    def _read_on(self, now_s: float, held: Held, address: int, end: int) -> None:
        """Let the read-ahead into `held` go on after a hit, as far as it would behind this request; a new one begins if it may."""
        self._catch_up(now_s)
        passing = self._pass
        busy = self._busy is not None or now_s < self._free_s or (passing is not None and passing.held.end < passing.limit)
        own = passing is not None and passing.held is held
        begins = self._electronics.ahead_on_hit or (own and self._electronics.ahead_hits)
        if busy and passing and own:
            self._set_limit(passing, address, end)
        elif not busy and begins and not held.written and self._limits(address, end)[1] > held.end:
            passing, _ = self._move_on(held, self._geometry.spot(held.end), self._call_away(now_s))
            self._set_limit(passing, address, end)


def _sectors(address: int, end: int) -> int:
    return -(-(end - address) // SECTOR_BYTES)
