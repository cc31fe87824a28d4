"""The command `map`: it reads its options, calls one function and prints."""

from math import floor
from pathlib import Path
from typing import Annotated, Final

from tierwise.core import completion
from tierwise.core.errors import InputError
from tierwise.core.options import Format, FormatOption, answered, argument, option
from tierwise.core.units import GIB, PAGE_BYTES
from tierwise.core.vocabulary import Layout
from tierwise.costs.cli import CurrencyOption, DayOption, RegionOption, book_of
from tierwise.simulate.cli import DeviceOption, EventOption, InputFormatOption, PageBytesOption, ReadsOnlyOption

SYNTHETIC: Final = "Workload of --synthetic"
MOST_GIB: Final = 2**20


def map_command(
    traces: Annotated[list[Path] | None, argument("map_command.traces", metavar="TRACE...")] = None,
    pages: Annotated[str, option("map_command.pages")] = "",
    relation: Annotated[list[str] | None, option("map_command.relation", metavar="NAME=FILE")] = None,
    *,
    by_time: Annotated[bool, option("map_command.by_time", "--by-time")] = False,
    sample: Annotated[float, option("map_command.sample")] = 1.0,
    behind: Annotated[int | None, option("map_command.behind")] = None,
    policy: Annotated[str, option("map_command.policy", autocompletion=completion.policies)] = "",
    tiers: Annotated[str, option("map_command.tiers", autocompletion=completion.pairs)] = "",
    synthetic: Annotated[bool, option("map_command.synthetic", "--synthetic", rich_help_panel=SYNTHETIC)] = False,
    table_gib: Annotated[float, option("map_command.table_gib", rich_help_panel=SYNTHETIC)] = 100.0,
    index_gib: Annotated[float, option("map_command.index_gib", rich_help_panel=SYNTHETIC)] = 15.0,
    ram_gib: Annotated[float | None, option("map_command.ram_gib", rich_help_panel=SYNTHETIC)] = None,
    requests: Annotated[float, option("map_command.requests", rich_help_panel=SYNTHETIC)] = 1000.0,
    writes: Annotated[float, option("map_command.writes", rich_help_panel=SYNTHETIC)] = 0.1,
    skew: Annotated[float, option("map_command.skew", rich_help_panel=SYNTHETIC)] = 0.9,
    layout: Annotated[Layout, option("map_command.layout", rich_help_panel=SYNTHETIC)] = Layout.STREWN,
    clients: Annotated[int, option("map_command.clients", rich_help_panel=SYNTHETIC)] = 16,
    market: Annotated[str, option("map_command.market", rich_help_panel=SYNTHETIC)] = "server",
    local_ssd: Annotated[bool, option("map_command.local_ssd", "--local-ssd", rich_help_panel=SYNTHETIC)] = False,
    ram_price: Annotated[float | None, option("map_command.ram_price", min=0.0, rich_help_panel=SYNTHETIC)] = None,
    page: Annotated[Path | None, option("map_command.page", metavar="FILE", rich_help_panel=SYNTHETIC)] = None,
    price: Annotated[list[str] | None, option("map_command.price", metavar="ITEM=VALUE")] = None,
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
    book = book_of(on, currency, region, price or [])
    if page is not None:
        from tierwise.calculator.write_page import write_page  # noqa: PLC0415

        print(write_page(page, book))
        return
    if synthetic:
        from tierwise.calculator.answer import Synthetic, as_text, solve  # noqa: PLC0415  heavy libraries
        from tierwise.calculator.market import read_market  # noqa: PLC0415

        workload = Synthetic(
            table_pages=_pages("--table-gib", table_gib),
            index_pages=_pages("--index-gib", index_gib),
            ram_pages=None if ram_gib is None else _pages("--ram-gib", ram_gib),
            requests_s=requests,
            writes=writes,
            skew=skew,
            layout=layout,
            clients=clients,
        )
        sold = read_market(market, book) if local_ssd else read_market(market, book).lasting()
        print(answered(solve(workload, sold if ram_price is None else sold.with_ram_price(ram_price)), form, as_text))
        return
    if not traces:
        remedy = "name a trace, or describe a workload with --synthetic"
        raise InputError("TRACE", rule="a trace is needed without --synthetic", remedy=remedy)
    from tierwise.advisor.memory_map import Wish, map_traces  # noqa: PLC0415
    from tierwise.advisor.memory_map import as_text as map_text  # noqa: PLC0415
    from tierwise.simulate.page_trace import TraceOptions  # noqa: PLC0415

    options = TraceOptions(input_format, reads_only=reads_only, device=device, page_bytes=page_bytes, event=event, timed=by_time)
    wish = Wish(_sizes(pages), sample, behind, tiers, policy, _named(relation or []))
    print(answered(map_traces(traces, options, wish, book), form, map_text))


def _pages(option: str, gib: float) -> int:
    if not 0 < gib < MOST_GIB:
        raise InputError(option, value=gib, rule=f"must be above 0 and below {MOST_GIB}")
    return floor(gib * GIB / PAGE_BYTES + 0.5)


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
