"""The numbers of the text on the Zipfian reads and on costs, and the page on costs."""

from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any, Final

import polars as pl

from tierwise.analysis.claims import published_series
from tierwise.core.vocabulary import Evidence
from tierwise.costs.bill import turning_price
from tierwise.costs.book import Book, load_book
from tierwise.costs.delivered import newest_server
from tierwise.costs.hardware import load_hardware, members, rented, server_bill
from tierwise.costs.iops import LATENCY_MS
from tierwise.costs.units import MONTHS_A_YEAR
from tierwise.devices.spec import load_device
from tierwise.devices.volume import CloudSpec
from tierwise.report.estimates import least_most
from tierwise.report.exhibit_registry import find
from tierwise.report.page import Page, open_page
from tierwise.report.run import Run, answer_of, book_of
from tierwise.report.text_template import Value
from tierwise.studies.ram_or_ssd.reading import money
from tierwise.studies.ram_or_ssd.reading.money import PAIR, SQL, STUDY, THEN, TIERS, Case, cases, ways


def cost_values(run: Run) -> dict[str, Value]:
    found = [case for case in cases(run.store) if case.data_to_ram > 1]
    then, now, case = load_book(THEN), book_of(run), found[0]
    today = _day("now", case, now, money.FLASH_NOW, money.DISK_NOW)
    larger = ways(case, then, server=newest_server(then).able_to_hold(ram_gib=money.LARGER_GIB))
    return {
        "cost_evidence": str(Evidence.of({one.evidence for one in found})),
        "data_over_ram": case.data_to_ram,
        "reads_per_s": case.flash.reads_per_s,
        "read_gib": case.flash.data_gib,
        "now": now.on,
        "then": then.on,
        **today,
        **_day("then", case, then, money.FLASH, money.DISK),
        "memory_now": float(str(today["memory_usd_now"])) / float(str(today["ssd_usd_now"])),
        "server_now": not now.price(newest_server(now).price).guess,
        "server_gib_then": round(newest_server(then).ram_most_gib.value),
        "larger_gib": money.LARGER_GIB,
        "memory_larger": larger.memory.bill.cost(then) / larger.flash.bill.cost(then),
        "ssd_now": money.FLASH_NOW,
        "disk_now": money.DISK_NOW,
    }


def _day(day: str, case: Case, book: Book, flash: str, disk: str) -> dict[str, Value]:
    """Return USD a month of each way, without a guessed server, and the price of a disk at which RAM costs as much as the SSD."""
    three, server = ways(case, book, flash=flash, disk=disk), newest_server(book)
    guess = book.price(server.price).guess
    plans, guessed = (three.flash, three.disks, three.memory), 1 if guess else 0
    ssd, disks, memory = (plan.bill + server_bill(server) * (-plan.machines * guessed) for plan in plans)
    item = load_hardware().drives[members(disk)[0]].price
    usd = {"ssd": ssd.cost(book), "disks": disks.cost(book), "memory": memory.cost(book)}
    return {
        **{f"{name}_usd_{day}": cost / MONTHS_A_YEAR for name, cost in usd.items()},
        f"disk_usd_{day}": book.price(item).price,
        f"turning_usd_{day}": turning_price(memory, ssd, item, book),
    }


LOGGED_FALL: Final = "data/published/ram_or_ssd_means.csv"
"""The author's own logs at 16 and 24 GiB: tier, dataset_gib, reads_per_s (mean of the measured phase)."""
FALL: Final = "R6"  # the claim on the SSD's fall from 16 to 24 GiB
FITTED_GIB: Final = 32  # the size whose logs the model was fitted on
FITTED: Final = {
    "settle_ms": ("devices", "st3000dm001", "settle"),
    "iops": ("devices", "crucial-m4", "max_read_iops"),
    "hit_us": ("machine", "hit"),
    "cache_disk_gib": ("machine", "page_cache", "hdd"),
    "cache_ssd_gib": ("machine", "page_cache", "ssd"),
}
"""Value -> its place in the manifest's record of the pair."""
LIVE_PAIR: Final = "source-r-live"
LIVE_TIERS: Final = ("disk", "hdd", "ssd")
Means = Mapping[tuple[str, str, int], float]


def values(run: Run, pair: str = PAIR) -> dict[str, Value]:
    rows = find("fig-zipf-throughput", STUDY).rows(run, pair).frame
    means = {} if rows.is_empty() else _means(rows)
    logs = {(tier, size): reads for tier, size, reads in published_series(LOGGED_FALL).iter_rows()}
    scales, judged = dict(run.query(SQL["scales"], {"pair": pair}).rows()), run.verdict(FALL)
    return {
        "answered": bool(means),
        **_falls(means),
        **_predicted(means),
        **{f"scale_{tier}": scales.get(tier) for tier in TIERS},
        **{f"logged_{tier}_fall": logs[tier, 16] / logs[tier, 24] for tier in TIERS},
        "fall": judged.estimate if judged else None,
        **_fitted(run, pair),
        **_live(run),
        **cost_values(run),
    }


def _means(rows: pl.DataFrame) -> Means:
    found = rows.group_by("how", "tier", "dataset_gib", maintain_order=True).agg(pl.col("reads_per_s").mean())
    return {(how, tier, size): reads for how, tier, size, reads in found.iter_rows()}


def _falls(means: Means) -> dict[str, Value]:
    found: dict[str, Value] = {"largest_gib": max((size for how, _, size in means if how == "simulated"), default=None)}
    for tier in TIERS:
        own = {size: reads for (how, name, size), reads in means.items() if (how, name) == ("simulated", tier)}
        most, least = (max(own.values()), own[max(own)]) if len(own) > 1 else (None, None)
        found |= {f"{tier}_most": most, f"{tier}_least": least, f"{tier}_fall": most / least if most and least else None}
    hdd, ssd = (found[f"{tier}_least"] for tier in TIERS)
    return {**found, "lead": float(str(ssd)) / float(str(hdd)) if hdd and ssd else None}


def _predicted(means: Means) -> dict[str, Value]:
    apart = [
        abs(reads / means["published", tier, size] - 1)
        for (how, tier, size), reads in means.items()
        if how == "simulated" and size != FITTED_GIB and ("published", tier, size) in means
    ]
    return {"predicted": len(apart), "apart": fmean(apart) if apart else None}


def _fitted(run: Run, pair: str) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, path in FITTED.items():
        leaf: Any = run.manifest.pairs.get(pair, {})
        for step in path:
            leaf = leaf.get(step, {})
        value = leaf.get("value")
        found[f"fitted_{name}"] = round(value) if name == "iops" and value else value
    return found


def _live(run: Run) -> dict[str, Value]:
    """Return what proves the live runs, and how far each drive's model is from them, without read-around and with it."""
    beside = {(row["tier"], row["advice"]): row for row in run.query(SQL["beside"], {"pair": LIVE_PAIR}).rows(named=True)}
    own = beside.get(("disk", "normal"), {})
    pages = [row["pages"] for (_, advice), row in beside.items() if advice == "normal" and row["pages"]]
    return {
        **run.query(SQL["live"], {"pair": LIVE_PAIR}).row(0, named=True),
        **{f"random_{tier}": None for tier in LIVE_TIERS},
        **{
            f"random_{tier}": abs(row["model_reads"] / row["live_reads"] - 1)
            for (tier, advice), row in beside.items()
            if advice == "random"
        },
        "own_live": own.get("live_reads"),
        "own_model": own.get("model_reads"),
        **least_most("around", pages),
    }


FIELDS: Final = ("device", "medium", "capacity_gb", "price_date", "purchase", "per_gb_month", "per_iops_month", "iops", "today")
MEDIA: Final = {"ssd": "SSD", "hdd": "disk"}
INTERFACES: Final = ("NVMe", "SATA")  # interfaces of an SSD that the description of its device file may state


def priced_devices(run: Run, _pair: str) -> pl.DataFrame:
    """Return the devices that can be priced, those with a price of the last year first; ``left_out``: those without a price."""
    found = answer_of(run)
    rows = [
        {name: getattr(one, name) for name in FIELDS}
        | {"per_month": one.cost_a_year / MONTHS_A_YEAR, "type": _type(one.device, one.medium)}
        for one in found.devices
    ]
    left_out = ", ".join(f"`{each.device}`" for each in found.left_out)
    return pl.DataFrame(rows).with_columns(left_out=pl.lit(left_out), years=pl.lit(found.life_years))


def of_prices(rows: pl.DataFrame) -> dict[str, object]:
    limits = {f"{kind}_ms": limit for kind, limit in LATENCY_MS.items()}
    return {"evidence": Evidence.SIMULATED, "left_out": rows["left_out"][0], "years": rows["years"][0], **limits}


def _type(name: str, medium: str) -> str:
    """Return ``NVMe SSD``, ``array of 4 SATA SSDs``, ``disk``, ``volume (SSD)`` or ``rented local SSD``."""
    member, copies = members(name)
    piece = load_device(member)
    if isinstance(piece, CloudSpec):
        return f"volume ({MEDIA[medium]})"
    if rented(name):
        return f"rented local {MEDIA[medium]}"
    described = piece.description if medium == "ssd" else ""
    words = [*(each for each in INTERFACES if each in described), MEDIA[medium]]
    return " ".join(words) if copies == 1 else f"array of {copies} {' '.join(words)}s"


def open_costs(run: Run) -> Page:
    """Return the page whose numbers are those of `run` and its prices, never those of the reference run."""
    return replace(open_page(run, STUDY, PAIR), values_of=_own)


def _own(run: Run, pair: str) -> dict[str, Value]:
    return {**values(run, pair), "answered": True}
