"""The numbers of the text on the survey's arrays."""

import math
from collections.abc import Mapping
from statistics import fmean
from typing import Any, Final

import polars as pl

from tierwise.analysis.deciding import mode_in
from tierwise.analysis.statistics import Estimate
from tierwise.report.estimates import ends, estimates
from tierwise.report.exhibit_registry import find
from tierwise.report.prices import book_of
from tierwise.report.published_bars import published_seconds
from tierwise.report.run import Run
from tierwise.report.text_template import Value
from tierwise.studies.survey_arrays.reading.catalog import hunted, published_bytes
from tierwise.studies.survey_arrays.reading.money import BAYS_A_SERVER, THEN
from tierwise.studies.survey_arrays.reading.names import DISKS, ONE, PAIR, QUERIES, SCAN, SIX, STUDY
from tierwise.studies.survey_arrays.reading.tables.survey_cost_measures import OWN

ALIKE: Final = 1.25
"""A way of reading reproduces each published time that it is within this factor of, up or down (assumed, before any was simulated)."""
MB: Final = 1e6
RAID0: Final = "hdd_raid0"
SHORT: Final = {DISKS: "disks", RAID0: "raid0", ONE: "one", SIX: "six"}
Gains = Mapping[tuple[Any, ...], Estimate]


def values(run: Run, pair: str = PAIR) -> dict[str, Value]:
    """Return speed-ups, rates of the scan, how near the hunt comes to the published one, gains today, and what disks and SSDs cost."""
    mode = str(mode_in(run.store, STUDY, pair))
    frame = _rows(run, pair, "tbl-survey-arrays-modes").filter(pl.col("io_mode") == mode)
    gains = {key: one for key, one in estimates(frame, ["query", "tier"], "gain").items() if one.interval}
    found: dict[str, Value] = {"answered": bool(gains), "evidence": str(run.evidence(pair)) if gains else None, "io_mode": mode}
    found |= ends("six", {key: one for key, one in gains.items() if key[1] == SIX})
    over_one: dict[str, float | None] = {}
    for query in QUERIES:
        one, six = (gains[query, place].value if (query, place) in gains else None for place in (ONE, SIX))
        over_one[query] = six / one if six and one else None
        found |= {f"{query}_one": one, f"{query}_six_over_one": over_one[query]}
    claims = {f"{claim.lower()}_verdict": judged.verdict.mark for claim in ("H8", "H13") if (judged := run.verdict(claim))}
    return {
        **found,
        "over_one_most": max(filter(None, over_one.values()), default=None),
        **dict.fromkeys(("h8_verdict", "h13_verdict")),
        **claims,
        **_rates(run, pair),
        **_hunt(run, pair),
        **_today(run, pair),
        **_costs(run, pair),
    }


def _range(name: str, low: pl.Series, high: pl.Series | None = None) -> dict[str, Value]:
    """Return ``NAME_least`` and ``NAME_most``: the range of two columns, or of one."""
    return {f"{name}_least": min(low, default=None), f"{name}_most": max(low if high is None else high, default=None)}


def _rows(run: Run, pair: str, label: str) -> pl.DataFrame:
    return find(label, STUDY).rows(run, pair).frame


def _rates(run: Run, pair: str) -> dict[str, Value]:
    """Return the rates at which each subsystem delivers the scan, in MB/s, and the range of published times over simulated ones."""
    scan = _rows(run, pair, "tbl-survey-arrays-reads").filter(query=SCAN, form="printed")
    rates = dict(scan.select("tier", "rate").drop_nulls().rows())
    size = _rows(run, pair, "tbl-survey-arrays-size").filter(form="printed").drop_nulls()
    return {
        **{f"rate_{SHORT[place]}": rates[place] / MB if place in rates else None for place in (DISKS, ONE, SIX)},
        **_range("slower", size["published_s"] / size["server_s"]),
    }


def _hunt(run: Run, pair: str) -> dict[str, Value]:
    """Return how near the ways of reading come to the published scan: all bars at once, each for itself, and the two arrays of disks."""
    bars = {place: bar for (query, place), bar in published_seconds(STUDY).items() if query == SCAN}
    ways = {way["method"]: way["seconds"] for way in hunted(run, pair, SCAN) if way["hunted"]}
    means = {name: {place: fmean(seconds) for place, seconds in way.items()} for name, way in ways.items()}
    off = {name: math.exp(max(abs(math.log(way[place] / bars[place])) for place in bars)) for name, way in means.items()}
    nearest = min(off, key=lambda name: off[name], default=None)
    near = {place: sum(1 / ALIKE <= way[place] / bar <= ALIKE for way in means.values()) for place, bar in bars.items()}
    size = published_bytes(run, pair)
    drives = run.manifest.pairs.get(pair, {}).get("devices", {}) if ways else {}
    inner = [one["member"]["inner_rate"]["value"] for name, one in drives.items() if name.startswith("hdd") and "member" in one]
    return {
        "ways": len(ways),
        "nearest": nearest,
        "nearest_off": off[nearest] if nearest else None,
        "alike": round(100 * (ALIKE - 1)),
        "all_alike": sum(value <= ALIKE for value in off.values()),
        **{f"bar_{SHORT[place]}": size / bar / MB if size else None for place, bar in bars.items()},
        "alike_one": near[ONE],
        "alike_others": sum(near.values()) - near[ONE],
        "inner_rate": inner[0] if inner else None,
        "table_gb": size / 1e9 if size else None,
        "apart_published": bars[DISKS] / bars[RAID0],
        **_range("apart", pl.Series([way[DISKS] / way[RAID0] for way in means.values()])),
    }


def _today(run: Run, pair: str) -> dict[str, Value]:
    rows = _rows(run, pair, "tbl-survey-arrays-today")
    return {
        "todays_pair": run.manifest.todays_pair,
        "today_known": rows.height > 0,
        **_range("today", rows["slow_s"] / rows["fast_s"]),
        **_range("then", rows["then_disks_s"] / rows["then_flash_s"]),
    }


def _costs(run: Run, pair: str) -> dict[str, Value]:
    """Return what a terabyte and an IOPS cost a year then, on disks and on six SSDs, and how closely the ratio is known by database."""
    costs = {row["place"]: row for row in _rows(run, pair, "tbl-survey-cost").rows(named=True)}
    measures = _rows(run, pair, "tbl-survey-cost-measures")
    held, servers = (measures.filter(measure=measure) for measure in (OWN, f"{OWN} with its servers"))
    return {
        "prices_then": THEN,
        "prices_now": book_of(run).on,
        **{f"{what}_{SHORT[place]}": costs[place][f"per_{what}_then"] for what in ("tb", "iops") for place in (DISKS, SIX)},
        **_range("held", held["ratio"]),
        "held_cases": held.height,
        "held_sure": held.filter(verdict="confirmed").height,
        **_range("band", held["low"], held["high"]),
        **_range("servers", servers["low"], servers["high"]),
        "bays_least": min(BAYS_A_SERVER),
        "bays_most": max(BAYS_A_SERVER),
    }
