"""The numbers of the text on the survey's arrays."""

import math
from statistics import fmean
from typing import Final

from tierwise.analysis.causes import Cause
from tierwise.analysis.claim_rows import mode_in
from tierwise.analysis.rules import Verdict
from tierwise.costs.book import load_book
from tierwise.report.estimates import ends, estimates, least_most
from tierwise.report.exhibit_registry import find
from tierwise.report.figures.places import published_seconds, simulated_ways
from tierwise.report.run import Run
from tierwise.report.text_template import Value
from tierwise.studies.survey_arrays.reading.money import PER_IOPS, THEN, turning_gbp
from tierwise.studies.survey_arrays.reading.names import DISKS, ONE, PAIR, QUERIES, RAID0, SCAN, SIX, SQL, STUDY

ALIKE: Final = 1.25
"""A way of reading reproduces each published time that it is within this factor of, up or down (assumed, before any was simulated)."""
MB: Final = 1e6
SHORT: Final = {DISKS: "disks", RAID0: "raid0", ONE: "one", SIX: "six"}


def values(run: Run, pair: str = PAIR) -> dict[str, Value]:
    mode = str(mode_in(run.store, STUDY, pair))
    frame = run.query(SQL["gains"], {"pair": pair, "io_mode": mode})
    gains = {key: one for key, one in estimates(frame, ["query", "tier"], "gain").items() if one.interval}
    found: dict[str, Value] = {"answered": bool(gains), "evidence": str(run.evidence(pair)) if gains else None, "io_mode": mode}
    found |= ends("six", {key: one for key, one in gains.items() if key[1] == SIX})
    over_one: dict[str, float | None] = {}
    for query in QUERIES:
        one, six = (gains[query, place].value if (query, place) in gains else None for place in (ONE, SIX))
        over_one[query] = six / one if six and one else None
        found |= {f"{query}_one": one, f"{query}_six_over_one": over_one[query]}
    h8 = run.verdict("H8")
    return {
        **found,
        "over_one_most": max(filter(None, over_one.values()), default=None),
        "h8_verdict": h8.verdict.mark if h8 else None,
        "model_missed": h8 is not None and h8.cause is Cause.STATED_RATE,
        **_rates(run, pair),
        **_hunt(run, pair),
        **_costs(run),
    }


def _rates(run: Run, pair: str) -> dict[str, Value]:
    scan = find("tbl-survey-arrays-reads", STUDY).rows(run, pair).frame.filter(query=SCAN)
    rates = dict(scan.select("tier", "rate").drop_nulls().rows())
    return {f"rate_{SHORT[place]}": rates[place] / MB if place in rates else None for place in (DISKS, ONE, SIX)}


def _hunt(run: Run, pair: str) -> dict[str, Value]:
    """Return the rates that the published scan means, and how near the simulated ways of reading come to all of its times at once."""
    bars = {place: bar for (query, place), bar in published_seconds(STUDY).items() if query == SCAN}
    ways = {way["method"]: way["seconds"] for way in simulated_ways(run, pair, STUDY, SCAN) if way["hunted"]}
    off = {name: math.exp(max(abs(math.log(fmean(way[place]) / bars[place])) for place in bars)) for name, way in ways.items()}
    nearest = min(off, key=lambda name: off[name], default=None)
    record = run.record(STUDY, pair)
    size = record.facts.get("published_bytes") if record else None
    drives = run.manifest.pairs.get(pair, {}).get("devices", {}) if ways else {}
    inner = [one["member"]["inner_rate"]["value"] for name, one in drives.items() if name.startswith("hdd") and "member" in one]
    return {
        "ways": len(ways),
        "nearest": nearest,
        "nearest_off": off[nearest] if nearest else None,
        "alike": round(100 * (ALIKE - 1)),
        "all_alike": sum(value <= ALIKE for value in off.values()),
        **{f"bar_{SHORT[place]}": size / bar / MB if size else None for place, bar in bars.items()},
        "inner_rate": inner[0] if inner else None,
    }


def _costs(run: Run) -> dict[str, Value]:
    claim = run.verdict("H13")
    held = claim.cases if claim else ()
    reads = next((one for one in claim.others if one.variant == PER_IOPS), None) if claim else None
    return {
        "h13_verdict": claim.verdict.mark if claim else None,
        "prices_then": THEN,
        **least_most("held", (one.estimate for one in held)),
        "held_cases": len(held),
        **least_most("band", (end for case in held for end in (case.low, case.high))),
        "turning_gbp": turning_gbp(load_book(THEN)),
        "reads_dearer": 1 / reads.estimate if reads and reads.estimate and reads.verdict is Verdict.CONTRADICTED else None,
    }
