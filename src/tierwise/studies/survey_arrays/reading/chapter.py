"""Chapter on the survey's first battery: gains by query, the published size, and which way of reading gives the published scan."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any, Final

from tierwise.report.display import Sentence, Table
from tierwise.report.figures.places import io_mode_of, medians, nothing
from tierwise.report.formats import DASH, NBSP, count, listed, number, percent
from tierwise.report.no_answer import answered
from tierwise.report.run import Run
from tierwise.report.words import IO_MODES, claim_sentence
from tierwise.studies.survey_arrays.reading.figures import NOT_HUNTED, hunted
from tierwise.studies.survey_arrays.reading.shown import ARRAYS, SCAN

CLAIMS: Final = ("H1", "H2", "H3", "H8", "H12")
ALIKE: Final = 1.25
"""A way of reading reproduces each published time that it is within this factor of, up or down (assumed, before any was simulated)."""
FEW: Final = 3
"""The largest number of ways that are named one by one."""
MB: Final = 1e6
ARRAY: Final = "ssd_raid5"
"""The place of the array of SSDs."""
SSDS: Final = 6
"""The number of SSDs in the published array."""


def answer(run: Run, pair: str) -> Sentence:
    """Return median gains of the SSDs over the array of disks; where too few repeats are clean, why, and the reference's answer."""
    return answered(run, ARRAYS.study, pair, partial(_answer, pair=pair))


def _answer(run: Run, pair: str) -> str:
    gains = medians(run, pair, ARRAYS, "gain")
    if not gains:
        return ""
    told = [f"on {words.lower()} {listed(found)}" for query, words in ARRAYS.queries.items() if (found := _gains(gains, query))]
    if not told:
        return f"The pair `{pair}` has no SSD whose clean queries could be held against its disks."
    return (
        f"Against {ARRAYS.places['hdd']}, the query is {'; '.join(told)} "
        f"(medians over the replicates, {run.evidence(pair)}, {IO_MODES[io_mode_of(run, pair, ARRAYS)]}, from empty caches)."
    )


def finding(run: Run, pair: str) -> str:
    """Return the range of gains of the array of SSDs over that of disks, as a chapter's title; empty without enough clean repeats."""
    gains = medians(run, pair, ARRAYS, "gain")
    found = [gain for (query, place), gain in gains.items() if place == ARRAY and query in ARRAYS.queries]
    if not found:
        return ""
    ends = dict.fromkeys(map(number, (min(found), max(found))))
    return f"queries are {' to '.join(ends)} times as fast on an array of SSDs as on one of disks ({run.evidence(pair)})"


def _gains(gains: Mapping[tuple[str, str], float], query: str) -> list[str]:
    return [
        f"{number(gains[query, place])} times as fast on {ARRAYS.places[place]}"
        for place in ("ssd", "ssd_raid5")
        if (query, place) in gains
    ]


def one_or_six(run: Run, pair: str) -> Sentence:
    """Say for H12 how far the gain of an array of SSDs over one is from its drives, by query."""
    elapsed = medians(run, pair, ARRAYS, "elapsed_s")
    found = {
        words.lower(): elapsed[query, "ssd"] / elapsed[query, "ssd_raid5"]
        for query, words in ARRAYS.queries.items()
        if {(query, "ssd"), (query, "ssd_raid5")} <= elapsed.keys()
    }
    if not found:
        return nothing(run, ARRAYS, pair)
    told = listed(f"{number(gain)} times as fast on {query}" for query, gain in found.items())
    most = (
        "in no query as many times as there are drives" if max(found.values()) < SSDS else "in some query as many times as there are drives"
    )
    return Sentence(f"Compared with one SSD, six in RAID5 are {told}: {most} (medians over the replicates).")


def verdicts(run: Run) -> Sentence:
    return Sentence("\n\n".join(claim_sentence(claim) for claim in run.verdicts if claim.id in CLAIMS))


def reads(run: Run, pair: str) -> Table | Sentence:
    """Return what each query reads: pages, requests, bytes and their times, by subsystem."""
    rows = run.query(
        """
        select query, form, tier, count(*) as n, any_value(result_rows) as found,
               median(heap_reads) as heap, median(index_reads) as index_pages,
               median(requests) as requests, enough(if(flags = 'none', elapsed_s, null)) as told,
               if(told, median(read_bytes / elapsed_s) filter (flags = 'none'), null) as rate,
               if(told, median(elapsed_s) filter (flags = 'none'), null) as elapsed_s
        from survey_arrays where pair = ? and io_mode = ? group by query, form, tier
        """,
        [pair, io_mode_of(run, pair, ARRAYS)],
    ).rows(named=True)
    known = {(row["query"], row["form"], row["tier"]): row for row in rows}
    keys = [
        (query, form, tier) for query in ARRAYS.queries for form in ARRAYS.forms for tier in ARRAYS.places if (query, form, tier) in known
    ]
    if not keys:
        return nothing(run, ARRAYS, pair)
    first = {(query, form): tier for query, form, tier in reversed(keys)}
    return Table(
        ["Query", "Subsystem", "Rows found", "Pages of table", "of indexes", "Requests", "MB/s", "Median, s"],
        [
            [
                f"{ARRAYS.queries[query]}, {ARRAYS.forms[form]}" if tier == first[query, form] else "",
                ARRAYS.places[tier],
                count(known[query, form, tier]["found"]),
                count(round(known[query, form, tier]["heap"])),
                count(round(known[query, form, tier]["index_pages"])),
                _or_dash(known[query, form, tier]["requests"], lambda value: count(round(value))),
                _or_dash(known[query, form, tier]["rate"], lambda value: number(value / MB)),
                _or_dash(known[query, form, tier]["elapsed_s"], number),
            ]
            for query, form, tier in keys
        ],
        "What each query reads, from empty caches: medians over the replicates of the interleaving, times of clean ones "
        "alone, where there are enough. A query on "
        "indexed columns finds its pages by bitmaps of the indexes and reads them in their order; the one on non-indexed columns reads "
        "the table from end to end. "
        f"{run.note(pair, sum(known[key]['n'] for key in keys), 'queries', ARRAYS.query)}",
        align="llrrrrrr",
    )


def _or_dash(value: float | None, told: Any) -> str:
    return DASH if value is None else str(told(value))


def published_size(run: Run, pair: str) -> Table | Sentence:
    """Return each query at the published size: what the devices take for this server's reads, beside the inferred seconds."""
    bars = ARRAYS.published_seconds()
    rows = []
    for (query, words), form in product(ARRAYS.queries.items(), ARRAYS.forms):
        ways = hunted(run, pair, query, form)
        places = {tier: place for tier, place in ARRAYS.places.items() if ways and tier in ways[0]["seconds"]}
        for position, (tier, place) in enumerate(places.items()):
            ours, ideal = (fmean(way["seconds"][tier]) for way in ways[:2])
            bar = bars.get((query, tier))
            told = (number(bar), number(ours / bar)) if bar else (DASH, DASH)
            named = "" if position else f"{words}, {ARRAYS.forms[form]}"
            rows.append([named, place, number(ours), number(ideal), *told])
    if not rows:
        return Sentence(NOT_HUNTED.format(pair))
    size_gb = _published_bytes(run, pair) / 1e9
    return Table(
        ["Query", "Subsystem", "This server's reads, s", "Whole table, ideal, s", "Published, s", "Ours / published"],
        rows,
        f"At the published size (a table of {number(size_gb)}{NBSP}GB in this server's format), **simulated**: the devices' time for the "
        "pages that the live plan reads, in proportion, one request at a time; and for the whole table in large requests, many of them "
        "outstanding. The host takes no time. The published seconds are **inferred** from a chart: no verdict rests on them; they stand "
        f"beside both forms, of which he shows the printed one. {run.stamp}, pair `{pair}`, n = {len(rows)} cells; from the manifest's "
        "facts.",
        align="llrrrr",
    )


def hunt(run: Run, pair: str, query: str = SCAN) -> Table | Sentence:
    """Tabulate a query by every way of reading: simulated over published seconds."""
    ways, bars = hunted(run, pair, query), _bars(query)
    if not ways:
        return Sentence(NOT_HUNTED.format(pair))
    tiers = [tier for tier in ARRAYS.places if tier in ways[0]["seconds"] and tier in bars]
    return Table(
        ["Way of reading", *(ARRAYS.places[tier] for tier in tiers), "RAID5 / RAID0", "Furthest off"],
        [
            [
                way["method"],
                *(f"{number(ratio)}" for ratio in (fmean(way["seconds"][tier]) / bars[tier] for tier in tiers)),
                _raid(way) or DASH,
                f"{number(furthest(way, bars))}-fold",
            ]
            for way in ways
        ],
        f"{ARRAYS.queries[query]}, at the published size: **simulated** seconds over the **published** (inferred) ones, for each way of "
        "reading. Each way changes one thing of the ideal reading (the whole table in requests of 512 KiB, eight outstanding, in order); "
        f"none was fitted. {run.stamp}, pair `{pair}`, n = {len(ways)} ways, means over the seeds "
        f"({len(ways[0]['seconds'][tiers[0]])}); "
        "from the manifest's facts.",
        align="l" + "r" * (len(tiers) + 2),
    )


def hunt_found(run: Run, pair: str) -> Sentence:
    ways, bars = [way for way in hunted(run, pair, SCAN) if way["hunted"]], _bars(SCAN)
    if not ways:
        return Sentence("")
    near = min(ways, key=lambda way: furthest(way, bars))
    within = [way["method"] for way in ways if furthest(way, bars) <= ALIKE]
    rates = listed(f"{number(_published_bytes(run, pair) / seconds / MB)}" for seconds in bars.values())
    told = (
        f"Within {percent(ALIKE - 1)} of all four bars: {listed(f'*{name}*' for name in within)}."
        if within
        else f"No way of reading comes within {percent(ALIKE - 1)} of all four bars. The closest is *{near['method']}*, "
        f"{number(furthest(near, bars))}-fold off at "
        f"the worst of them."
    )
    disks = ""
    if {"hdd", "hdd_raid0"} <= bars.keys() and (spread := [value for way in ways if (value := _raid_ratio(way))]):
        disks = (
            f" The two arrays of disks lie {number(bars['hdd'] / bars['hdd_raid0'])}-fold apart in the chart; over the ways it is "
            f"{number(min(spread))} to {number(max(spread))}-fold, on seven drives each (how many the RAID0 had is not stated)."
        )
    return Sentence(
        f"The published times mean {rates} MB/s for this table.{_one_drive(run, pair, bars)} {told} {_bar_by_bar(ways, bars)}{disks} "
        "The ways were tried against the very numbers that they are held to: whichever comes closest is a candidate, and confirms nothing."
    )


def _bar_by_bar(ways: Sequence[dict[str, Any]], bars: Mapping[str, float]) -> str:
    """Which ways come near each subsystem's time, whatever they give for the others."""
    told = []
    for tier, place in ARRAYS.places.items():
        ratios = {way["method"]: fmean(way["seconds"][tier]) / bars[tier] for way in ways if tier in way["seconds"] and tier in bars}
        if not ratios:
            continue
        within = [f"*{name}*" for name, ratio in ratios.items() if 1 / ALIKE <= ratio <= ALIKE]
        near = min(ratios, key=lambda name: abs(math.log(ratios[name])))
        found = f"{count(len(within))} of them" if len(within) > FEW else listed(within)
        told.append(f"{place}: {found or f'none (nearest *{near}*, {number(ratios[near])})'}")
    return f"Each bar for itself, the ways within {percent(ALIKE - 1)} are, {'; '.join(told)}." if told else ""


def _one_drive(run: Run, pair: str, bars: Mapping[str, float]) -> str:
    """Whether the array of disks is slower in the chart than any zone of one of its drives."""
    devices = run.manifest.pairs.get(pair, {}).get("devices", {})
    drives = [found["member"]["inner_rate"] for name, found in devices.items() if name.startswith("hdd") and "member" in found]
    if not drives:
        return ""
    rate = _published_bytes(run, pair) / bars["hdd"] / MB
    beside = "less" if rate < drives[0]["value"] else "more"
    return (
        f" On the seven disks in RAID5 that is {beside} than one such drive reads alone where it is slowest "
        f"({number(drives[0]['value'])}{NBSP}{drives[0]['unit']})."
    )


def furthest(way: dict[str, Any], bars: dict[str, float]) -> float:
    """Return the factor, up or down, by which `way` misses the bar that it misses most."""
    ratios = [fmean(values) / bars[tier] for tier, values in way["seconds"].items() if tier in bars]
    return math.exp(max(abs(math.log(ratio)) for ratio in ratios))


def _bars(query: str) -> dict[str, float]:
    return {place: seconds for (asked, place), seconds in ARRAYS.published_seconds().items() if asked == query}


def _raid_ratio(way: dict[str, Any]) -> float | None:
    seconds = way["seconds"]
    return fmean(seconds["hdd"]) / fmean(seconds["hdd_raid0"]) if {"hdd", "hdd_raid0"} <= seconds.keys() else None


def _raid(way: dict[str, Any]) -> str:
    ratio = _raid_ratio(way)
    return number(ratio) if ratio else ""


def _published_bytes(run: Run, pair: str) -> float:
    record = run.record(ARRAYS.study, pair)
    return float(record.facts["published_bytes"]) if record else math.nan
