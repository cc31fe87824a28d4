"""The command `predict-scan`."""

import sys
from typing import Annotated

import typer

from tierwise.core.errors import InputError
from tierwise.core.output_format import Format, FormatOption, answered
from tierwise.scans.options import Buffers, IoMethod, ScanMethod


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
    from tierwise.scans import prediction  # noqa: PLC0415
    from tierwise.scans.rows import Table  # noqa: PLC0415

    table, processor = Table(pages, rows, correlation, selectivity), (cpu_speed, cpu_us_per_row)
    server = (io_method, io_workers, effective_io_concurrency, work_mem_mib)
    scan = prediction.Scan(device, table, method, cache, *server, *processor, processors=processors)
    try:
        found = prediction.predict(scan)
    except InputError as error:
        print(f"tierwise: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    print(answered(found, form, prediction.as_text))
