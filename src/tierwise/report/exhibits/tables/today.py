"""The speed-up of each placement on the pair of today, beside the same on the source's pair."""

from typing import Final

import polars as pl

from tierwise.advisor.advice import TIERS
from tierwise.advisor.savings import band_factors
from tierwise.advisor.workload import Workload, fixed
from tierwise.analysis.statistics import Estimate, enough, geometric_estimate, paired_ratios
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, between, interval, number
from tierwise.report.run import Run
from tierwise.report.values.todays import DISKS, now
from tierwise.report.values.workloads import name_of, places

UNIT: Final = "placements"
MEASURES: Final = [f"{name}{end}" for name in ("then", "today", "band", "usd") for end in ("", "_low", "_high")]
SCHEMA: Final = {**dict.fromkeys(("workload", "placement", "pair", "evidence"), pl.String), **dict.fromkeys(MEASURES, pl.Float64)}


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of the pair of today
    found = now(run)
    then, cells = found.then() if found else {}, []
    for workload in found.workloads if found else ():
        before = then.get((workload.study, workload.name))
        for name in workload.measured:
            gain = speedup(workload, name)
            if found is None or name == DISKS or gain is None or gain.value is None:
                continue
            factors = band_factors(workload, fixed(workload)[name]) if len(found.devices) == len(TIERS) else None
            band = (gain.value / factors[1], gain.value / factors[0]) if factors else (None, None)
            money = found.saved(name, workload.study)
            of = (name_of(before or workload), places()[name], found.pair, str(workload.evidence))
            usd = (money.value, money.low, money.high) if money else (None, None, None)
            cells.append((*of, *_ends(speedup(before, name) if before else None), *_ends(gain), None, *band, *usd))
    return pl.DataFrame(cells, schema=SCHEMA, orient="row")


SOURCE = rows


def speedup(workload: Workload, name: str) -> Estimate | None:
    """Return the time with everything on the slow tier over that with the placement `name`; `None` without enough clean replicates."""
    measured, disks = workload.measured.get(name), workload.measured.get(DISKS)
    ratios = paired_ratios(disks.job_s, measured.job_s) if measured and disks else {}
    return geometric_estimate(ratios) if enough(len(ratios)) else None


def tabulate(rows: pl.DataFrame) -> Cells:
    header = ["Workload", "Placement", "Speed-up then", "Speed-up today", "Over the band", "USD a TiB saves a month"]
    return Cells(header, [_row(row) for row in rows.rows(named=True)], "llrrrr")


def _ends(one: Estimate | None) -> tuple[float | None, float | None, float | None]:
    return (one.value, one.low, one.high) if one else (None, None, None)


def _row(row: dict[str, float]) -> list[str]:
    then, today = (_gain(row, name) for name in ("then", "today"))
    band = DASH if row["band_low"] is None else between(row["band_low"], row["band_high"], 3)
    usd = DASH if row["usd"] is None else f"{row['usd']:,.2f} ({row['usd_low']:,.2f} to {row['usd_high']:,.2f})"
    return [str(row["workload"]), str(row["placement"]), then, today, band, usd]


def _gain(row: dict[str, float], name: str) -> str:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    return DASH if value is None else number(value) + (f" ({interval(low, high)})" if low is not None else "")
