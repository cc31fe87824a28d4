"""The command that gives a built report away."""

from pathlib import Path
from typing import Annotated, Final

import typer

from tierwise.core import completion
from tierwise.core.errors import InputError
from tierwise.core.progress import say

VERSION_HELP: Final = "Version of the report: latest, reference, or a unique part of the version's name."


def publish(
    to: Annotated[
        Path | None,
        typer.Argument(metavar="FOLDER", help="New or empty folder to write the report into. Required unless --one is given.", envvar="TO"),
    ] = None,
    version: Annotated[str, typer.Option(help=VERSION_HELP, autocompletion=completion.versions)] = "latest",
    one: Annotated[Path | None, typer.Option(help="New HTML file (.html) for the whole report, instead of FOLDER.", envvar="ONE")] = None,
) -> None:
    """Copy a built report with its rows and checksums to a folder, or write the report as one HTML file."""
    from tierwise.report.publish import publish as write  # noqa: PLC0415
    from tierwise.report.publish import write_one  # noqa: PLC0415

    if one:
        say(f"published one file: {write_one(one, version)}")
        return
    if to is None:
        raise InputError(
            "TO",
            rule="names no folder to write the report into",
            remedy="run make publish TO=dir, or make publish ONE=report.html for one file",
        )
    made = write(to, version)
    say(f"published {made.built.version}: {made.files} files in {to}")
    if made.dirty:
        say("the code had uncommitted changes when this report was built, so no commit has exactly this code")
