"""The command `predict-scan`."""

import sys
from typing import Annotated

import typer

from tierwise.core import completion
from tierwise.core.errors import InputError
from tierwise.core.output_format import Format, FormatOption, answered
from tierwise.scans.options import Buffers, IoMethod, ScanMethod


def predict_scan(  # noqa: PLR0917  each is an option with a name
    device: Annotated[str, typer.Option(help=completion.DEVICE, autocompletion=completion.devices)],
    pages: Annotated[int, typer.Option(help="Size of the table, in pages of 8 KiB.")],
    rows: Annotated[int, typer.Option(help="Number of rows of the table.")],
    selectivity: Annotated[float, typer.Option(help="Share of the rows that the range of the column selects, 0 to 1.")],
    correlation: Annotated[
        float, typer.Option(help="Correlation of the column with the order of rows in the table, as in pg_stats, -1 to 1.")
    ],
    method: Annotated[ScanMethod, typer.Option(help="Kind of scan.")],
    cache: Annotated[Buffers, typer.Option(help="State of the cache: nothing in memory (cold), or everything in shared buffers (warm).")],
    io_method: Annotated[IoMethod, typer.Option(help="PostgreSQL setting io_method, for sequential and bitmap scans.")] = IoMethod.WORKER,
    io_workers: Annotated[int, typer.Option(help="PostgreSQL setting io_workers, for --io-method worker.")] = 3,
    effective_io_concurrency: Annotated[
        int, typer.Option(help="PostgreSQL setting effective_io_concurrency: number of reads started ahead. 0: none.")
    ] = 16,
    work_mem_mib: Annotated[
        int, typer.Option(help="PostgreSQL setting work_mem, in MiB. A larger bitmap stores pages instead of rows.")
    ] = 4,
    cpu_us_per_row: Annotated[
        float | None,
        typer.Option(
            help="Processor time in us per row: of the table (sequential) or of the range (others). Default: as in data/machines."
        ),
    ] = None,
    cpu_speed: Annotated[
        float | None,
        typer.Option(
            help="Speed of the processor, as a multiple of the processor in data/machines/postgres-18-scans.toml. Default: the speed there."
        ),
    ] = None,
    processors: Annotated[
        int | None, typer.Option(help="Number of processors that the server's processes share. Default: one processor for each process.")
    ] = None,
    form: FormatOption = Format.TABLE,
) -> None:
    """Predict how long PostgreSQL 18 takes to read a range of a column, and how many pages it touches.

    The lowest time is for a processor twice as fast and a device that takes 0.85 times as long. The highest time is for a processor half
    as fast and a device that takes 1.2 times as long.

    The prediction assumes PostgreSQL's defaults for other settings, buffered reads with the kernel's read-ahead of 128 KiB, and one session
    without parallel query or just-in-time compilation. A page that was read once stays in memory. Index keys have at most 8 bytes, and the
    range lies in the middle of the column's values.

    The table stores rows in the order of rank + jitter. The rank is a row's place in the order of the column. The jitter is a normal random
    number with mean 0. The standard deviation of the jitter sets the correlation: 0.0041 ROWS for a correlation of 0.9999, 0.0422 ROWS for
    0.99, 0.146 ROWS for 0.9, and 0.499 ROWS for 0.5. At a correlation of 0 the order is random. Below 0, the table is in descending order.

    Processor times and their source are in data/machines/postgres-18-scans.toml. Only the device local-nvme was fitted on scan times, with
    39.3 us for a random page (read_latency) and 1.56 us for the next page in order (ordered_read_latency). The SATA drives have values
    from data sheets and an assumed latency.
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
