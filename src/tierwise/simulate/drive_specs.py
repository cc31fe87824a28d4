"""A drive's electronics as DiskSim writes them down (a ``disksim_disk`` block): overheads, bus, buffer, read-ahead, early writes."""

from difflib import get_close_matches
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field

from tierwise.core.errors import InputError
from tierwise.core.paths import short
from tierwise.core.toml import Strict, validate
from tierwise.devices.protocol import Operation
from tierwise.simulate.parameter_text import Block, key, read_blocks


class ReadAhead(IntEnum):
    """How far a drive goes on reading."""

    NONE = 0
    TRACK = 1
    CYLINDER = 2
    SEGMENT = 3
    MAXIMUM = 4


class EarlyWrite(IntEnum):
    """Which writes are reported before they are on the medium."""

    NONE = 0
    LIMITED = 1
    ALL = 2


def _number(value: object) -> object:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _yes(value: object) -> object:
    number = _number(value)
    return number != 0 if isinstance(number, float) else value


Milliseconds = Annotated[float, BeforeValidator(_number), Field(allow_inf_nan=False)]
"""A time in milliseconds; below zero it is a correction that an extraction made, and is applied as it stands."""
Flag = Annotated[bool, BeforeValidator(_yes)]
Count = Annotated[int, BeforeValidator(_number), Field(ge=0)]
AtLeastOne = Annotated[int, BeforeValidator(_number), Field(ge=1)]
Share = Annotated[float, BeforeValidator(_number), Field(ge=0, le=1)]


class DriveSpecs(Strict):
    """Electronics of one drive for one request at a time. Fields without a default must be said; sizes are in sectors of 512 bytes."""

    read_hit_after_read_ms: Milliseconds = Field(alias="Read hit over. after read")
    read_hit_after_write_ms: Milliseconds = Field(alias="Read hit over. after write")
    read_miss_after_read_ms: Milliseconds = Field(alias="Read miss over. after read")
    read_miss_after_write_ms: Milliseconds = Field(alias="Read miss over. after write")
    write_hit_after_read_ms: Milliseconds = Field(alias="Write hit over. after read", description="a hit: see `SpecifiedDrive`")
    write_hit_after_write_ms: Milliseconds = Field(alias="Write hit over. after write")
    write_miss_after_read_ms: Milliseconds = Field(alias="Write miss over. after read")
    write_miss_after_write_ms: Milliseconds = Field(alias="Write miss over. after write")
    bus_ms_per_sector: Annotated[Milliseconds, Field(ge=0)] = Field(alias="Bulk sector transfer time")
    segments: AtLeastOne = Field(alias="Number of buffer segments")
    segment_sectors: AtLeastOne = Field(alias="Segment size (in blks)")
    read_ahead: Annotated[ReadAhead, BeforeValidator(_number)] = Field(alias="Buffer continuous read")
    early_write: Annotated[EarlyWrite, BeforeValidator(_number)] = Field(alias="Fast write level")

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
    watermark: Share = Field(default=0.0, alias="High (read) water mark", description="is read before the bus is taken")
    watermark_of_request: Flag = Field(default=True, alias="Set watermark by reqsize", description="no: of a segment")
    least_write_seek_ms: Milliseconds = Field(
        default=0.0, alias="Minimum seek delay", description="from a command's overhead to the medium, of writes out of order"
    )
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

    def on_bus(self, ms_per_sector: float) -> Self:
        return self.model_copy(update={"bus_ms_per_sector": self.bus_ms_per_sector + ms_per_sector})

    def command_ms(self, operation: Operation, *, hit: bool, before: Operation) -> float:
        """Return the drive's own work for a command, by whether the buffer answers it and by the command before."""
        read = operation is Operation.READ, before is Operation.READ
        of_hits = {
            (True, True): (self.read_hit_after_read_ms, self.read_miss_after_read_ms),
            (True, False): (self.read_hit_after_write_ms, self.read_miss_after_write_ms),
            (False, True): (self.write_hit_after_read_ms, self.write_miss_after_read_ms),
            (False, False): (self.write_hit_after_write_ms, self.write_miss_after_write_ms),
        }
        return of_hits[read][0 if hit else 1]


def read_specs(path: Path) -> DriveSpecs:
    """Return the electronics in `path`. Fields that make no difference while one request at a time is outstanding are passed over."""
    where = short(path)
    for block in read_blocks(path).walk():
        if key("Number of buffer segments") in block.fields:
            said = _known(block, where)
            try:
                return validate(said, DriveSpecs, where=where)
            except InputError as error:
                if error.value is None:
                    remedy = f"add the line `{error.field} = ...` to the disksim_disk block"
                    raise InputError(where, field=error.field, rule="is not said, and has no default", remedy=remedy) from error
                raise
    remedy = "give a file with a disksim_disk block"
    raise InputError(where, field="Number of buffer segments", rule="no block says it", remedy=remedy)


def _known(block: Block, where: str) -> dict[str, Any]:
    names = [str(field.alias) for field in DriveSpecs.model_fields.values()]
    absent = {key(name): name for name in names if key(name) not in block.fields}
    for said in block.fields.keys() - {key(name) for name in names}:
        for meant in get_close_matches(said, absent, n=1, cutoff=0.95):
            raise InputError(where, field=said, rule="is no field of this notation", remedy=f"write {absent[meant]!r}")
    return {name: block.fields[key(name)] for name in names if key(name) in block.fields}
