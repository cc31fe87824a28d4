"""The commands `simulate` and `validate`: each reads its options, calls one function and prints."""

import json
from pathlib import Path
from typing import Annotated

import typer

from tierwise.core.output_format import Format, FormatOption, answered

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
