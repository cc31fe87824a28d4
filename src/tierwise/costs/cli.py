"""The commands on prices: each reads its options, calls one function and prints."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from tierwise.core.errors import InputError
from tierwise.core.output_format import Format, FormatOption, answered
from tierwise.core.units import GIB
from tierwise.core.vocabulary import Evidence

if TYPE_CHECKING:
    from tierwise.costs.book import Book
    from tierwise.costs.delivered import Load


class Rating(StrEnum):
    """Where a device's IOPS come from."""

    SIMULATED = "simulated"
    PUBLISHED = "published"


def cost(  # noqa: PLR0917  each is an option with a name
    on: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="prices as they stood on this day; today by default")] = None,
    price: Annotated[list[str] | None, typer.Option(metavar="ITEM=VALUE", help="another price, in the unit that the answer shows")] = None,
    device: Annotated[list[str] | None, typer.Option(help="only this device of data/devices; may be repeated")] = None,
    data_gib: Annotated[float | None, typer.Option(help="of the load; that of data/costs/load.toml by default")] = None,
    ram_gib: Annotated[float | None, typer.Option(help="memory that caches them")] = None,
    reads_per_s: Annotated[float | None, typer.Option(help="what the application asks")] = None,
    misses_per_read: Annotated[float | None, typer.Option(help="reads of a device for each read of the application")] = None,
    life_years: Annotated[float | None, typer.Option(help="of what is bought")] = None,
    iops: Annotated[Rating, typer.Option(help="of the devices' models, or of their data sheets")] = Rating.SIMULATED,
    latency_ms: Annotated[
        float | None, typer.Option(help="that a read may take on the average at the IOPS of a device's model; 30 by default")
    ] = None,
    currency: Annotated[str, typer.Option(help="of the answer")] = "USD",
    region: Annotated[str, typer.Option(help="whose prices come first")] = "US",
    form: FormatOption = Format.TABLE,
) -> None:
    """Say what devices, a served load and an I/O cost, the break-evens, and how far each price may move before that changes."""
    from tierwise.costs.answer import answer  # noqa: PLC0415  the heavy libraries load only where they are needed
    from tierwise.costs.answer_text import as_text  # noqa: PLC0415
    from tierwise.costs.book import load_book  # noqa: PLC0415
    from tierwise.costs.iops import LATENCY_MS  # noqa: PLC0415

    book = load_book((on or datetime.now()).date(), currency=currency, region=region)  # noqa: DTZ005  the reader's day
    for given in price or []:
        book = _with_given(book, given)
    load = _load_of({"data_gib": data_gib, "ram_gib": ram_gib, "reads_per_s": reads_per_s, "misses_per_read": misses_per_read})
    found = answer(
        book,
        load,
        devices=device or [],
        evidence=Evidence(iops.value),
        life_years=life_years,
        latency_ms=LATENCY_MS if latency_ms is None else latency_ms,
    )
    print(answered(found, form, as_text))


def volumes(  # noqa: PLR0917  each is an option with a name
    gib: Annotated[float, typer.Option(help="size")],
    iops: Annotated[float, typer.Option(help="reads a second")],
    mibs: Annotated[float, typer.Option(help="MiB a second")],
    latency_ms: Annotated[float | None, typer.Option(help="that a read alone may take, in the median")] = None,
    read_kib: Annotated[float, typer.Option(help="size of a read")] = 16,
    reads_per_gib: Annotated[float | None, typer.Option(help="reads a second that a GiB more of memory saves: is it cheaper?")] = None,
    on: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="prices as they stood on this day; today by default")] = None,
    currency: Annotated[str, typer.Option(help="of the answer")] = "USD",
    region: Annotated[str, typer.Option(help="whose prices come first")] = "US",
    form: FormatOption = Format.TABLE,
) -> None:
    """Say which rented volumes meet a wish, cheapest first, what limit binds each, and when memory would be cheaper than its reads."""
    from tierwise.core.toml import validate  # noqa: PLC0415
    from tierwise.costs import volumes as rented  # noqa: PLC0415
    from tierwise.costs.book import load_book  # noqa: PLC0415
    from tierwise.costs.volumes_text import as_text  # noqa: PLC0415

    book = load_book((on or datetime.now()).date(), currency=currency, region=region)  # noqa: DTZ005  the reader's day
    wanted = {"gib": gib, "iops": iops, "mib_s": mibs, "latency_ms": latency_ms, "read_kib": read_kib, "reads_per_gib": reads_per_gib}
    print(answered(rented.volumes(book, validate(wanted, rented.Wanted, where="volumes")), form, as_text))


def _with_given(book: "Book", given: str) -> "Book":
    item, equals, text = given.partition("=")
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not equals or value != value:  # noqa: PLR0124  not a number
        raise InputError("--price", value=given, rule="must be ITEM=VALUE, an item of the price book and a number")
    return book.with_price(item, value)


def _load_of(options: Mapping[str, float | None]) -> "Load":
    from tierwise.costs.delivered import published_load  # noqa: PLC0415

    given = {name: value for name, value in options.items() if value is not None}
    sizes = {name.replace("_gib", "_bytes"): value * GIB for name, value in given.items() if name.endswith("_gib")}
    return replace(published_load().load, **sizes, **{name: value for name, value in given.items() if not name.endswith("_gib")})
