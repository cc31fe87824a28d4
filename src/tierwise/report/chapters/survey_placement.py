"""Chapter on source H's second battery: what each placement gains, whose reads the time goes to, and the indexes that got slower."""

from typing import Final

from tierwise.analysis.published import SURVEY, survey_seconds
from tierwise.report.display import Sentence, Table
from tierwise.report.figures.survey import PLACEMENT, PLACES, QUERIES, arm_of, medians, nothing, query_of
from tierwise.report.formats import DASH, count, listed, number, percent, percents
from tierwise.report.run import Run
from tierwise.report.words import ARMS, claim_sentence

CLAIMS: Final = ("H4", "H5", "H6", "H7", "H9", "H10", "H14")
INDEXES: Final = "index_ssd"
PARTS: Final = {"index": "indexes", "source": "Source", "detection": "Detection"}
"""Columns of the view begin so."""


def answer(run: Run, pair: str) -> Sentence:
    """What is left of each query's time, by placement."""
    ratios = medians(run, pair, PLACEMENT, "ratio")
    if not ratios:
        return nothing(PLACEMENT, pair)
    told = [
        f"with {words} {percents(left)}"
        for place, words in PLACES[PLACEMENT].items()
        if place != "all_hdd" and (left := [ratios[query, place] for query in QUERIES[PLACEMENT] if (query, place) in ratios])
    ]
    return Sentence(
        f"Of the time with everything on the disks there is left, over the four queries, {listed(told)} "
        f"(medians over the blocks, {ARMS[arm_of(run, pair, PLACEMENT)]}, from empty caches)."
    )


def verdicts(run: Run) -> Sentence:
    """One paragraph a claim."""
    return Sentence("\n\n".join(claim_sentence(claim) for claim in run.verdicts if claim.id in CLAIMS))


def seconds(run: Run, pair: str) -> Table | Sentence:
    """Medians by query and placement, and what is left of the time, beside the inferred bars."""
    elapsed, ratios = (medians(run, pair, PLACEMENT, value) for value in ("elapsed_s", "ratio"))
    if not elapsed:
        return nothing(PLACEMENT, pair)
    bars = survey_seconds(PLACEMENT)
    n = run.query("select count(*) as n from survey_placement where pair = ? and arm = ?", [pair, arm_of(run, pair, PLACEMENT)])["n"][0]
    keys = [(query, place) for query in QUERIES[PLACEMENT] for place in PLACES[PLACEMENT] if (query, place) in elapsed]
    return Table(
        ["Query", "Placement", "Median, s", "Left of the time", "Published, s", "Left of the published"],
        [
            [
                QUERIES[PLACEMENT][query],
                PLACES[PLACEMENT][place],
                number(elapsed[query, place]),
                percent(ratios[query, place]) if (query, place) in ratios else DASH,
                number(bars[query, place]) if (query, place) in bars else DASH,
                percent(bars[query, place] / bars[query, "all_hdd"]) if (query, place) in bars else DASH,
            ]
            for query, place in keys
        ],
        f"Each query on each placement, beside the source's bars as they are inferred (`{SURVEY}`; those of the light curves cannot be "
        "told apart). The data are scaled down and the queries are ours: only what is left of the time can be compared. "
        f"{run.note(pair, n, 'queries', query_of(PLACEMENT))}",
        align="llrrrr",
    )


def whose_reads(run: Run, pair: str) -> Table | Sentence:
    """Blocks and time of indexes, Source and Detection, with everything on the disks."""
    rows = run.query(
        """
        select query, count(*) as n, median(all_reads) as all_reads,
               median(index_reads) as index_reads, median(source_reads) as source_reads, median(detection_reads) as detection_reads,
               median(index_io_s / all_io_s) as index_share, median(source_io_s / all_io_s) as source_share,
               median(detection_io_s / all_io_s) as detection_share
        from survey_placement where pair = ? and arm = ? and placement = 'all_hdd' group by query
        """,
        [pair, arm_of(run, pair, PLACEMENT)],
    ).rows(named=True)
    known = {row["query"]: row for row in rows}
    if not known:
        return nothing(PLACEMENT, pair)
    return Table(
        ["Query", "Blocks read", *(f"of {words}" for words in PARTS.values()), *(f"Time for {words}" for words in PARTS.values())],
        [
            [
                words,
                count(round(known[query]["all_reads"])),
                *(count(round(known[query][f"{part}_reads"])) for part in PARTS),
                *(DASH if known[query][f"{part}_share"] is None else percent(known[query][f"{part}_share"]) for part in PARTS),
            ]
            for query, words in QUERIES[PLACEMENT].items()
            if query in known
        ],
        "Whose reads they are, with everything on the disks: blocks, and shares of the storage's time (the rest are other tables). A "
        "placement can spare little more than the share of what it moves. "
        f"{run.note(pair, sum(row['n'] for row in rows), 'queries', query_of(PLACEMENT))}",
        align="lrrrrrrr",
    )


def slower_indexes(run: Run, pair: str) -> Sentence:
    """H10: whether indexes on SSDs made any query slower here, and what would have turned the order round."""
    ratios = medians(run, pair, PLACEMENT, "ratio")
    found = {query: ratios[query, INDEXES] for query in QUERIES[PLACEMENT] if (query, INDEXES) in ratios}
    if not found:
        return nothing(PLACEMENT, pair)
    slower = [QUERIES[PLACEMENT][query].lower() for query, ratio in found.items() if ratio > 1]
    bars = survey_seconds(PLACEMENT)
    published = listed(
        f"{percent(bars[query, INDEXES] / bars[query, 'all_hdd'] - 1)} ({words.lower()})"
        for query, words in QUERIES[PLACEMENT].items()
        if (query, INDEXES) in bars
    )
    left = listed(f"{percent(ratio)} ({QUERIES[PLACEMENT][query].lower()})" for query, ratio in found.items())
    spared = percents(max(0.0, 1 - ratio) for ratio in found.values())
    return Sentence(
        f"With the indexes on the SSDs the median here is slower in {listed(slower) or 'none of the queries'}; what is left of the time is "
        f"{left}. In the source's bars, as inferred, it is slower by {published}. {_few_index_blocks(run, pair)}"
        "The same blocks are asked of the storage on every placement, by the server's own counts and by one asserted plan, and a block "
        "that is asked for alone comes sooner from an SSD than from a disk. So neither plan nor blocks nor devices give the source's "
        f"order. A difference of caches would: had the disks been timed while {spared} of their time was spared by what was cached, and "
        "the SSDs after files had been moved, and so cold, the order would turn. Whether it was so the source does not say; it tells "
        "nothing of caches."
    )


def _few_index_blocks(run: Run, pair: str) -> str:
    """What the gain of indexes rests on in the join that reads a whole table."""
    rows = run.query(
        "select median(index_reads), median(all_reads) from survey_placement "
        "where pair = ? and arm = ? and placement = 'all_hdd' and query = 'join_single'",
        [pair, arm_of(run, pair, PLACEMENT)],
    ).rows()
    index_reads, all_reads = rows[0]
    if index_reads is None:
        return ""
    return (
        f"In the join by a single index, {count(round(index_reads))} of {count(round(all_reads))} blocks are of indexes; the larger the "
        "tables, the less of the time they are, so that at the source's size their place can hardly matter to it. "
    )
