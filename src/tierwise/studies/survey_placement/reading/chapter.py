"""Chapter on the survey's second battery: what each placement gains, whose reads the time goes to, and the indexes that got slower."""

from collections.abc import Sequence
from functools import partial
from statistics import fmean
from typing import Any, Final

from tierwise.analysis.statistics import geometric_estimate
from tierwise.report.display import Sentence, Table
from tierwise.report.figures.places import io_mode_of, medians, nothing, simulated_ways
from tierwise.report.formats import DASH, NBSP, count, interval, listed, number, percent, percents
from tierwise.report.no_answer import answered
from tierwise.report.run import Run
from tierwise.report.words import IO_MODES, claim_sentence
from tierwise.studies.survey_placement.reading.shown import PLACEMENT, SURVEY

CLAIMS: Final = ("H4", "H5", "H6", "H7", "H9", "H10", "H14")
INDEXES: Final = "index_ssd"
SCANNED: Final = ("survey_arrays", "non_indexed")
"""The study and its query that simulate a scan of each subsystem at the published size."""
SUBSYSTEMS: Final = {"ssd": "one SSD", "ssd_raid5": "6 SSDs, RAID5"}
FEW: Final = 3
"""Ways of reading that are named one by one."""
PARTS: Final = {"index": "indexes", "source": "Source", "detection": "Detection"}
"""Columns of the view begin so."""


def answer(run: Run, pair: str) -> Sentence:
    """Return what is left of each query's time, by placement; where too few repeats are clean, why, and the reference's answer."""
    return answered(run, PLACEMENT.study, pair, partial(_answer, pair=pair))


def _answer(run: Run, pair: str) -> str:
    ratios = medians(run, pair, PLACEMENT, "ratio")
    if not ratios:
        return ""
    told = [
        f"{percents(left)} of the time with {words}"
        for place, words in PLACEMENT.places.items()
        if place != "all_hdd" and (left := [ratios[query, place] for query in PLACEMENT.queries if (query, place) in ratios])
    ]
    return (
        f"Compared with everything on the disks, the queries take {listed(told)} "
        f"(medians over the replicates, {run.evidence(pair)}, {IO_MODES[io_mode_of(run, pair, PLACEMENT)]}, from empty caches)."
    )


def finding(run: Run, pair: str) -> str:
    """Say what the placement that leaves least, and the indexes, leave of the queries' time, as a chapter's title; empty without enough
    clean repeats.
    """
    ratios = medians(run, pair, PLACEMENT, "ratio")
    left = {place: [ratio for (_, there), ratio in ratios.items() if there == place] for place in PLACEMENT.places}
    moved = {place: found for place, found in left.items() if found and place != "all_hdd"}
    if INDEXES not in moved or len(moved) == 1:
        return ""
    best = min(moved, key=lambda place: sum(moved[place]) / len(moved[place]))
    told = [f"{percents(moved[place])} with {PLACEMENT.places[place]}" for place in dict.fromkeys((best, INDEXES))]
    return f"queries take {listed(told)} of their time on disks ({run.evidence(pair)})"


def verdicts(run: Run) -> Sentence:
    return Sentence("\n\n".join(claim_sentence(claim) for claim in run.verdicts if claim.id in CLAIMS))


def seconds(run: Run, pair: str) -> Table | Sentence:
    """Tabulate medians by query and placement, and what is left of the time, beside the inferred bars."""
    elapsed, ratios = (medians(run, pair, PLACEMENT, value) for value in ("elapsed_s", "ratio"))
    if not elapsed:
        return nothing(run, PLACEMENT, pair)
    bars = PLACEMENT.published_seconds()
    where = "pair = ? and io_mode = ? and not flagged"
    n = run.query(f"select count(*) as n from survey_placement where {where}", [pair, io_mode_of(run, pair, PLACEMENT)])["n"][0]
    keys = [(query, place) for query in PLACEMENT.queries for place in PLACEMENT.places if (query, place) in elapsed]
    return Table(
        ["Query", "Placement", "Median, s", "Left of the time", "Published, s", "Left of the published"],
        [
            [
                PLACEMENT.queries[query],
                PLACEMENT.places[place],
                number(elapsed[query, place]),
                percent(ratios[query, place]) if (query, place) in ratios else DASH,
                number(bars[query, place]) if (query, place) in bars else DASH,
                percent(bars[query, place] / bars[query, "all_hdd"]) if (query, place) in bars else DASH,
            ]
            for query, place in keys
        ],
        "Medians of unflagged queries by placement, beside the source's bars as they are inferred "
        f"(`{SURVEY}`; those of the light curves cannot be told apart). The data are scaled down and the queries are ours: only what is "
        "left of the time can be compared. "
        f"{run.note(pair, n, 'queries', PLACEMENT.query)}",
        align="llrrrr",
    )


def whose_reads(run: Run, pair: str) -> Table | Sentence:
    """Return pages and time of indexes, Source and Detection, with everything on the disks."""
    rows = run.query(
        """
        select query, count(*) as n, median(all_reads) as all_reads,
               median(index_reads) as index_reads, median(source_reads) as source_reads, median(detection_reads) as detection_reads,
               enough(if(flagged, null, all_io_s)) as timed, median(index_io_s / all_io_s) filter (not flagged) as index_share,
               median(source_io_s / all_io_s) filter (not flagged) as source_share,
               median(detection_io_s / all_io_s) filter (not flagged) as detection_share
        from survey_placement where pair = ? and io_mode = ? and placement = 'all_hdd' group by query
        """,
        [pair, io_mode_of(run, pair, PLACEMENT)],
    ).rows(named=True)
    known = {row["query"]: row for row in rows}
    if not known:
        return nothing(run, PLACEMENT, pair)
    return Table(
        ["Query", "Pages read", *(f"of {words}" for words in PARTS.values()), *(f"Time for {words}" for words in PARTS.values())],
        [
            [
                words,
                count(round(known[query]["all_reads"])),
                *(count(round(known[query][f"{part}_reads"])) for part in PARTS),
                *(
                    DASH if known[query][f"{part}_share"] is None or not known[query]["timed"] else percent(known[query][f"{part}_share"])
                    for part in PARTS
                ),
            ]
            for query, words in PLACEMENT.queries.items()
            if query in known
        ],
        "Whose reads they are, with everything on the disks: pages, and shares of the storage's time in clean queries (the rest are other "
        "tables). A placement can spare little more than the share of what it moves. "
        f"{run.note(pair, sum(row['n'] for row in rows), 'queries', PLACEMENT.query)}",
        align="lrrrrrrr",
    )


def _orders(run: Run, pair: str) -> dict[str, dict[str, Any]]:
    """Pairs of the same replicate by query, indexes on the SSDs over all on the disks: as measured (`cold`), and over the disks' time less
    what the reads of its indexes took (`cached`); the share of those (`index_share`), and the counts of pages.
    """
    rows = run.query(
        """
        select query, list(one.ratio order by replicate) as cold,
               list(one.elapsed_s / (base.elapsed_s - base.index_io_s) order by replicate) as cached,
               median(base.index_io_s / base.elapsed_s) as index_share,
               bool_and(one.index_reads = base.index_reads and one.all_reads = base.all_reads) as same_pages,
               max(base.index_reads) as index_reads, max(base.all_reads) as all_reads
        from survey_placement as one join survey_placement as base using (run_id, pair, io_mode, query, replicate)
        where pair = ? and io_mode = ? and one.placement = 'index_ssd' and base.placement = 'all_hdd' and not one.flagged
        group by query having enough(one.ratio)
        """,
        [pair, io_mode_of(run, pair, PLACEMENT)],
    ).rows(named=True)
    known = {row["query"]: row for row in rows}
    return {query: known[query] for query in PLACEMENT.queries if query in known}


def index_orders(run: Run, pair: str) -> Table | Sentence:
    """Tabulate for H10 each query with the indexes on the SSDs over all on the disks, cold on both, and with the disks' indexes cached."""
    found, bars = _orders(run, pair), _published_orders()
    if not found:
        return nothing(run, PLACEMENT, pair)
    return Table(
        [
            "Query",
            "Reads of indexes, of the disks' time",
            "Cold on both",
            "Cached on the disks alone",
            "Published",
            "To be spared for that",
        ],
        [
            [
                PLACEMENT.queries[query],
                DASH if row["index_share"] is None else percent(row["index_share"]),
                _estimated(row["cold"]),
                _estimated(row["cached"]),
                number(bars[query]) if query in bars else DASH,
                percent(_spared(row["cold"], bars[query])) if query in bars else DASH,
            ]
            for query, row in found.items()
        ],
        "Time with the indexes on the SSDs over that with everything on the disks; above 1 the SSDs are slower. *Cold on both*: as timed. "
        "*Cached on the disks alone*: reckoned, the disks' time being less what the reads of its indexes took in the same replicate. *To "
        "be "
        "spared for that*: the part of the disks' cold time that a cache must have saved for the published order (inferred from a chart). "
        f"Geometric means of ratios of one replicate each, with 95{NBSP}% intervals. "
        f"{run.note(pair, sum(len(row['cold']) for row in found.values()), 'repeats', PLACEMENT.query)}",
        align="lrrrrr",
    )


def _published_orders() -> dict[str, float]:
    bars = PLACEMENT.published_seconds()
    return {query: seconds / bars[query, "all_hdd"] for (query, place), seconds in bars.items() if place == INDEXES}


def _estimated(ratios: Sequence[float]) -> str:
    found = geometric_estimate(ratios)
    assert found.value is not None, "a query without enough repeats has no row"
    assert found.interval is not None, "an estimate has an interval"
    return f"{number(found.value)} ({interval(*found.interval)})"


def _spared(cold: Sequence[float], published: float) -> float:
    """Share of the disks' time without which the ratio `cold` would be the published one."""
    value = geometric_estimate(cold).value
    assert value is not None, "a query without enough repeats has no row"
    return max(0.0, 1 - value / published)


def slower_indexes(run: Run, pair: str) -> Sentence:
    """Say for H10 whether indexes on SSDs made any query slower here, and what would and what would not turn the order round."""
    found, bars = _orders(run, pair), _published_orders()
    if not found:
        return nothing(run, PLACEMENT, pair)
    slower = [f"*{PLACEMENT.queries[query]}*" for query, row in found.items() if _low(row["cold"]) > 1]
    asked = (
        "Both places are asked for the same pages in every repeat, by one asserted plan"
        if all(row["same_pages"] for row in found.values())
        else "The two places are not asked for the same pages in every repeat"
    )
    few = [
        f"*{PLACEMENT.queries[query]}* ({percent(_spared(row['cold'], bars[query]))} against {percent(row['index_share'])})"
        for query, row in found.items()
        if query in bars and row["index_share"] is not None and _spared(row["cold"], bars[query]) > row["index_share"]
    ]
    caches = (
        f"For the published order more must have been spared than the reads of indexes took in {listed(few)}: there, pages of tables "
        "must have been cached as well."
        if few
        else "For the published order less must have been spared than the reads of indexes took."
    )
    return Sentence(
        f"Cold on both, the indexes on the SSDs are slower in {listed(slower) or 'none of the queries'}. {asked}.\n\n"
        f"{_in_sequence(run, pair)}\n\n"
        f"*Caches* turn the order, if only the disks had them: files that were just moved to the SSDs are cold, those that stayed are not. "
        f"{caches} The source tells nothing of caches, so that this is what could explain it, not what did.{_few_index_pages(run, pair)}"
    )


def _low(ratios: Sequence[float]) -> float:
    """Lower end of the interval."""
    return geometric_estimate(ratios).low or 0.0


def _in_sequence(run: Run, pair: str) -> str:
    ways = [way for way in simulated_ways(run, pair, *SCANNED) if {"hdd", "ssd"} <= way["seconds"].keys()]
    if not ways:
        return "*Reading in sequence*, the author's own guess, was not simulated."
    ahead = dict[str, str]()
    for place in ("ssd_raid5", "ssd"):
        ratios = {way["method"]: fmean(way["seconds"][place]) / fmean(way["seconds"]["hdd"]) for way in ways if place in way["seconds"]}
        quicker = [f"*{name}* ({number(ratio)})" for name, ratio in ratios.items() if ratio > 1]
        ahead[place] = listed(quicker) if len(quicker) <= FEW else f"{count(len(quicker))} of them (up to {number(max(ratios.values()))})"
    meaning = (
        "There an index that is read from end to end in its order is slower on the SSDs, as the author found. The queries here look keys "
        "up, which is no such reading; whether his did the source does not say."
        if ahead["ssd_raid5"]
        else "The source put its indexes on that array, so that this explains nothing."
    )
    return (
        f"*Reading in sequence*, the author's own guess: of the {count(len(ways))} ways to read a whole table that were simulated "
        f"(@sec-survey-arrays-hunt; in brackets, the time of the SSDs over that of the disks), the disks are quicker than "
        f"{SUBSYSTEMS['ssd']} in {ahead['ssd'] or 'none'}, and than {SUBSYSTEMS['ssd_raid5']} in "
        f"{ahead['ssd_raid5'] or 'none'}. {meaning}"
    )


def _few_index_pages(run: Run, pair: str) -> str:
    record = run.record(PLACEMENT.study, pair)
    reads = record.facts.get("touched", {}).get("join_single") if record else None
    if not reads or record is None:
        return ""
    of_indexes = sum(pages for name, pages in reads.items() if name in record.facts["on_ssd"][INDEXES])
    return (
        f"\n\nIn the join by a single index, {count(of_indexes)} of {count(sum(reads.values()))} pages are of indexes. The larger the "
        "tables, the less of the time they are, so that at the source's size their place can hardly matter to it."
    )
