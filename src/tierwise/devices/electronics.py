"""The electronics of a disk drive, named as in DiskSim's ``disksim_disk`` block (the aliases), with defaults; its bus."""

import math
from collections.abc import Callable
from enum import IntEnum
from itertools import product
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from tierwise.core.toml import Strict
from tierwise.core.units import SECTOR_BYTES
from tierwise.devices.protocol import Operation
from tierwise.devices.spec import HddSpec


class ReadAhead(IntEnum):
    NONE = 0
    TRACK = 1
    CYLINDER = 2
    SEGMENT = 3
    MAXIMUM = 4


class EarlyWrite(IntEnum):
    NONE = 0
    LIMITED = 1
    ALL = 2


Milliseconds = Annotated[float, Field(allow_inf_nan=False)]
"""A time in milliseconds; below zero it is a correction that an extraction made, and is applied as it stands."""
Flag = Annotated[float, AfterValidator(bool)]  # a number, which is a no at 0 and a yes elsewhere
Count = Annotated[int, Field(ge=0)]
AtLeastOne = Annotated[int, Field(ge=1)]


class Electronics(Strict):
    """The electronics of one drive. Sizes are in sectors of 512 bytes."""

    read_hit_after_read_ms: Milliseconds = Field(alias="Read hit over. after read")
    read_hit_after_write_ms: Milliseconds = Field(alias="Read hit over. after write")
    read_miss_after_read_ms: Milliseconds = Field(alias="Read miss over. after read")
    read_miss_after_write_ms: Milliseconds = Field(alias="Read miss over. after write")
    write_hit_after_read_ms: Milliseconds = Field(alias="Write hit over. after read", description="a hit: see `Hdd`")
    write_hit_after_write_ms: Milliseconds = Field(alias="Write hit over. after write")
    write_miss_after_read_ms: Milliseconds = Field(alias="Write miss over. after read")
    write_miss_after_write_ms: Milliseconds = Field(alias="Write miss over. after write")
    bus_ms_per_sector: Annotated[Milliseconds, Field(ge=0)] = Field(alias="Bulk sector transfer time")
    segments: AtLeastOne = Field(alias="Number of buffer segments")
    segment_sectors: AtLeastOne = Field(alias="Segment size (in blks)")
    read_ahead: ReadAhead = Field(alias="Buffer continuous read")
    early_write: EarlyWrite = Field(alias="Fast write level")

    every_request_ms: Milliseconds = Field(default=0.0, alias="Per-request overhead time")
    scale: Annotated[Milliseconds, Field(ge=0)] = Field(default=1.0, alias="Time scale for overheads")
    prepare_ms: Milliseconds = Field(default=0.0, alias="Data preparation overhead", description="before data go over the bus")
    read_end_ms: Milliseconds = Field(default=0.0, alias="Read completion overhead")
    write_end_ms: Milliseconds = Field(default=0.0, alias="Write completion overhead")
    first_reselect_ms: Milliseconds = Field(default=0.0, alias="First reselect overhead", description="the bus is taken again")
    other_reselect_ms: Milliseconds = Field(default=0.0, alias="Other reselect overhead")
    read_disconnect_after_read_ms: Milliseconds = Field(default=0.0, alias="Read disconnect afterread")
    read_disconnect_after_write_ms: Milliseconds = Field(default=0.0, alias="Read disconnect afterwrite")
    write_disconnect_ms: Milliseconds = Field(default=0.0, alias="Write disconnect overhead")
    never_disconnects: Flag = Field(default=False, alias="Never disconnect")
    holds_bus: Flag = Field(default=False, alias="Hold bus entire read xfer")
    watermark: float = Field(default=0.0, ge=0, le=1, alias="High (read) water mark", description="is read before the bus is taken")
    watermark_of_request: Flag = Field(default=True, alias="Set watermark by reqsize", description="no: of a segment")
    least_write_seek_ms: Milliseconds = Field(default=0.0, alias="Minimum seek delay")
    """From a command's overhead to the medium, of writes out of order."""
    extra_disconnect: Flag = Field(default=False, alias="Extra write disconnect", description="before the data of writes out of order")
    extra_command_ms: Milliseconds = Field(default=0.0, alias="Extradisc command overhead", description="in the place of the other one")
    extra_disconnect_ms: Milliseconds = Field(default=0.0, alias="Extradisc disconnect overhead")
    extra_pause_ms: Milliseconds = Field(default=0.0, alias="Extradisc inter-disconnect delay")
    extra_second_disconnect_ms: Milliseconds = Field(default=0.0, alias="Extradisc 2nd disconnect overhead")
    extra_least_seek_ms: Milliseconds = Field(default=0.0, alias="Extradisc seek delta", description="as the minimum seek delay")

    caching: Flag = Field(default=True, alias="Enable caching in buffer")
    written_data_hit: Flag = Field(default=True, alias="Allow read hits on write data")
    almost_hits: Flag = Field(default=False, alias="Allow almost read hits", description="what the head reads just now is as good as held")
    write_segments: Count = Field(default=1, alias="Maximum number of write segments")
    least_ahead_sectors: Count = Field(default=0, alias="Minimum read-ahead (blks)", description="nothing calls the head away before")
    most_ahead_sectors: Count | None = Field(default=None, alias="Maximum read-ahead (blks)", description="absent: a segment")
    over_requested: Flag = Field(default=False, alias="Read-ahead over requested", description="takes the place of the requested sectors")
    ahead_on_hit: Flag = Field(default=False, alias="Read-ahead on idle hit")
    free_blocks: Flag = Field(default=False, alias="Read any free blocks", description="what passes on the track before a request is kept")
    reads_on_arrival: Flag = Field(default=False, alias="Immediate buffer read", description="wherever on the request the head arrives")
    writes_on_arrival: Flag = Field(default=False, alias="Immediate buffer write")
    ahead_hits: bool = Field(default=False, description="a command waits for an idle arm's read-ahead, which goes on after a hit")
    queue: int = Field(default=1, description="commands that the drive orders by positioning time; 1: first in, first out")

    def command_ms(self, operation: Operation, *, hit: bool, before: Operation) -> float:
        names = ("read", "write")
        return self.every_request_ms + float(getattr(self, f"{names[operation]}_{'hit' if hit else 'miss'}_after_{names[before]}_ms"))

    @property
    def is_plain(self) -> bool:
        """Return whether a transfer of data costs the time of the bus and nothing else."""
        reselects = self.first_reselect_ms or self.other_reselect_ms
        disconnects = self.read_disconnect_after_read_ms or self.read_disconnect_after_write_ms
        return not (self.watermark or self.reads_on_arrival or self.holds_bus or self.prepare_ms or reselects or disconnects)


def plain_electronics(
    *, overhead_s: float, interface_rate: float, segments: int, segment_bytes: int, read_ahead_bytes: int, write_back: bool, queue: int = 1
) -> Electronics:
    """Return a data sheet's electronics: one overhead for all commands, a bus that takes the data's time, a buffer that may hold writes."""
    commands = product(("read", "write"), ("hit", "miss"), ("read", "write"))
    overheads: dict[str, Any] = {f"{one}_{result}_after_{other}_ms": overhead_s * 1e3 for one, result, other in commands}
    return Electronics.model_construct(
        **overheads,
        bus_ms_per_sector=SECTOR_BYTES / interface_rate * 1e3,
        segments=segments,
        segment_sectors=max(1, segment_bytes // SECTOR_BYTES),
        read_ahead=ReadAhead.MAXIMUM,
        most_ahead_sectors=read_ahead_bytes // SECTOR_BYTES,
        over_requested=True,
        almost_hits=True,
        ahead_hits=True,
        early_write=EarlyWrite.ALL if write_back else EarlyWrite.NONE,
        write_segments=segments if write_back else 1,
        written_data_hit=write_back,
        queue=queue,
    )


def datasheet_electronics(spec: HddSpec) -> Electronics:
    segments = int(spec.segments.base)
    return plain_electronics(
        overhead_s=spec.overhead.base,
        interface_rate=spec.interface_rate.base,
        segments=segments,
        segment_bytes=int(spec.cache.base) // segments,
        read_ahead_bytes=int(spec.read_ahead.base),
        write_back=spec.write_back.value,
        queue=int(spec.queue.base),
    )


class Bus:
    """The bus of one drive. It carries the data of one command at a time, as they come; times are in seconds."""

    def __init__(self, electronics: Electronics, *, one_rate: bool):
        self._electronics, self.is_plain = electronics, one_rate and electronics.is_plain
        self._work, self._sector_s = electronics.scale / 1e3, electronics.bus_ms_per_sector / 1e3
        self._read_end_s = self._work * electronics.read_end_ms
        self._taken_s, self._free_s = -math.inf, -math.inf  # when the latest transfers begin, one after the other, and when they have ended
        self._gap_s = -math.inf  # when those before them have ended

    def from_buffer(self, begin_s: float, sectors: int, before: Operation) -> float:
        """Return when `sectors` that the buffer holds have gone to the host."""
        if self.is_plain:
            return self.reserve(begin_s, sectors) + self._read_end_s
        return self.to_host(begin_s, lambda _: begin_s, sectors, before)

    def from_medium(self, begin_s: float, sectors: int, from_s: float, last_s: float, coming: int) -> float:
        """Return when `sectors` have gone over a plain bus; the last `coming` of them come from the medium, from `from_s` to `last_s`."""
        took_s = sectors * self._sector_s
        done_s = max(begin_s + took_s, from_s + coming * self._sector_s, last_s)
        if done_s - took_s < self._free_s:
            return self.reserve(done_s - took_s, sectors) + self._read_end_s
        self._gap_s, self._taken_s, self._free_s = self._free_s, done_s - took_s, done_s
        return done_s + self._read_end_s

    def to_host(self, begin_s: float, there_s: Callable[[int], float], sectors: int, before: Operation) -> float:
        """Return when `sectors` have gone to the host, of which this number is in the buffer at ``there_s(sectors)``."""
        electronics, work = self._electronics, self._work
        mark = max(1, math.ceil(electronics.watermark * (sectors if electronics.watermark_of_request else electronics.segment_sectors)))
        after_read = before is Operation.READ
        disconnect_ms = electronics.read_disconnect_after_read_ms if after_read else electronics.read_disconnect_after_write_ms
        now_s, sent, reselect_ms = begin_s, 0, electronics.first_reselect_ms
        while sent < sectors:
            ready_s = there_s(min(sectors, sent + mark))
            if ready_s > now_s and not electronics.never_disconnects:
                now_s = max(ready_s, now_s + work * disconnect_ms) + work * reselect_ms
                reselect_ms = electronics.other_reselect_ms
            now_s = max(ready_s, max(now_s, ready_s) + work * electronics.prepare_ms)
            now_s = self.reserve(now_s, 0)
            while sent < sectors and (there_s(sent + 1) <= now_s or electronics.holds_bus or electronics.never_disconnects):
                sent += 1
                now_s = max(now_s, there_s(sent)) + self._sector_s
        self._free_s = max(self._free_s, now_s)
        return now_s + self._read_end_s

    def again_s(self, filled_s: float, written_s: float, *, extra: bool) -> float:
        """Return when a write can be reported: it is on the medium at `written_s`, and its data were in the buffer at `filled_s`."""
        electronics, work = self._electronics, self._work
        if electronics.never_disconnects:
            return max(filled_s, written_s)
        disconnect_ms = electronics.extra_second_disconnect_ms if extra else electronics.write_disconnect_ms
        reselect_ms = electronics.other_reselect_ms if extra else electronics.first_reselect_ms
        return max(written_s, filled_s + work * disconnect_ms) + work * reselect_ms

    def reserve(self, begin_s: float, sectors: int) -> float:
        """Take the bus from `begin_s` on or when it is free, or in the gap before; return when `sectors` have gone over it."""
        took_s = sectors * self._sector_s
        start_s = max(begin_s, self._gap_s)
        if start_s + took_s <= self._taken_s:
            self._gap_s = start_s + took_s
            return self._gap_s
        start_s = max(begin_s, self._free_s)
        if start_s > self._free_s:
            self._gap_s, self._taken_s = self._free_s, start_s
        self._free_s = start_s + took_s
        return self._free_s
