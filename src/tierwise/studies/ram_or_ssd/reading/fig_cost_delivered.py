"""A million delivered reads against data over RAM, with prices that the reader moves; the sums are Vega expressions."""

from collections.abc import Mapping
from typing import Final

import altair as alt
import polars as pl

from tierwise.core.vocabulary import Evidence
from tierwise.report.figures import parts
from tierwise.report.run import Run, book_of
from tierwise.studies.ram_or_ssd.reading import money
from tierwise.studies.ram_or_ssd.reading.sliders import ANSWERS, COLUMNS, SHOWN, WAYS, answers, cost_of, slider

QUERY: Final = money.SQL["served"]
UNIT: Final = "points"


def derive(run: Run, _pair: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return what a million reads need of each item, by way and ratio of data to RAM, and the price of each item."""
    book = book_of(run)
    prices = {f"price_{COLUMNS[item]}": float(f"{book.quote(item).each * worth:.10g}") for item, (_, worth) in SHOWN.items()}
    lines = []
    for case in (case for case in money.cases_of(rows) if case.data_to_ram > 1):
        three = money.ways(case, book, flash=money.FLASH_NOW, disk=money.DISK_NOW)
        alone = money.machine(case, book, disk=money.DISK_NOW)
        bills = {way: money.per_million(getattr(three, way).bill, case.flash.reads_per_s) for way in ANSWERS}
        bills["disk"] = money.per_million(alone.bill, case.disk.reads_per_s)
        for way, bill in bills.items():
            assert bill.a_year.keys() <= SHOWN.keys(), "every item has a slider"
            needs = {COLUMNS[item]: bill.a_year.get(item, 0.0) / worth for item, (_, worth) in SHOWN.items()}
            lines.append({"way": WAYS[way][0], "ratio": case.data_to_ram, **needs, "evidence": str(case.evidence), **prices})
    return pl.DataFrame(lines)


def facts(rows: pl.DataFrame) -> Mapping[str, object]:
    return {"evidence": Evidence.of({Evidence(word) for word in rows["evidence"]})}


def draw(rows: pl.DataFrame) -> alt.VConcatChart:
    prices, needs = (
        {item: float(rows[f"price_{name}"][0]) for item, name in COLUMNS.items()},
        rows.select("way", "ratio", *COLUMNS.values()),
    )
    chart = alt.VConcatChart(vconcat=[_lines(needs), answers(needs)], spacing=14, usermeta={"chrome_px": 100})
    return chart.add_params(*(slider(item, price) for item, price in prices.items()))


def _lines(rows: pl.DataFrame) -> alt.LayerChart:
    ratios = alt.Axis(values=sorted(set(rows["ratio"])), format="~g")
    names, colours = zip(*(look for look in WAYS.values() if look[0] in set(rows["way"])), strict=True)
    scale = alt.Scale(domain=list(names), range=list(colours))
    costs = alt.Axis(format="~g", tickCount=6)
    base = (
        alt.Chart(rows)
        .transform_calculate(cost=cost_of())
        .encode(
            x=alt.X("ratio:Q", title="data over RAM", scale=alt.Scale(type="log", nice=False, padding=12), axis=ratios),
            y=alt.Y("cost:Q", title="USD per million reads", scale=alt.Scale(type="log"), axis=costs),
            color=alt.Color("way:N", scale=scale, legend=alt.Legend(title=None, columns=2)),
        )
    )
    formats = (("ratio:Q", "data over RAM", "~g"), ("cost:Q", "USD", ".3r"))
    tips = [alt.Tooltip("way:N"), *(alt.Tooltip(name, title=title, format=form) for name, title, form in formats)]
    layers = [base.mark_line(), base.mark_point(filled=True, size=60).encode(tooltip=tips)]
    return alt.LayerChart(layer=layers, width=parts.PLOT_PX, height=260)
