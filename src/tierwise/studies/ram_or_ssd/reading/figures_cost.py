"""Figures of costs: devices, a delivered read with prices that the reader moves, break-evens since 1987."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isqrt
from typing import Any, Final

import altair as alt
import polars as pl

from tierwise.core.vocabulary import Evidence
from tierwise.costs.bill import Bill
from tierwise.costs.book import Book, load_book
from tierwise.costs.break_even import BreakEven, device_over, memory_over, published
from tierwise.costs.iops import RATED, device_iops
from tierwise.report import theme
from tierwise.report.display import Figure
from tierwise.report.figures import parts
from tierwise.report.formats import count, listed
from tierwise.report.prices import answer_of, book_of, devices_note, run_note
from tierwise.report.run import Run
from tierwise.studies.ram_or_ssd.reading.money import DISK, DISK_NOW, FLASH, FLASH_NOW, THEN, Case, cases_of, machine, per_million, ways

MEDIA: Final = {"hdd": "disk", "ssd": "SSD"}
MEDIA_COLOURS: Final = alt.Scale(domain=list(MEDIA.values()), range=[theme.VERMILLION, theme.BLUE])
WAYS: Final = {
    "flash": "one SSD",
    "memory": "more RAM over a disk",
    "disks": "more disks",
    "disk": "one disk, as many reads as it gives",
}
ANSWERS: Final = {"flash": "one SSD", "memory": "more RAM", "disks": "more disks"}
WAY_COLOURS: Final = (theme.BLUE, theme.GREEN, theme.VERMILLION, theme.ORANGE)
SHOWN: Final = {
    "ram": ("RAM, USD per GiB", 2.0**30),
    "ssd-enterprise": ("SSD, USD per TB", 1e12),
    "hdd-enterprise": ("disk, USD per TB", 1e12),
    "server-microserver-gen11": ("machine, USD", 1.0),
    "electricity": ("electricity, USD per kWh", 1.0),
}
"""Item -> what its slider says, and how many base units its price is shown for."""
AGES: Final = {True: "within a year", False: "older"}
MEASURES: Final = {"per_gb": "a GB", "per_iops": "a read a second"}
DEVICE_PX: Final = 16
"""Height of a device's row."""
STEPS: Final = 20
"""The least number of steps of a slider up to the price that was read; it goes on to five times that."""
PAIRS: Final = ("RAM over HDD", "RAM over SSD", "SSD over HDD")
TIMES_S: Final = (1, 10, 60, 600, 3600, 36_000, 86_400, 864_000)
TIME_LABEL: Final = (
    "datum.value < 60 ? datum.value + ' s' : datum.value < 3600 ? datum.value / 60 + ' min' : "
    "datum.value < 86400 ? datum.value / 3600 + ' h' : datum.value / 86400 + ' d'"
)


def priced_devices(run: Run) -> pl.DataFrame:
    """Return every device that can be priced: device, medium, per_gb and per_iops (USD over its life), priced, price (its date), iops
    (text).
    """
    return pl.DataFrame(
        [
            {
                "device": row.device,
                "medium": MEDIA[row.medium],
                "per_gb": row.per_gb,
                "per_iops": row.per_iops,
                "priced": AGES[row.today],
                "price": row.price_date,
                "iops": count(round(row.iops)),
            }
            for row in answer_of(run).devices
        ]
    )


def devices(run: Run, rows: pl.DataFrame) -> Figure:
    """Return money for a gigabyte and for a read a second, of every device of `rows` (as of `priced_devices`), each by its name."""
    low, high = min(*rows["per_gb"], *rows["per_iops"]) / 2, max(*rows["per_gb"], *rows["per_iops"]) * 2
    x = alt.X(
        "usd:Q",
        title="USD over five years",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(values=parts.log_ticks(low, high), format="~g"),
    )
    width_px = parts.label_px(rows["device"])
    tips = [alt.Tooltip(f"{name}:N") for name in ("device", "medium", "iops", "price")]
    tips += [alt.Tooltip("per_gb:Q", format=".3r", title="USD per GB"), alt.Tooltip("per_iops:Q", format=".3r", title="USD per IOPS")]
    dots = (
        alt.Chart(rows)
        .transform_fold(list(MEASURES), as_=["field", "usd"])
        .transform_calculate(measure=f"datum.field == 'per_gb' ? '{MEASURES['per_gb']}' : '{MEASURES['per_iops']}'")
        .mark_point(size=50, opacity=0.9)
        .encode(
            x=x,
            y=alt.Y("device:N", title=None, sort=rows["device"].to_list(), axis=parts.labels(width_px), scale=alt.Scale(padding=0.5)),
            color=alt.Color("medium:N", scale=MEDIA_COLOURS, legend=alt.Legend(title=None)),
            shape=alt.Shape(
                "measure:N",
                scale=alt.Scale(domain=list(MEASURES.values()), range=["circle", "triangle-right"]),
                legend=alt.Legend(title=None),
            ),
            fill=alt.condition(
                alt.FieldEqualPredicate(field="priced", equal=AGES[True]),
                alt.Fill("medium:N", scale=MEDIA_COLOURS, legend=alt.Legend(title=None)),
                alt.value("transparent"),
            ),
            tooltip=tips,
        )
    )
    chart = alt.LayerChart(
        layer=[dots],
        width=parts.PLOT_PX,
        height=DEVICE_PX * len(rows),
        description="Cost of a gigabyte and of a read a second of each device, on a log axis: disks are cheap by the GB, SSDs by the read.",
    )
    gone = listed(f"`{each.device}`" for each in answer_of(run).left_out)
    caption = (
        f"Cost of a gigabyte (1e9 bytes) and of an I/O a second ({RATED}), both over five years with power; log axis. Above, filled: "
        "devices with a price of the last year; below, hollow: with the newest price that was read of them. "
        f"Without a price, and not drawn: {gone or 'none'}. "
        f"{run_note(run, Evidence.SIMULATED, len(rows), 'devices')} {devices_note()}"
    )
    return Figure(chart, caption, width_px + parts.BESIDE_PX, rows)


@dataclass(frozen=True)
class _Line:
    """One way over one amount of data: what a million reads need."""

    way: str
    data_to_ram: float
    need: Bill


def delivered(run: Run, served: pl.DataFrame) -> Figure:
    """Return money for a million delivered reads against data over RAM, with prices that the reader moves; the sums are Vega expressions.

    `served`: the rows of ``served.sql``; where there are none, what was published stands in their place.
    """
    book, found = book_of(run), [case for case in cases_of(served) if case.data_to_ram > 1]
    lines = [line for case in found for line in _lines(case, book)]
    sliders = [_slider(item, book) for item in SHOWN]
    rows = pl.DataFrame([{"way": WAYS[line.way], "ratio": line.data_to_ram, **_needs(line.need)} for line in lines])
    chart = alt.VConcatChart(
        vconcat=[_cost_lines(rows), _answers(lines)],
        spacing=14,
        description="Dollars for a million delivered reads against data over RAM: one SSD, more RAM, more disks, the disk machine.",
    ).add_params(*sliders)
    evidence = Evidence.of({case.evidence for case in found})
    simulated = evidence is Evidence.SIMULATED
    source = "Query: `studies/ram_or_ssd/reading/rows.sql`." if simulated else "Input: statements R1 to R4."
    caption = (
        f"What a million reads cost at the prices of {book.on:%B %Y} with drives of today (`{FLASH_NOW}`, `{DISK_NOW}`), RAM, machine and "
        "power; log axes. One SSD, more RAM and more disks deliver what the SSD machine of the Zipfian reads delivers, the disk machine "
        "what theirs does. Sliders start at the prices that were read: another one moves lines and answers. "
        f"{run_note(run, evidence, len(rows), 'points')} {source} Prices: `data/prices`."
    )
    return Figure(chart, caption, 100, rows)


def intervals(run: Run) -> pl.DataFrame:
    """Return the break-even intervals as published, at prices of the Zipfian reads' day and of the run's: pair, year, interval_s, how,
    page, what.
    """
    told = [
        {
            "pair": f"{case.upper} over {case.lower}",
            "year": case.year,
            "interval_s": case.interval_s,
            "how": "published",
            "page": f"{case.page_bytes // 1024} KiB",
            "what": case.source,
        }
        for case in published()
        if case.page_bytes > 1024
    ]
    now = book_of(run)
    return pl.DataFrame(told + _intervals(load_book(THEN), FLASH, DISK) + _intervals(now, FLASH_NOW, DISK_NOW))


def break_evens(run: Run, rows: pl.DataFrame) -> Figure:
    """Return the five-minute rule from 1987 to the day of the run; `rows` as of `intervals`."""
    now = book_of(run)
    y = alt.Y("interval_s:Q", title=None, scale=alt.Scale(type="log"), axis=alt.Axis(values=list(TIMES_S), labelExpr=TIME_LABEL))
    base = alt.Chart(rows).encode(
        x=alt.X("year:Q", title=None, scale=alt.Scale(domain=[1985, now.on.year + 2], nice=False), axis=alt.Axis(format="d", tickCount=8)),
        y=y,
        color=alt.Color(
            "pair:N",
            scale=alt.Scale(domain=list(PAIRS), range=[theme.VERMILLION, theme.BLUE, theme.GREEN]),
            legend=alt.Legend(title=None, columns=3),
        ),
    )
    dots = base.mark_point(filled=True, size=80, opacity=0.95).encode(
        shape=alt.Shape(
            "how:N", scale=alt.Scale(domain=["published", "simulated"], range=["circle", "diamond"]), legend=alt.Legend(title=None)
        ),
        tooltip=[
            *(alt.Tooltip(f"{name}:N") for name in ("pair", "year", "how", "page", "what")),
            alt.Tooltip("interval_s:Q", format=",.3r"),
        ],
    )
    chart = alt.LayerChart(
        layer=[base.mark_line(opacity=0.4), dots],
        width=parts.PLOT_PX,
        height=210,
        description="Break-even intervals of RAM over disks, RAM over flash and flash over disks, from 1987 on, on a log axis.",
    )
    caption = (
        "Break-even interval: a page that is read more often than once in this time belongs on the upper store; 4 KiB pages (1997: 8 KiB), "
        f"log axis. Circles: published. Diamonds: prices of {THEN.year} and {now.on.year} with simulated IOPS ({RATED}); as in the "
        f"papers only purchases count. {run_note(run, Evidence.MIXED, len(rows), 'intervals')} Input: "
        f"`data/published/break_evens.csv`, `data/prices`."
    )
    return Figure(chart, caption, 80, rows)


def _lines(case: Case, book: Book) -> list[_Line]:
    three = ways(case, book, flash=FLASH_NOW, disk=DISK_NOW)
    plans = {"flash": three.flash, "memory": three.memory, "disks": three.disks}
    rate = case.flash.reads_per_s
    lines = [_Line(way, case.data_to_ram, per_million(plan.bill, rate)) for way, plan in plans.items()]
    return [*lines, _Line("disk", case.data_to_ram, per_million(machine(case, book, disk=DISK_NOW).bill, case.disk.reads_per_s))]


def _name(item: str) -> str:
    return item.replace("-", "_")


def _needs(bill: Bill, prefix: str = "") -> dict[str, float]:
    unknown = bill.a_year.keys() - SHOWN.keys()
    assert not unknown, f"no slider for {listed(sorted(unknown))}"
    return {f"{prefix}{_name(item)}": bill.a_year.get(item, 0.0) / worth for item, (_, worth) in SHOWN.items()}


def _cost(prefix: str = "") -> str:
    return " + ".join(f"datum.{prefix}{_name(item)} * price_{_name(item)}" for item in SHOWN)


def _slider(item: str, book: Book) -> alt.Parameter:
    label, worth = SHOWN[item]
    now = float(f"{book.quote(item).each * worth:.10g}")
    step = _step(now)
    return alt.param(name=f"price_{_name(item)}", value=now, bind=alt.binding_range(min=step, max=now * 5, step=step, name=label))


def _step(price: float) -> float:
    exact = Decimal(repr(price)).normalize()
    unit = Decimal(1).scaleb(int(exact.as_tuple().exponent))
    units = int(exact / unit)
    tens = 10 ** max(0, 3 - len(str(units)))  # a price of one digit has steps of two digits more
    units, unit = units * tens, unit / tens
    divisors = (divisor for low in range(1, isqrt(units) + 1) if units % low == 0 for divisor in (low, units // low))
    return float(unit * max(step for step in divisors if step <= max(units // STEPS, 1)))


def _cost_lines(rows: pl.DataFrame) -> alt.LayerChart:
    order = [WAYS[way] for way in WAYS if WAYS[way] in set(rows["way"])]
    ratios = sorted(set(rows["ratio"]))
    x = alt.X(
        "ratio:Q", title="data over RAM", scale=alt.Scale(type="log", nice=False, padding=12), axis=alt.Axis(values=ratios, format="~g")
    )
    base = (
        alt.Chart(rows)
        .transform_calculate(cost=_cost())
        .encode(
            x=x,
            y=alt.Y("cost:Q", title="USD per million reads", scale=alt.Scale(type="log"), axis=alt.Axis(format="~g", tickCount=6)),
            color=alt.Color(
                "way:N", scale=alt.Scale(domain=order, range=WAY_COLOURS[: len(order)]), legend=alt.Legend(title=None, columns=2)
            ),
        )
    )
    tips = [
        alt.Tooltip("way:N"),
        alt.Tooltip("ratio:Q", title="data over RAM", format="~g"),
        alt.Tooltip("cost:Q", title="USD", format=".3r"),
    ]
    return alt.LayerChart(
        layer=[base.mark_line(), base.mark_point(filled=True, size=60).encode(tooltip=tips)], width=parts.PLOT_PX, height=260
    )


def _answers(lines: Sequence[_Line]) -> alt.Chart:
    rows: dict[float, dict[str, Any]] = {}
    for line in lines:
        if line.way != "disk":
            rows.setdefault(line.data_to_ram, {"ratio": f"data {line.data_to_ram:g} x RAM"}).update(_needs(line.need, f"{line.way}_"))
    chart = alt.Chart(pl.DataFrame(list(rows.values())))
    for way in ANSWERS:
        chart = chart.transform_calculate(**{f"cost_{way}": _cost(f"{way}_")})
    flash, memory, disks = _answer("flash"), _answer("memory"), _answer("disks")
    others = f"datum.cost_memory <= datum.cost_disks ? {memory} : {disks}"
    first = f"datum.cost_flash <= min(datum.cost_memory, datum.cost_disks) ? {flash} : {others}"
    told: alt.Chart = (
        chart.transform_calculate(answer=first)
        .mark_text(align="left", fontSize=11)
        .encode(y=alt.Y("ratio:N", title=None, sort=None), x=alt.value(4), text="answer:N")
        .properties(width=parts.PLOT_PX, height=22 * len(rows), title="The cheapest way")
    )
    return told


def _answer(first: str) -> str:
    others = (way for way in ANSWERS if way != first)
    times = (f"'; {ANSWERS[other]} ' + format(datum.cost_{other} / datum.cost_{first}, '.3~r') + ' times as much'" for other in others)
    return " + ".join([f"'{ANSWERS[first]}'", *times])


def _intervals(book: Book, flash: str, disk: str) -> list[dict[str, Any]]:
    rates = {name: device_iops(name) for name in (flash, disk)}
    found: dict[str, BreakEven] = {
        "RAM over HDD": memory_over(disk, 4096, rates[disk], book),
        "RAM over SSD": memory_over(flash, 4096, rates[flash], book),
        "SSD over HDD": device_over(flash, disk, 4096, rates[disk], book),
    }
    return [
        {
            "pair": pair,
            "year": book.on.year,
            "interval_s": each.by_purchase_s,
            "how": str(each.iops_evidence),
            "page": "4 KiB",
            "what": f"{each.upper} over {each.lower}, prices of {book.on}",
        }
        for pair, each in found.items()
    ]
