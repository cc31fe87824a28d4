"""The commands on prices: each reads its options, calls one function and prints."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from math import isnan, nan
from typing import TYPE_CHECKING, Annotated

import typer

from tierwise.core import completion
from tierwise.core.errors import InputError
from tierwise.core.options import Format, FormatOption, answered, argument, option
from tierwise.core.units import GIB
from tierwise.core.vocabulary import Evidence

if TYPE_CHECKING:
    from tierwise.costs.book import Book
    from tierwise.costs.delivered import Load

DayOption = Annotated[datetime | None, option("shared.on", formats=["%Y-%m-%d"])]
CurrencyOption = Annotated[str, option("shared.currency")]
RegionOption = Annotated[str, option("shared.region")]


class Rating(StrEnum):
    SIMULATED = "simulated"
    PUBLISHED = "published"


def cost(  # noqa: PLR0917  each is an option with a name
    names: Annotated[list[str] | None, argument("cost.names", metavar="DEVICE", autocompletion=completion.devices)] = None,
    on: DayOption = None,
    price: Annotated[list[str] | None, option("cost.price", metavar="ITEM=VALUE")] = None,
    device: Annotated[list[str] | None, option("cost.device", autocompletion=completion.devices)] = None,
    data_gib: Annotated[float | None, option("cost.data_gib")] = None,
    ram_gib: Annotated[float | None, option("cost.ram_gib")] = None,
    reads_per_s: Annotated[float | None, option("cost.reads_per_s")] = None,
    misses_per_read: Annotated[float | None, option("cost.misses_per_read")] = None,
    life_years: Annotated[float | None, option("cost.life_years")] = None,
    iops: Annotated[Rating, option("cost.iops")] = Rating.SIMULATED,
    latency_ms: Annotated[float | None, option("cost.latency_ms")] = None,
    currency: CurrencyOption = "USD",
    region: RegionOption = "US",
    form: FormatOption = Format.TABLE,
) -> None:
    from tierwise.costs.answer import answer  # noqa: PLC0415  the heavy libraries load only where they are needed
    from tierwise.costs.answer_text import cost_text  # noqa: PLC0415

    book = book_of(on, currency, region, price or [])
    load = _load_of({"data_gib": data_gib, "ram_gib": ram_gib, "reads_per_s": reads_per_s, "misses_per_read": misses_per_read})
    devices, evidence = [*(names or []), *(device or [])], Evidence(iops.value)
    found = answer(book, load, devices=devices, evidence=evidence, life_years=life_years, latency_ms=latency_ms)
    print(answered(found, form, cost_text))


REQUIREMENTS, MACHINE = "Requirements", "Machine"


def volumes(  # noqa: PLR0917  each is an option with a name
    gib: Annotated[float, option("volumes.gib", rich_help_panel=REQUIREMENTS)],
    iops: Annotated[float, option("volumes.iops", rich_help_panel=REQUIREMENTS)],
    mibs: Annotated[float, option("volumes.mibs", rich_help_panel=REQUIREMENTS)],
    write_iops: Annotated[float, option("volumes.write_iops", rich_help_panel=REQUIREMENTS)] = 0,
    latency_ms: Annotated[float | None, option("volumes.latency_ms", rich_help_panel=REQUIREMENTS)] = None,
    read_kib: Annotated[float, option("volumes.read_kib", rich_help_panel=REQUIREMENTS)] = 16,
    pieces: Annotated[int, option("volumes.pieces", rich_help_panel=REQUIREMENTS)] = 16,
    vcpus: Annotated[int, option("volumes.vcpus", rich_help_panel=MACHINE)] = 0,
    memory_gib: Annotated[float, option("volumes.memory_gib", rich_help_panel=MACHINE)] = 0,
    managed: Annotated[bool, option("volumes.managed", "--managed", rich_help_panel=MACHINE)] = False,
    reads_per_gib: Annotated[float | None, option("volumes.reads_per_gib", rich_help_panel=MACHINE)] = None,
    on: DayOption = None,
    currency: CurrencyOption = "USD",
    region: RegionOption = "US",
    form: FormatOption = Format.TABLE,
) -> None:
    from tierwise.core.toml import validate  # noqa: PLC0415
    from tierwise.costs import volumes as rented  # noqa: PLC0415
    from tierwise.costs.answer_text import volumes_text  # noqa: PLC0415
    from tierwise.costs.volume_offers import Wanted  # noqa: PLC0415

    wanted = {"gib": gib, "iops": iops, "mib_s": mibs, "write_iops": write_iops, "latency_ms": latency_ms, "read_kib": read_kib}
    machine = {"pieces": pieces, "vcpus": vcpus, "memory_gib": memory_gib, "managed": managed, "reads_per_gib": reads_per_gib}
    found = rented.volumes(book_of(on, currency, region), validate(wanted | machine, Wanted, where="volumes"))
    print(answered(found, form, volumes_text))
    if not found.offers:
        raise typer.Exit(2)


def book_of(on: datetime | None, currency: str, region: str, given: Sequence[str] = ()) -> "Book":
    """Return the prices of the day `on`, or of today, with those that are `given` as ``ITEM=VALUE``."""
    from tierwise.costs.book import load_book  # noqa: PLC0415

    book = load_book((on or datetime.now()).date(), currency=currency, region=region)  # noqa: DTZ005  the reader's day
    for price in given:
        item, _, text = price.partition("=")
        try:
            value = float(text)
        except ValueError:
            value = nan
        if isnan(value):
            raise InputError("--price", value=price, rule="must be ITEM=VALUE: an item of data/prices and a number")
        book = book.with_price(item, value)
    return book


def _load_of(options: Mapping[str, float | None]) -> "Load":
    from tierwise.costs.delivered import published_load  # noqa: PLC0415

    given = {name: value for name, value in options.items() if value is not None}
    sizes = {name.replace("_gib", "_bytes"): value * GIB for name, value in given.items() if name.endswith("_gib")}
    return replace(published_load().load, **sizes, **{name: value for name, value in given.items() if not name.endswith("_gib")})
