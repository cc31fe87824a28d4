"""The command `check-data`."""

from typing import Annotated

import typer

from tierwise.core.errors import InputError
from tierwise.core.options import Format, FormatOption, answered, option


def check_data(
    census: Annotated[str, option("check_data.census")] = "",
    sky: Annotated[str, option("check_data.sky")] = "",
    form: FormatOption = Format.TABLE,
) -> None:
    """Read your own data file as a run would, and report format, rows, columns, NULLs and the first fault.

    The command exits with code 2 if a run would refuse the file.
    """
    from tierwise.datasets.checking import as_text, check  # noqa: PLC0415  heavy libraries

    named = {name: source for name, source in {"census": census, "sky": sky}.items() if source}
    if len(named) != 1:
        raise InputError("check-data", rule="needs one file", remedy="give --census file:PATH or --sky file:PATH")
    [(name, source)] = named.items()
    checked = check(name, source)
    print(answered(checked, form, as_text))
    if checked.fault:
        raise typer.Exit(2)
