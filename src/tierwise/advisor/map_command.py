"""The command `map`: it reads its options, calls one function and prints."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from tierwise.core import completion
from tierwise.core.errors import InputError
from tierwise.core.output_format import Format, FormatOption, answered
from tierwise.costs.price_options import CurrencyOption, DayOption, RegionOption
from tierwise.simulate.cli import DeviceOption, EventOption, InputFormatOption, PageBytesOption, ReadsOnlyOption


def map_command(
    traces: Annotated[
        list[Path],
        typer.Argument(metavar="TRACE...", help="Traces to read one after the other. `tierwise simulate trace --help` lists formats."),
    ],
    pages: Annotated[str, typer.Option(help="Cache sizes in pages, separated by commas. Default: powers of two from 1024.")] = "",
    relation: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="Name of the relation that is stored in FILE: one of the traces, or a device or file as the traces name it. Repeatable.",
        ),
    ] = None,
    *,
    by_time: Annotated[bool, typer.Option("--by-time", help="Merge the traces by the time of their requests.")] = False,
    sample: Annotated[float, typer.Option(help="Share of the pages to follow, for an estimate of large traces (SHARDS).")] = 1.0,
    behind: Annotated[
        int | None, typer.Option(help="Pages of the cache above the recorder, if the trace has reads of a device. Default: none.")
    ] = None,
    policy: Annotated[
        str,
        typer.Option(
            help="Other eviction policy to replay at each size, such as clock, or postgresql for shared_buffers. Default: none.",
            autocompletion=completion.policies,
        ),
    ] = "",
    tiers: Annotated[
        str,
        typer.Option(
            help="Pair of tiers in data/tiers, to print time and cost per month of each placement. Default: none.",
            autocompletion=completion.pairs,
        ),
    ] = "",
    price: Annotated[
        list[str] | None, typer.Option(metavar="ITEM=VALUE", help="Your own price of an item, such as ram=20. Repeatable.")
    ] = None,
    input_format: InputFormatOption = "",
    reads_only: ReadsOnlyOption = False,
    device: DeviceOption = "",
    page_bytes: PageBytesOption = None,
    event: EventOption = None,
    on: DayOption = None,
    currency: CurrencyOption = "USD",
    region: RegionOption = "US",
    form: FormatOption = Format.TABLE,
) -> None:
    """Count misses and write-backs of an LRU cache at every size, in one pass over page traces.

    With --tiers, the command also prints how long each placement of the relations keeps the devices busy, and what it costs per month.
    """
    from tierwise.advisor.memory_map import Wish, as_text, map_traces  # noqa: PLC0415  heavy libraries
    from tierwise.costs.book import load_book  # noqa: PLC0415
    from tierwise.costs.cli import with_given_price  # noqa: PLC0415
    from tierwise.simulate.page_trace import TraceOptions  # noqa: PLC0415

    book = load_book((on or datetime.now()).date(), currency=currency, region=region)  # noqa: DTZ005  the reader's day
    for given in price or []:
        book = with_given_price(book, given)
    options = TraceOptions(input_format, reads_only=reads_only, device=device, page_bytes=page_bytes, event=event, timed=by_time)
    wish = Wish(_sizes(pages), sample, behind, tiers, policy, _named(relation or []))
    print(answered(map_traces(traces, options, wish, book), form, as_text))


def _sizes(text: str) -> list[int]:
    try:
        return [int(size) for size in text.split(",")] if text else []
    except ValueError as error:
        raise InputError("--pages", value=text, rule="must be whole numbers, separated by commas") from error


def _named(given: list[str]) -> dict[str, str]:
    """Return the relation's name by the file."""
    named = {}
    for text in given:
        name, equals, file = text.partition("=")
        if not (name and equals and file):
            raise InputError("--relation", value=text, rule="must be NAME=FILE")
        named[file] = name
    return named
