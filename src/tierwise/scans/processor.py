"""The options of a scan, and what it costs the processor: ``data/machines/postgres-18-scans.toml``, measured by a benchmark.

``benchmarks/by_name/scan_processor.py`` measured the costs.
"""

from enum import StrEnum
from typing import Self

from pydantic import Field

from tierwise.core.toml import Strict, input_file, read_toml
from tierwise.devices.parameter import Parameter, Sourced, Time


class ScanMethod(StrEnum):
    SEQUENTIAL = "sequential"
    INDEX = "index"
    BITMAP = "bitmap"


class IoMethod(StrEnum):
    SYNC = "sync"
    WORKER = "worker"
    IO_URING = "io_uring"


class Buffers(StrEnum):
    COLD = "cold"
    WARM = "warm"


class Speed(Sourced):
    value: float = Field(gt=0, allow_inf_nan=False)


class SequentialCosts(Strict):
    page: Time = Field(description="a page in shared buffers")
    row: Time = Field(description="each row of it, in the range or not")
    match: Time = Field(description="on top, a row of the range")


class IndexCosts(Strict):
    row: Time = Field(description="a row of the range")
    page: Time = Field(description="on top, where it lies on the page after that of the row before")
    jump: Time = Field(description="on top, where it lies on any other page than that of the row before")


class BitmapCosts(Strict):
    row: Time = Field(description="a row of the range")
    page: Time = Field(description="a page of the table that holds such rows")
    outside: Time = Field(description="on a page that is lossy, a row outside the range, which is looked at as well")


class ReadingCosts(Strict):
    call: Time = Field(description="one read of the file, whatever its size")
    copying: Time = Field(description="a page from the kernel's cache to shared buffers")
    check: Time = Field(description="a page's check sum: of whoever read it, under io_uring of the session")
    ask: Time = Field(description="of the session, a page: a shared buffer for it, and the end of its read")
    hand: Time = Field(description="of the session, one read that others make, whatever its size")
    request: Time = Field(description="one request of the device, whatever its size")
    fill: Time = Field(description="a page that is new in the kernel's cache")
    fresh: Time = Field(description="a shared buffer that is used for the first time since the server's start: page faults")
    wake: Time = Field(description="until a process that waits runs again, where another one wakes it")


class Processor(Strict):
    """The costs, in the time of the processor that they were measured on, and how much quicker another one is."""

    description: str
    speed: Speed
    statement: Time = Field(description="planning, beginning and ending a statement")
    sequential: SequentialCosts
    index: IndexCosts
    bitmap: BitmapCosts
    reading: ReadingCosts

    def at(self, speed: float, source: str | None = None) -> Self:
        """Return the same, `speed` times as quick; `source` says who knows."""
        return self.model_copy(update={"speed": Speed(value=self.speed.value * speed, source=source or self.speed.source)})

    def row(self, method: ScanMethod) -> Parameter:
        return {ScanMethod.SEQUENTIAL: self.sequential.row, ScanMethod.INDEX: self.index.row, ScanMethod.BITMAP: self.bitmap.row}[method]

    def with_row_us(self, row_us: float) -> Self:
        """Return the same, with another cost of a row: each of a sequential scan, each of the range in the others, whatever the speed."""
        row = Parameter(value=row_us * self.speed.value, unit="us", source="--cpu-us-per-row")
        scans = {name: getattr(self, name).model_copy(update={"row": row}) for name in ("sequential", "index", "bitmap")}
        return self.model_copy(update=scans)


def load_processor() -> Processor:
    return read_toml(input_file("machines", "postgres-18-scans"), Processor)
