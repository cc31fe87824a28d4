"""How long a scan of a PostgreSQL table will take: rows are placed, reads are simulated; a large table is made smaller in proportion."""

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import numpy as np
from pydantic import Field

from tierwise.core.errors import InputError
from tierwise.core.text_template import render
from tierwise.core.toml import Strict
from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.devices.model import build
from tierwise.devices.parameter import sourced
from tierwise.devices.slowed_device import SlowedDevice
from tierwise.devices.spec import DeviceSpec, load_device
from tierwise.scans.methods import ColdScan, Server, warm_s
from tierwise.scans.processor import Buffers, IoMethod, Processor, ScanMethod, load_processor
from tierwise.scans.rows import Table, jitter, lossy_share, pages_in_order, rank_correlation, touched_pages

SIMULATED_PAGES: Final = 4_000  # the most pages that are simulated; of a scan that touches more, the table is made smaller in proportion
DISPLACED: Final = 0.05
"""Share of the range by which rows of the part may be displaced: few of its pages are then at the edges, and those are far apart."""
SEEDS: Final = range(1, 4)  # draws of the jitter, and places of a disk's platters
SPEEDS: Final = (2.0, 0.5)  # processors twice and half as fast give the ends of the range
PACES: Final = (0.85, 1.2)  # devices that take this many times as long, paired with `SPEEDS`, give the range's ends as well
MOST_PAGES: Final = 2**32 - 2
MOST_ROWS: Final = 291  # the most rows of a page of 8 KiB, which bounds those of a table: PostgreSQL's own limit
MOST_PROCESSORS: Final = 4096
MOST_WORK_MEM_MIB: Final = 2**21 - 1  # the most whole MiB that PostgreSQL takes for work_mem


@dataclass(frozen=True, slots=True)
class Scan:
    device: str
    table: Table
    method: ScanMethod
    cache: Buffers
    io_method: IoMethod = IoMethod.WORKER
    io_workers: int = 3
    effective_io_concurrency: int = 16
    work_mem_mib: int = 4
    cpu_speed: float | None = None
    cpu_us_per_row: float | None = None
    slowdown: float = 1.0  # factor on the times of the device, as emulated tiers can have one
    processors: int | None = None  # None: one for each process


class Prediction(Strict):
    time_s: float
    low_s: float = Field(description="with a processor twice as quick, and a device that takes 0.85 times as long")
    high_s: float = Field(description="with a processor half as quick, and a device that takes 1.2 times as long")
    pages: int = Field(description="distinct pages of the table that are touched")
    device: str
    method: ScanMethod
    cache: Buffers
    io_method: IoMethod
    device_s: float = Field(description="what of the time nobody computes, because everybody waits for the device")
    cpu_s: float = Field(description="what the scan would take with everything in shared buffers")
    cpu_us_per_row: float = Field(description="processor time of a row: each of a sequential scan, each of the range in the others")
    cpu_source: str
    fitted: dict[str, str] = Field(description="parameters of the device that were fitted, and on what")
    notes: tuple[str, ...]


def predict(scan: Scan, processor: Processor | None = None) -> Prediction:
    """Return the time of `scan`, and the distinct pages of the table that it touches; `processor`: another than that of the file."""
    spec = load_device(scan.device)
    _check(scan, spec)
    whole = scan.table
    sequential = scan.method is ScanMethod.SEQUENTIAL
    touched = float(whole.pages) if sequential else touched_pages(whole)
    server = _server(scan, processor or load_processor(), lossy_share(touched, scan.work_mem_mib * MIB))
    part = _part(whole, touched)
    started_s, warm_scale, cold_scale = server.processor.statement.base / server.processor.speed.value, 1.0, 1.0
    if part is not whole:
        cold_scale = touched / (part.pages if sequential else touched_pages(part))
        warm_scale = cold_scale if sequential else whole.matched / part.matched

    drawn = cache(lambda seed: pages_in_order(part, np.random.default_rng(seed)))

    def takes_s(seed: int, pace: float, faster: float) -> tuple[float, float]:
        able = replace(server, processor=server.processor.at(faster))
        if scan.cache is Buffers.WARM:
            return started_s / faster + warm_s(part, scan.method, able, drawn(seed)) * warm_scale, 0.0
        device = SlowedDevice(build(spec, seed=seed, stretch=_stretch(whole, part)))
        device.slow(0.0, pace * scan.slowdown)
        cold = ColdScan(part, device, able)
        return started_s / faster + cold.run_s(scan.method, drawn(seed)) * cold_scale, cold.device_wait_s * cold_scale

    times_s, waits_s = zip(*(takes_s(seed, 1.0, 1.0) for seed in SEEDS), strict=True)
    low_s, high_s = (takes_s(SEEDS[0], *ends)[0] for ends in zip(PACES, SPEEDS, strict=True))
    row, speed = server.processor.row(scan.method), server.processor.speed
    return Prediction(
        time_s=float(np.mean(times_s)),
        low_s=min(low_s, *times_s),
        high_s=max(high_s, *times_s),
        pages=round(touched),
        device=scan.device,
        method=scan.method,
        cache=scan.cache,
        io_method=scan.io_method,
        device_s=float(np.mean(waits_s)),
        cpu_s=started_s + warm_s(part, scan.method, server, drawn(SEEDS[0])) * warm_scale,
        cpu_us_per_row=row.base / speed.value * 1e6,
        cpu_source=f"{row.source}; {speed.value:g} times as fast: {speed.source}",
        fitted={name: one.fitted_on for name, one in sourced(spec) if one.fitted_on},
        notes=_notes(scan, server.lossy),
    )


def as_text(found: Prediction) -> str:
    return render("scans/text/scan.txt", found=found)


def _notes(scan: Scan, lossy: float) -> tuple[str, ...]:
    return tuple(render("scans/text/notes.txt", scan=scan, lossy=lossy).splitlines())


def _part(whole: Table, touched: float) -> Table:
    """Return the table, smaller in proportion where the scan touches too many pages of it.

    Rows are displaced by as many pages as in the whole, unless that is more than a small share of the range, of which they keep theirs.
    """
    if touched <= SIMULATED_PAGES:
        return whole
    share = SIMULATED_PAGES / touched
    pages = max(1, round(whole.pages * share))
    part = replace(whole, pages=pages, rows=max(1, round(whole.rows * pages / whole.pages)))
    shares = jitter(whole.correlation)
    wanted = min(shares / share, DISPLACED * whole.selectivity)
    return part if shares >= wanted else replace(part, correlation=math.copysign(rank_correlation(wanted), whole.correlation))


def _stretch(whole: Table, part: Table) -> float:
    displaced = 0 < whole.jitter_rows < math.inf
    return max(1.0, whole.jitter_rows / part.jitter_rows if displaced else whole.pages / part.pages)


def _server(scan: Scan, processor: Processor, lossy: float) -> Server:
    if scan.cpu_speed is not None:
        processor = processor.at(scan.cpu_speed / processor.speed.value, source="--cpu-speed")
    if scan.cpu_us_per_row is not None:
        processor = processor.with_row_us(scan.cpu_us_per_row)
    processors = scan.processors or math.inf
    return Server(scan.io_method, scan.io_workers, scan.effective_io_concurrency, processor, lossy, processors)


def _check(scan: Scan, spec: DeviceSpec) -> None:
    table = scan.table
    for option, value, least, most, why in (
        ("--pages", table.pages, 1, MOST_PAGES, ""),
        ("--rows", table.rows, 1, table.pages * MOST_ROWS, ""),
        ("--selectivity", table.selectivity, 0, 1, ": the share of the rows that is wanted"),
        ("--correlation", table.correlation, -1, 1, ", as in pg_stats"),
        ("--io-workers", scan.io_workers, 1, 32, ", as in PostgreSQL 18"),
        ("--effective-io-concurrency", scan.effective_io_concurrency, 0, 1000, ", as in PostgreSQL 18"),
        ("--work-mem-mib", scan.work_mem_mib, 1, MOST_WORK_MEM_MIB, ", as in PostgreSQL 18"),
        ("--processors", 1 if scan.processors is None else scan.processors, 1, MOST_PROCESSORS, ""),
    ):
        if not least <= value <= most:
            raise InputError(option, value=value, rule=f"must be {least} to {most}{why}")
    for option, number in (("--cpu-speed", scan.cpu_speed), ("--cpu-us-per-row", scan.cpu_us_per_row)):
        if number is not None and not (0 < number < math.inf):
            raise InputError(option, value=number, rule="must be above 0")
    capacity_bytes = build(spec).capacity_bytes
    if table.pages * PAGE_BYTES > capacity_bytes:
        raise InputError("--pages", value=table.pages, rule=f"must fit on {scan.device}, which has {capacity_bytes // PAGE_BYTES} pages")
