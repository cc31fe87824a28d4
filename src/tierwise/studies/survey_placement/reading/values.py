"""The numbers of the text on the survey's placements."""

from itertools import product
from typing import Final

import polars as pl

from tierwise.advisor.ranking import Choice, choose, gains_of
from tierwise.analysis.causes import Cause
from tierwise.analysis.claim_rows import mode_in
from tierwise.analysis.statistics import enough, geometric_estimate
from tierwise.report.estimates import cell, ends, estimates, least_most
from tierwise.report.exhibit_registry import find
from tierwise.report.figures.places import published_seconds, simulated_ways
from tierwise.report.run import Run
from tierwise.report.sizes_of_data import entries_of, extrapolate, holds, ratios
from tierwise.report.text_template import Value
from tierwise.report.values.workloads import gather
from tierwise.studies.survey_placement.reading import names
from tierwise.studies.survey_placement.reading.money import moves_of, plans_of
from tierwise.studies.survey_placement.reading.names import BASE, DETECTION, INDEXES, PAIR, PLACEMENTS, QUERIES, SQL, STUDY, TEMPORARY

GROUPS: Final = {"indexes": INDEXES, "source": names.SOURCE, "detection": DETECTION}
MOVES: Final = {"indexes ssd": "all indexes", "Source ssd": "Source", "Detection ssd": "Detection"}
"""A placement as ``heat.sql`` names it -> what a reader moves."""
WORKLOADS: Final = ("joins", "light curves")
SCANNED: Final = ("survey_arrays", "non_indexed")  # the study and its query that simulate a scan of each subsystem at the published size
SIZES: Final = ("smallest", "largest", "published")


def values(run: Run, pair: str = PAIR) -> dict[str, Value]:
    frame = find("tbl-survey-placement-seconds", STUDY).rows(run, pair).frame
    gains = {key: one for key, one in estimates(frame, ["query", "placement"], "speedup").items() if one.interval and key[1] != BASE}
    found: dict[str, Value] = {
        "answered": bool(gains),
        "evidence": str(run.evidence(pair)) if gains else None,
        "io_mode": str(mode_in(run.store, STUDY, pair)),
        "queries": len({query for query, place in gains if place != TEMPORARY}),
        **ends("temporary", {query: one for (query, place), one in gains.items() if place == TEMPORARY}),
    }
    for name, placement in GROUPS.items():
        own = {query: one for (query, place), one in gains.items() if place == placement}
        found |= {**ends(name, own), f"{name}_gaining": sum((one.low or 0.0) > 1 for one in own.values())}
    found["indexes_slower"] = sum((one.high or 1.0) < 1 for (_, placement), one in gains.items() if placement == INDEXES)
    return {**found, **_advice(run, pair), **_ways(run, pair), **_scale(run, pair), **_moves(run, pair)}


def _advice(run: Run, pair: str) -> dict[str, Value]:
    """Return what to move for each workload, by the one rule of `advisor.ranking`, and the fastest placement if it is another."""
    known = {one.name: one for one in gather(run, only=pair)}
    found: dict[str, Value] = {}
    for workload in WORKLOADS:
        name, own = workload.replace(" ", "_"), known.get(workload)
        gains, choice = (gains_of(own), choose(own)) if own else ((), Choice())
        best, fastest = choice.advised, min(gains, key=lambda gain: gain.estimate.value or 1.0, default=None)
        found |= {
            f"{name}_known": bool(gains),
            f"{name}_unclear": choice.unclear,
            f"{name}_move": MOVES[best.placement] if best else None,
            f"{name}_gain": 1 / best.estimate.value if best and best.estimate.value else None,
            f"{name}_fastest": MOVES[fastest.placement] if fastest and best and fastest is not best else None,
            f"{name}_most": 1 / fastest.estimate.value if fastest and fastest.estimate.value else None,
        }
    return found


def _ways(run: Run, pair: str) -> dict[str, Value]:
    """Return in how many of the simulated ways to read a whole table the disks are faster than one SSD, and than the array of SSDs."""
    ways = [way["seconds"] for way in simulated_ways(run, pair, *SCANNED) if {"hdd", "ssd", "ssd_raid5"} <= way["seconds"].keys()]
    found: dict[str, Value] = {"ways": len(ways)}
    for name, place in (("one", "ssd"), ("six", "ssd_raid5")):
        slower = [ratio for way in ways if (ratio := sum(way[place]) * len(way["hdd"]) / (sum(way["hdd"]) * len(way[place]))) > 1]
        found |= {f"ways_{name}": len(slower), f"ways_{name}_most": max(slower, default=None)}
    return found


def _scale(run: Run, pair: str) -> dict[str, Value]:
    found: dict[str, Value] = dict.fromkeys((*SIZES, *(f"{size}_gain" for size in SIZES)))
    if not (entries := entries_of(run, STUDY, pair, "seconds")):
        return found
    line = ratios(entries, "seconds", "rows", of=DETECTION, over=BASE)
    ends_of = {"smallest": min(line), "largest": max(line)}
    carried = extrapolate(line, float(entries[0]["published_rows"]))
    estimated = {name: geometric_estimate(line[size]) for name, size in ends_of.items()}
    if holds(carried.miss):
        estimated["published"] = carried.value
    sizes = {**ends_of, "published": float(entries[0]["published_rows"])}
    return (
        found
        | {name: round(size) for name, size in sizes.items()}
        | {f"{name}_gain": 1 / (one.value or 1) for name, one in estimated.items()}
    )


def medians(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the medians of each query and placement with enough clean replicates, its speed-up as text, and the published seconds."""
    clean, gains = rows.filter(flag="none"), estimates(rows, ["query", "placement"], "speedup")
    bars = published_seconds(STUDY)
    shown = [
        {"query": query, "placement": placement, "gain": "1" if placement == BASE else cell(gains.get((query, placement)))}
        | part.select(pl.col("elapsed_s", "ratio", "moved_share").median()).row(0, named=True)
        | {"bar": bars.get((query, placement)), "base": bars.get((query, BASE))}
        for query, placement in product(QUERIES, PLACEMENTS)
        if enough((part := clean.filter(query=query, placement=placement)).height)
    ]
    return pl.DataFrame(shown)


def moves_that_pay(run: Run, pair: str) -> pl.DataFrame:
    """Return what each move takes, what a job saves, and after how many jobs the move has paid; null where a job saves nothing."""
    rows = [
        (*key, plan.there_s + plan.back_s, plan.saved_s, plan.break_even_jobs, plan.low, plan.high, plan.pairs)
        for key, plan in plans_of(run.store, pair, moves_of(run.store, pair)).items()
    ]
    floats = dict.fromkeys(("move_s", "saved_s", "jobs", "low", "high"), pl.Float64)
    return pl.DataFrame(rows, {"placement": pl.String, "query": pl.String, **floats, "pairs": pl.Int64}, orient="row")


def _moves(run: Run, pair: str) -> dict[str, Value]:
    rows = moves_that_pay(run, pair)
    jobs = rows["jobs"].drop_nulls().to_list()
    claim = run.verdict("H11")
    mapped = claim.open_map if claim else None
    pages = {"pair": pair, "io_mode": str(mode_in(run.store, STUDY, pair)), "query": names.SCALED, "placement": BASE}
    index_pages, all_pages = run.query(SQL["pages"], pages).row(0)
    return {
        "scan_index_pages": index_pages,
        "scan_pages": all_pages,
        "moves_known": bool(jobs),
        "moves": rows.height,
        "moves_never": rows.height - len(jobs),
        **least_most("jobs", jobs),
        "settings": len(mapped.points) if mapped else None,
        "settings_least": round(mapped.share[0] * len(mapped.points)) if mapped else None,
        "h11_open": bool(claim and claim.cause is Cause.LEFT_OPEN),
    }
