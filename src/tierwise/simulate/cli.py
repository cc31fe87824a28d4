"""The commands `simulate` and `validate`: each reads its options, calls one function and prints."""

import json
from pathlib import Path
from typing import Annotated

import typer

from tierwise.core import completion
from tierwise.core.output_format import Format, FormatOption, answered
from tierwise.core.text_table import wrapped

validating = typer.Typer(no_args_is_help=True, help="Compare a device model with measurements of a real drive.")
InputFormatOption = Annotated[
    str,
    typer.Option(
        help="Format of the trace: arc, fio, msr, alibaba, spc, blkparse, twitter, lrb, oracle or parquet. "
        "Default: the format that the content shows. The content never shows lrb."
    ),
]
ReadsOnlyOption = Annotated[bool, typer.Option("--reads-only", help="Leave writes out.")]
DeviceOption = Annotated[
    str,
    typer.Option(help="Keep only requests to this device: a disk, a volume, a file or a relation, as the trace names it. Default: all."),
]
PageBytesOption = Annotated[int | None, typer.Option(help="Size of a page, in bytes. Default: 8192. Refused where an object is a page.")]
EventOption = Annotated[
    str | None, typer.Option(help="Event of a blkparse trace to count: Q (queued), D (issued) or C (completed). Default: Q.")
]
simulating = typer.Typer(no_args_is_help=True, help="Simulate a page cache that serves a page trace or Zipfian reads.")


@validating.command("device", epilog="Example: tierwise validate device --trace drive.trace --model drive.model --seek drive.seek")
def validate_device(  # noqa: PLR0917  each is an option with a name
    trace: Annotated[Path, typer.Option(help="File with the drive's requests and their measured service times.")],
    model: Annotated[
        Path,
        typer.Option(help="File with the drive's zones, rotation speed, head switch time and write settling time, as DiskSim stores them."),
    ],
    seek: Annotated[
        Path | None,
        typer.Option(
            help="File with the drive's seek curve, in cylinders and ms. "
            "Default: the seek table or formula that is named in the file given with --model."
        ),
    ] = None,
    specs: Annotated[
        Path | None,
        typer.Option(
            help="The drive's diskspecs file for the simulator DiskSim. "
            "Without this file, the disk model uses constants that were fitted on other drives."
        ),
    ] = None,
    bus_ms_per_sector: Annotated[
        float, typer.Option(help="For an old drive: time that the drive's bus adds to the transfer of each 512-byte sector, in ms.")
    ] = 0.0,
    form: FormatOption = Format.TABLE,
) -> None:
    """Predict the service time of each request in a real drive's trace, and compare the predicted times with the measured times.

    With --specs, the prediction uses no fitted constant, and seeks overlap with bus transfers. The file of --specs gives the overhead of
    each kind of drive command. The overhead depends on the previous command and on whether the drive's buffer has the data.
    """
    from tierwise.simulate.device_validation import as_text, validate  # noqa: PLC0415

    found = validate(trace, model, seek, specs=specs, bus_ms_per_sector=bus_ms_per_sector)
    print(answered(found, form, as_text))


@simulating.command("trace", epilog="Example: tierwise simulate trace pages.lis --pages 4096 --policy clock")
def simulate_trace(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Trace to replay. The content shows the format, and whether the file is compressed.")
    ],
    pages: Annotated[int, typer.Option(help="Number of pages that the simulated cache holds.")],
    policy: Annotated[
        str,
        typer.Option(
            help="Rule for evicting pages: lru, clock, two-list (Linux, for files that are read) or mapped (Linux 3.2, for mapped files).",
            autocompletion=completion.policies,
        ),
    ] = "lru",
    input_format: InputFormatOption = "",
    *,
    reads_only: ReadsOnlyOption = False,
    device: DeviceOption = "",
    page_bytes: PageBytesOption = None,
    event: EventOption = None,
    form: FormatOption = Format.TABLE,
) -> None:
    """Replay a page trace through a simulated cache, and count the misses.

    Formats: ARC, fio iolog, MSR Cambridge CSV, Alibaba CSV, blkparse text, SPC, Twitter CSV, LRB, libCacheSim oracleGeneral, and Parquet
    files of tierwise. A request touches every page that it overlaps. Pages of different devices are different pages.
    """
    from tierwise.simulate import page_trace  # noqa: PLC0415

    options = page_trace.TraceOptions(input_format, reads_only=reads_only, device=device, page_bytes=page_bytes, event=event)
    found = page_trace.simulate_trace(file, pages, policy, options)
    print(json.dumps(found, indent=2) if form is Format.JSON else wrapped(page_trace.as_text(found)))


@simulating.command("zipf", epilog="Example: tierwise simulate zipf --device crucial-m4 --dataset-gib 64 --cache-gib 14.49 --scale 64")
def simulate_zipf(  # noqa: PLR0917  each is an option with a name
    device: Annotated[str, typer.Option(help=completion.DEVICE, autocompletion=completion.devices)],
    dataset_gib: Annotated[float, typer.Option(help="Size of the memory-mapped file, in GiB.")],
    cache_gib: Annotated[float, typer.Option(help="Size of the page cache (the part of RAM that caches pages of the file), in GiB.")],
    threads: Annotated[int, typer.Option(help="Number of threads that read the file at the same time.")] = 8,
    scale: Annotated[
        int,
        typer.Option(
            help="Simulate only 1/SCALE of file, page cache and time. The printed rates are for the full size. With 64, this takes seconds."
        ),
    ] = 1,
    form: FormatOption = Format.TABLE,
) -> None:
    """Simulate Zipfian reads of a memory-mapped file, and count reads per second.

    The command prints the mean of five simulations with different random seeds. Each simulation starts with an empty page cache, warms up
    for 600 s of simulated time, and then counts reads for 600 s.
    """
    from tierwise.simulate import zipf  # noqa: PLC0415

    found = zipf.simulate_zipf(device, dataset_gib=dataset_gib, cache_gib=cache_gib, threads=threads, scale=scale)
    text = f"{found['reads_per_s']:,.0f} reads/s, {found['miss_ratio']:.2%} missed, {found['device_iops']:,.0f} IOPS (simulated)"
    print(json.dumps(found, indent=2) if form is Format.JSON else text)
