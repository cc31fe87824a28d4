"""The five-minute rule from 1987 to the day of the run."""

from collections.abc import Mapping
from typing import Any, Final

import altair as alt
import polars as pl

from tierwise.core.vocabulary import Evidence
from tierwise.costs.book import Book, load_book
from tierwise.costs.break_even import BreakEven, device_over, memory_over, published
from tierwise.costs.iops import device_iops
from tierwise.report import colours
from tierwise.report.figures import parts
from tierwise.report.run import Run, book_of
from tierwise.studies.ram_or_ssd.reading.money import DISK, DISK_NOW, FLASH, FLASH_NOW, THEN

UNIT: Final = "intervals"
OF_RUN: Final = "prices"
PAGE_BYTES: Final = 4096
PAIRS: Final = {"RAM over HDD": colours.VERMILLION, "RAM over SSD": colours.BLUE, "SSD over HDD": colours.GREEN}
HOW: Final = {"published": "circle", "simulated": "diamond"}
TIMES_S: Final = (1, 10, 60, 600, 3600, 36_000, 86_400, 864_000)
TIME_LABEL: Final = (
    "datum.value<60?datum.value+' s':datum.value<3600?datum.value/60+' min':datum.value<86400?datum.value/3600+' h':datum.value/86400+' d'"
)


def rows(run: Run, _pair: str) -> pl.DataFrame:
    """Return the intervals as published, at prices of the article's day and of the run's: pair, year, interval_s, how, page, what."""
    known = [
        {"pair": f"{case.upper} over {case.lower}", "year": case.year, "interval_s": case.interval_s, "how": "published"}
        | {"page": f"{case.page_bytes // 1024} KiB", "what": case.source}
        for case in published()
        if case.page_bytes > 1024
    ]
    return pl.DataFrame(known + _simulated(load_book(THEN), FLASH, DISK) + _simulated(book_of(run), FLASH_NOW, DISK_NOW))


def _simulated(book: Book, flash: str, disk: str) -> list[dict[str, Any]]:
    rates = {name: device_iops(name) for name in (flash, disk)}
    found: dict[str, BreakEven] = {
        "RAM over HDD": memory_over(disk, PAGE_BYTES, rates[disk], book),
        "RAM over SSD": memory_over(flash, PAGE_BYTES, rates[flash], book),
        "SSD over HDD": device_over(flash, disk, PAGE_BYTES, rates[disk], book),
    }
    return [
        {"pair": pair, "year": book.on.year, "interval_s": each.by_purchase_s, "how": str(each.iops_evidence)}
        | {"page": "4 KiB", "what": f"{each.upper} over {each.lower}, prices of {book.on}"}
        for pair, each in found.items()
    ]


def facts(rows: pl.DataFrame) -> Mapping[str, object]:
    years = rows.filter(how="simulated")["year"]
    return {"evidence": Evidence.MIXED, "year_then": years[0], "year_now": years[-1]}


def draw(rows: pl.DataFrame) -> alt.LayerChart:
    times = alt.Axis(values=list(TIMES_S), labelExpr=TIME_LABEL)
    years = alt.Scale(domain=[1985, int(rows["year"].to_numpy().max()) + 2], nice=False)
    colours = alt.Scale(domain=list(PAIRS), range=list(PAIRS.values()))
    base = alt.Chart(rows).encode(
        x=alt.X("year:Q", title="year of the prices", scale=years, axis=alt.Axis(format="d", tickCount=8)),
        y=alt.Y("interval_s:Q", title="break-even interval", scale=alt.Scale(type="log"), axis=times),
        color=alt.Color("pair:N", scale=colours, legend=alt.Legend(title=None, columns=3)),
    )
    tips = [*(alt.Tooltip(f"{name}:N") for name in ("pair", "year", "how", "page", "what")), alt.Tooltip("interval_s:Q", format=",.3r")]
    shapes = alt.Shape("how:N", scale=alt.Scale(domain=list(HOW), range=list(HOW.values())), legend=alt.Legend(title=None))
    dots = base.mark_point(filled=True, size=80, opacity=0.95).encode(shape=shapes, tooltip=tips)
    return alt.LayerChart(layer=[base.mark_line(opacity=0.4), dots], width=parts.PLOT_PX, height=160, usermeta={"chrome_px": 96})
