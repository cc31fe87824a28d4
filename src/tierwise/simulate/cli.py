"""The commands on models: each reads its options, calls one function and prints."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from tierwise.core.answers import Format, FormatOption, answered
from tierwise.core.errors import InputError
from tierwise.simulate.scan.words import Buffers, IoMethod, ScanMethod

validating = typer.Typer(no_args_is_help=True, help="Hold a model against measurements.")
simulating = typer.Typer(no_args_is_help=True, help="Run a model alone.")


@validating.command("device")
def validate_device(  # noqa: PLR0917  each is an option with a name
    trace: Annotated[Path, typer.Option(help="requests with measured service times")],
    model: Annotated[Path, typer.Option(help="the drive's extracted parameters: zones, rotation, head switch, write settling")],
    seek: Annotated[
        Path | None, typer.Option(help="the drive's seek curve, cylinders and ms; without it, the table or formula that --model names")
    ] = None,
    specs: Annotated[
        Path | None,
        typer.Option(help="the drive's electronics (diskspecs): overheads, bus, buffer, read-ahead, early writes; without it, fitted ones"),
    ] = None,
    bus_ms_per_sector: Annotated[
        float, typer.Option(help="what an old bus adds, in ms for each sector of 512 bytes, to the specs' bulk sector transfer time")
    ] = 0.0,
    form: FormatOption = Format.TABLE,
) -> None:
    """Predict the service times of a real drive's trace, and say how far they are from the measured ones.

    With --specs nothing is fitted: every command takes the drive's own overhead, by what it is, whether the buffer holds the
    sectors and what the command before was; then the arm moves while the bus is given back or brings the data.
    """
    from tierwise.simulate.device_validation import as_text, validate  # noqa: PLC0415

    found = validate(trace, model, seek, specs=specs, bus_ms_per_sector=bus_ms_per_sector)
    print(answered(found, form, as_text))


@simulating.command("trace")
def simulate_trace(
    file: Path,
    pages: Annotated[int, typer.Option(help="size of the cache")],
    policy: Annotated[str, typer.Option(help="lru, clock, two-list or mapped")] = "lru",
    form: FormatOption = Format.TABLE,
) -> None:
    """Replay a page trace (lines of: start blocks x request) through a cache."""
    from tierwise.simulate import page_trace  # noqa: PLC0415

    found = page_trace.simulate_trace(file, pages, policy)
    text = f"{found['requests']:,} requests, {found['misses']:,} misses, hit ratio {found['hit_ratio']:.2%}"
    print(json.dumps(found, indent=2) if form is Format.JSON else text)


@simulating.command("zipf")
def simulate_zipf(  # noqa: PLR0917  each is an option with a name
    device: Annotated[str, typer.Option(help="name of a file in data/devices")],
    dataset_gib: Annotated[float, typer.Option(help="size of the file that is read")],
    cache_gib: Annotated[float, typer.Option(help="the usable page cache")],
    threads: Annotated[int, typer.Option(help="readers")] = 8,
    scale: Annotated[int, typer.Option(help="64 simulates 1/64 of sizes and time, in seconds")] = 1,
    form: FormatOption = Format.TABLE,
) -> None:
    """Read a file through mmap by a scrambled Zipfian: 600 s of warm-up from dropped caches and 600 s measured, mean of five seeds."""
    from tierwise.simulate import zipf  # noqa: PLC0415

    found = zipf.simulate_zipf(device, dataset_gib=dataset_gib, cache_gib=cache_gib, threads=threads, scale=scale)
    text = f"{found['reads_per_s']:,.0f} reads/s, {found['miss_ratio']:.2%} missed, {found['device_iops']:,.0f} IOPS (simulated)"
    print(json.dumps(found, indent=2) if form is Format.JSON else text)


def predict_scan(  # noqa: PLR0917  each is an option with a name
    device: Annotated[str, typer.Option(help="name of a file in data/devices")],
    pages: Annotated[int, typer.Option(help="of the table, of 8 KiB")],
    rows: Annotated[int, typer.Option(help="of the table")],
    selectivity: Annotated[float, typer.Option(help="share of the rows that the range holds, 0 to 1")],
    correlation: Annotated[float, typer.Option(help="of the column of the range, as in pg_stats: -1 to 1")],
    method: Annotated[ScanMethod, typer.Option(help="how the rows are found")],
    cache: Annotated[Buffers, typer.Option(help="nothing in memory beforehand, or all in shared buffers")],
    io_method: Annotated[IoMethod, typer.Option(help="who reads for a sequential or a bitmap scan")] = IoMethod.WORKER,
    io_workers: Annotated[int, typer.Option(help="processes that read, under worker")] = 3,
    effective_io_concurrency: Annotated[int, typer.Option(help="reads begun before they are wanted; 0: none")] = 16,
    work_mem_mib: Annotated[int, typer.Option(help="memory of a bitmap; of pages that do not fit all rows are looked at")] = 4,
    cpu_us_per_row: Annotated[
        float | None, typer.Option(help="each row of a sequential scan, each row of the range in the others; data/machines by default")
    ] = None,
    cpu_speed: Annotated[
        float | None, typer.Option(help="over the processor of data/machines/postgres-18-scans.toml; the speed that it names by default")
    ] = None,
    processors: Annotated[int | None, typer.Option(help="that the server's processes share; one for each by default")] = None,
    form: FormatOption = Format.TABLE,
) -> None:
    """Say how long PostgreSQL 18 will take for a range of a column, by one kind of scan on a device, and how many pages it touches.

    The jitter: rows lie in the order of rank + jitter. The rank is a row's place in the order of the column, 0 to ROWS - 1; the jitter is
    normal with mean 0 and the standard deviation with which ranks and places have the rank correlation CORRELATION: 0.0041 ROWS for
    0.9999, 0.0422 ROWS for 0.99, 0.146 ROWS for 0.9, 0.499 ROWS for 0.5. At 1 there is none, at 0 the order is random, below 0 the
    table lies the other way round. The range is the middle one of the column; index keys have 8 bytes at most.

    Assumed: PostgreSQL's defaults elsewhere, buffered reads with the kernel's read-ahead of 128 KiB, one session without parallel query or
    just-in-time compilation, memory for all that was read once. What the processor takes, and where
    that is from, stands in data/machines/postgres-18-scans.toml. Of the devices only local-nvme has parameters that were fitted on times of
    scans: 39.3 us a page at random fixed read_latency, 1.56 us a page in order ordered_read_latency. The SATA drives have what their data
    sheets say, and an assumed latency.

    low_s and high_s: a processor twice and half as quick, a device that takes 0.85 and 1.2 times as long.
    """
    from tierwise.simulate.scan import prediction  # noqa: PLC0415
    from tierwise.simulate.scan.rows import Table  # noqa: PLC0415

    table = Table(pages, rows, correlation, selectivity)
    scan = prediction.Scan(
        device,
        table,
        method,
        cache,
        io_method,
        io_workers,
        effective_io_concurrency,
        work_mem_mib,
        cpu_speed=cpu_speed,
        cpu_us_per_row=cpu_us_per_row,
        processors=processors,
    )
    try:
        found = prediction.predict(scan)
    except InputError as error:
        print(f"tierwise: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    print(answered(found, form, prediction.as_text))
