"""``tierwise watch``: it reads its options, calls one function and prints."""

import re
from pathlib import Path
from typing import Annotated, Final

from tierwise.core.errors import InputError
from tierwise.core.options import TicketFormat, TicketFormatOption, argument, option

UNITS_S: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
SHORTEST_S, LONGEST_S = 10.0, 31 * 86400.0


def watch(  # noqa: PLR0917  each is an option with a name
    dsn: Annotated[str, argument("watch.dsn", metavar="[DSN]")] = "",
    duration: Annotated[str, option("watch.duration", "--for")] = "10m",
    out: Annotated[Path | None, option("watch.out")] = None,
    every: Annotated[bool, option("watch.every", "--all")] = False,
    mask: Annotated[Path | None, option("watch.mask")] = None,
    show: Annotated[Path | None, option("watch.show")] = None,
    service: Annotated[list[str] | None, option("watch.service", metavar="TABLESPACE=MS[@DEPTH]")] = None,
    trace: Annotated[Path | None, option("watch.trace")] = None,
    form: TicketFormatOption = TicketFormat.TABLE,
) -> None:
    from tierwise.watch.answer import answer  # noqa: PLC0415  the heavy libraries load only where they are needed
    from tierwise.watch.answer_text import shown  # noqa: PLC0415
    from tierwise.watch.recording import Request  # noqa: PLC0415
    from tierwise.watch.recording import watch as record  # noqa: PLC0415
    from tierwise.watch.service_times import parse  # noqa: PLC0415

    service_times = parse(service or [], trace)
    if show is None:
        if out is None:
            raise InputError("watch", rule="needs a file to write", remedy="--out activity.parquet, or --show FILE to read one")
        show = record(Request(dsn, seconds(duration), out, all_databases=every, mask=mask), service=service_times)
    print(shown(answer(show, service_times), form))


def seconds(text: str) -> float:
    """Return the seconds of ``90s``, ``10m``, ``24h`` or ``2d``."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd])", text.strip())
    value = float(found[1]) * UNITS_S[found[2]] if found else 0.0
    if not SHORTEST_S <= value <= LONGEST_S:
        raise InputError("--for", value=text, rule="must be a duration from 10s to 31d", remedy="for example --for 10m")
    return value
