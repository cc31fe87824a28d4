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
    from tierwise.scans import prediction  # noqa: PLC0415
    from tierwise.scans.rows import Table  # noqa: PLC0415

    table, processor = Table(pages, rows, correlation, selectivity), (cpu_speed, cpu_us_per_row)
    server = (io_method, io_workers, effective_io_concurrency, work_mem_mib)
    scan = prediction.Scan(device, table, method, cache, *server, *processor, processors=processors)
    print(answered(prediction.predict(scan), form, prediction.as_text))
