"""The numbers of the text on costs."""

from typing import Final

import polars as pl

from tierwise.costs.book import load_book
from tierwise.costs.hardware import device_bill
from tierwise.costs.iops import device_iops, simulated_rate
from tierwise.report.run import Run
from tierwise.report.text_template import Value
from tierwise.studies.ram_or_ssd.reading.days import beyond_memory, evidence, then_and_now
from tierwise.studies.ram_or_ssd.reading.money import DISK, DISK_NOW, FLASH, FLASH_NOW, THEN
from tierwise.studies.ram_or_ssd.reading.placements import placements

MB: Final = 1e6
KINDS: Final = {"own SSD": "ssd", "RAM over a disk": "ram", "rented volume": "volume", "own disks": "disks"}


def cost_values(run: Run) -> dict[str, Value]:
    """Return what the same reads cost without the SSD, now and then, each kind of placement over the cheapest, and reads in order."""
    case = beyond_memory(run)[0]
    then, now = then_and_now(run, case)
    usd = {name: float(str(least)) for name, least in placements(run).group_by("kind").agg(pl.col("usd").min()).rows()}
    return {
        "cost_evidence": evidence(run),
        "data_over_ram": case.data_to_ram,
        "now": now.book.on,
        "then": then.book.on,
        **{f"{way}_{name}": getattr(day, way) for name, day in (("now", now), ("then", then)) for way in ("memory", "disks")},
        "ssd_now": FLASH_NOW,
        "disk_now": DISK_NOW,
        "extra_now": now.three.cost(now.book),
        "extra_then": then.three.cost(then.book),
        **{f"place_{name}": usd[kind] / min(usd.values()) if kind in usd else None for kind, name in KINDS.items()},
        **_sequential(),
    }


def _sequential() -> dict[str, Value]:
    """Return the SSD's lead over the disk in random and in ordered reads, per device and per dollar."""
    book = load_book(THEN)
    (ssd_iops, ssd_rate, ssd_usd), (disk_iops, disk_rate, disk_usd) = (
        (device_iops(name).value, simulated_rate(name) / MB, device_bill(name, book).cost(book)) for name in (FLASH, DISK)
    )
    return {
        "random_lead": ssd_iops / disk_iops,
        "ordered_lead": ssd_rate / disk_rate,
        "ssd_mb_s": ssd_rate,
        "disk_mb_s": disk_rate,
        "random_lead_usd": ssd_iops / ssd_usd / (disk_iops / disk_usd),
        "ordered_lead_usd": ssd_rate / ssd_usd / (disk_rate / disk_usd),
    }
