"""The commands `device`: a device file from a reader's own measurement."""

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tierwise.core.options import Format, FormatOption, answered, argument, command, option

if TYPE_CHECKING:
    from tierwise.devices.own_device import OwnDevice

own_device = typer.Typer(no_args_is_help=True, help="Describe your own disk as a device, from a measurement.")

OutOption = Annotated[Path, option("device.out")]
CapacityOption = Annotated[float | None, option("device.capacity")]


@command(own_device, "device from-fio fio.json --out data/devices/mine.toml", "from-fio")
def from_fio(
    file: Annotated[Path, argument("from_fio.file", metavar="FILE")],
    out: OutOption,
    capacity_gib: CapacityOption = None,
    form: FormatOption = Format.TABLE,
) -> None:
    from tierwise.devices.own_device import fitted, read_fio, write_device  # noqa: PLC0415

    version, points = read_fio(file)
    source = f"{version}, {file.name}"
    spec = fitted(out.stem, points, source=source, capacity_gib=capacity_gib, date=dt.datetime.now(tz=dt.UTC).date())
    print(answered(write_device(spec, out), form, _as_text))


@command(own_device, "device calibrate /mnt/disk --out data/devices/mine.toml", "calibrate")
def calibrate(
    directory: Annotated[Path, argument("calibrate.directory", metavar="DIR")],
    out: OutOption,
    seconds: Annotated[float, option("calibrate.seconds")] = 9.0,
    capacity_gib: CapacityOption = None,
    form: FormatOption = Format.TABLE,
) -> None:
    from tierwise.core import host  # noqa: PLC0415
    from tierwise.core.errors import InputError  # noqa: PLC0415
    from tierwise.devices.own_device import fitted, write_device  # noqa: PLC0415
    from tierwise.tiers.directory import calibrated_points  # noqa: PLC0415

    if not directory.is_dir():
        raise InputError("DIR", value=str(directory), rule="must be an existing directory", remedy="name a directory on the disk")
    if not 0 < seconds <= 3600:
        raise InputError("--seconds", value=seconds, rule="must be above zero, and at most 3600")
    try:
        points, direct = calibrated_points(directory, seconds=seconds)
    except OSError as error:
        rule = f"cannot hold the file of the measurement ({error.strerror})"
        remedy = "name a directory that you may write to, with 256 MiB free"
        raise InputError("DIR", value=str(directory), rule=rule, remedy=remedy) from error
    if not direct:
        rule = "its file system has no direct reads, so that memory would be measured"
        remedy = "name a directory on ext4 or xfs, or use `tierwise device from-fio`"
        raise InputError("DIR", value=str(directory), rule=rule, remedy=remedy)
    source, today = f"direct reads in {directory}", dt.datetime.now(tz=dt.UTC).date()
    spec = fitted(out.stem, points, source=source, capacity_gib=capacity_gib, date=today, host=host.mark())
    print(answered(write_device(spec, out), form, _as_text))


def _as_text(found: "OwnDevice") -> str:
    from tierwise.core.text_template import render  # noqa: PLC0415

    return render("devices/text/own_device.txt", found=found, model=found.model)
