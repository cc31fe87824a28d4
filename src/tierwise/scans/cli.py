"""The command `predict-scan`."""

from typing import Annotated

from tierwise.core import completion
from tierwise.core.options import Format, FormatOption, answered, option
from tierwise.scans.processor import Buffers, IoMethod, ScanMethod


def predict_scan(  # noqa: PLR0917  each is an option with a name
    device: Annotated[str, option("shared.device", autocompletion=completion.devices)],
    pages: Annotated[int, option("predict_scan.pages")],
    rows: Annotated[int, option("predict_scan.rows")],
    selectivity: Annotated[float, option("predict_scan.selectivity")],
    correlation: Annotated[float, option("predict_scan.correlation")],
    method: Annotated[ScanMethod, option("predict_scan.method")],
    cache: Annotated[Buffers, option("predict_scan.cache")],
    io_method: Annotated[IoMethod, option("predict_scan.io_method")] = IoMethod.WORKER,
    io_workers: Annotated[int, option("predict_scan.io_workers")] = 3,
    effective_io_concurrency: Annotated[int, option("predict_scan.effective_io_concurrency")] = 16,
    work_mem_mib: Annotated[int, option("predict_scan.work_mem_mib")] = 4,
    cpu_us_per_row: Annotated[float | None, option("predict_scan.cpu_us_per_row")] = None,
    cpu_speed: Annotated[float | None, option("predict_scan.cpu_speed")] = None,
    processors: Annotated[int | None, option("predict_scan.processors")] = None,
    form: FormatOption = Format.TABLE,
) -> None:
    """Predict how long PostgreSQL 18 takes to scan a range of a column's values, and how many pages the scan touches.

    The lowest time in the output assumes twice the processor speed and 0.85 times the device's service times. The highest time assumes
    half the processor speed and 1.2 times the device's service times.

    The prediction assumes PostgreSQL's defaults for other settings. Reads are buffered, and the kernel reads 128 KiB ahead. The scan runs
    in one session without parallel query or just-in-time compilation. Each page stays in memory after the first read. Index keys have at
    most 8 bytes, and the range lies in the middle of the column's values.

    The simulated table stores rows in the order of rank + jitter. The rank is a row's place in the order of the column's values. The jitter
    is a normally distributed random number with mean 0. The standard deviation of the jitter sets the correlation. For correlations of
    0.9999, 0.99, 0.9 and 0.5, the standard deviation of the jitter is 0.0041, 0.0422, 0.146 and 0.499 times the number of rows. At a
    correlation of 0, the rows are in random order. At a negative correlation, the rows are in descending order.

    Processor times and their source are in data/machines/postgres-18-scans.toml. Only the device model local-nvme is fitted to measured
    scan times. The local-nvme model takes 39.3 us for a random page (read_latency) and 1.56 us for the next page in order
    (ordered_read_latency). The models of SATA drives have values from data sheets and an assumed latency.
    """
    from tierwise.scans import prediction  # noqa: PLC0415
    from tierwise.scans.rows import Table  # noqa: PLC0415

    table, processor = Table(pages, rows, correlation, selectivity), (cpu_speed, cpu_us_per_row)
    server = (io_method, io_workers, effective_io_concurrency, work_mem_mib)
    scan = prediction.Scan(device, table, method, cache, *server, *processor, processors=processors)
    print(answered(prediction.predict(scan), form, prediction.as_text))
