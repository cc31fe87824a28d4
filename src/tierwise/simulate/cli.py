"""The commands `simulate` and `validate`: each reads its options, calls one function and prints."""

import json
from pathlib import Path
from typing import Annotated

import typer

from tierwise.core import completion
from tierwise.core.options import Format, FormatOption, answered, argument, command, option
from tierwise.core.text_table import wrapped

validating = typer.Typer(no_args_is_help=True, help="Compare a device model with measurements of a real drive.")
InputFormatOption = Annotated[str, option("simulate.input_format")]
ReadsOnlyOption = Annotated[bool, option("simulate.reads_only", "--reads-only")]
DeviceOption = Annotated[str, option("simulate.device")]
PageBytesOption = Annotated[int | None, option("simulate.page_bytes")]
EventOption = Annotated[str | None, option("simulate.event")]
simulating = typer.Typer(no_args_is_help=True, help="Simulate a page cache that serves a page trace or Zipfian reads.")


@command(validating, "validate device --trace drive.trace --model drive.model --seek drive.seek", "device")
def validate_device(  # noqa: PLR0917  each is an option with a name
    trace: Annotated[Path, option("validate_device.trace")],
    model: Annotated[Path, option("validate_device.model")],
    seek: Annotated[Path | None, option("validate_device.seek")] = None,
    specs: Annotated[Path | None, option("validate_device.specs")] = None,
    bus_ms_per_sector: Annotated[float, option("validate_device.bus_ms_per_sector")] = 0.0,
    form: FormatOption = Format.TABLE,
) -> None:
    from tierwise.simulate.device_validation import as_text, read_case  # noqa: PLC0415

    found = read_case(trace, model, seek, specs=specs, bus_ms_per_sector=bus_ms_per_sector).judge()
    print(answered(found, form, as_text))


@command(simulating, "simulate trace pages.lis --pages 4096 --policy clock", "trace")
def simulate_trace(
    file: Annotated[Path, argument("simulate_trace.file", metavar="FILE")],
    pages: Annotated[int, option("simulate_trace.pages")],
    policy: Annotated[str, option("simulate_trace.policy", autocompletion=completion.policies)] = "lru",
    input_format: InputFormatOption = "",
    *,
    reads_only: ReadsOnlyOption = False,
    device: DeviceOption = "",
    page_bytes: PageBytesOption = None,
    event: EventOption = None,
    form: FormatOption = Format.TABLE,
) -> None:
    from tierwise.simulate import page_trace  # noqa: PLC0415

    options = page_trace.TraceOptions(input_format, reads_only=reads_only, device=device, page_bytes=page_bytes, event=event)
    found = page_trace.simulate_trace(file, pages, policy, options)
    print(json.dumps(found, indent=2) if form is Format.JSON else wrapped(page_trace.as_text(found)))


@command(simulating, "simulate zipf --device crucial-m4 --dataset-gib 64 --cache-gib 14.49 --scale 64", "zipf")
def simulate_zipf(  # noqa: PLR0917  each is an option with a name
    device: Annotated[str, option("shared.device", autocompletion=completion.devices)],
    dataset_gib: Annotated[float, option("simulate_zipf.dataset_gib")],
    cache_gib: Annotated[float, option("simulate_zipf.cache_gib")],
    threads: Annotated[int, option("simulate_zipf.threads")] = 8,
    scale: Annotated[int, option("simulate_zipf.scale")] = 1,
    form: FormatOption = Format.TABLE,
) -> None:
    from tierwise.simulate import zipf  # noqa: PLC0415

    found = zipf.simulate_zipf(device, dataset_gib=dataset_gib, cache_gib=cache_gib, threads=threads, scale=scale)
    text = f"{found['reads_per_s']:,.0f} reads/s, {found['miss_ratio']:.2%} missed, {found['device_iops']:,.0f} IOPS (simulated)"
    print(json.dumps(found, indent=2) if form is Format.JSON else text)
