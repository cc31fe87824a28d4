"""What the summary says of this study: what moving table or index does to a cold count, and in which ways to run it the saving is there."""

from functools import partial
from typing import Final

from tierwise.analysis.statistics import estimable, geometric_estimate
from tierwise.report.display import Sentence
from tierwise.report.formats import NBSP, count, listed, percents
from tierwise.report.no_answer import answered
from tierwise.report.run import Run
from tierwise.report.variants import PUBLISHED, Truth, differs, label, saves, variants
from tierwise.report.words import CASES, IO_MODES
from tierwise.studies.index_placement.reading.figures import left_out, main_io_mode

STUDY: Final = "index_placement"
INDEX, TABLE, BOTH = "hdd_ssd_s", "ssd_hdd_s", "ssd_ssd_s"
"""Columns of the view with the times where this is on the SSD."""
SAVING: Final = "M1"
"""The claim that the index on SSD saves most of a cold count's time."""


def answer(run: Run, pair: str) -> Sentence:
    """Say what moving the index, the table or both does to a cold count; where too few repeats are clean, why, and the reference's
    answer.
    """
    return answered(run, STUDY, pair, partial(_answer, pair=pair))


def finding(run: Run, pair: str) -> str:
    """Return what the index alone leaves of a cold count, as a chapter's title; empty without enough clean repeats."""
    left = shares(run, pair)
    return f"the index alone on SSD leaves {percents(left[INDEX].values())} of a cold count's time ({run.evidence(pair)})" if left else ""


def shares(run: Run, pair: str) -> dict[str, dict[str, float]]:
    """Return what moving the index (`INDEX`), the table or both leaves of a cold count's time: column -> state -> share; empty without
    enough clean repeats.
    """
    times = run.query(
        "select state, hdd_hdd_s, hdd_ssd_s, ssd_hdd_s, ssd_ssd_s from index_placement "
        "where variant = 'published' and pair = ? and cache = 'cold' and not flagged and io_mode = ?",
        [pair, main_io_mode(run, pair)],
    ).drop_nulls()
    times = estimable(times, ["state"])
    left = {}
    for column in (INDEX, TABLE, BOTH) if times.height else ():
        groups = times.group_by("state", maintain_order=True)
        estimates = {str(state): geometric_estimate((group[column] / group["hdd_hdd_s"]).to_list()).value for (state,), group in groups}
        left[column] = {state: share for state, share in estimates.items() if share is not None}
    return left


def _answer(run: Run, pair: str) -> str:
    left = shares(run, pair)
    if not left:
        return ""
    told = {column: percents(found.values()) for column, found in left.items()}
    return (
        f"From a cold cache, with the table on HDD, moving only the **index** to the SSD leaves {told[INDEX]} of the time. "
        f"Moving only the **table** leaves {told[TABLE]}, moving **both** {told[BOTH]}. "
        f"(Range over {listed(name for state, name in CASES.items() if state in left[INDEX])}; "
        f"{run.evidence(pair)} tiers, {IO_MODES[main_io_mode(run, pair)]}{left_out(run, pair, cache='cold')}.)"
    )


def hunt(run: Run, pair: str) -> Sentence:
    """Return the variants in which the published saving is there."""
    (claim,) = (claim for claim in run.verdicts if claim.id == SAVING)
    limit = claim.bounds[1] if claim.bounds else None
    others = [one for one in variants(claim) if one.variant != PUBLISHED and one.io_mode == main_io_mode(run, pair)]
    if limit is None or not others:
        return Sentence("")
    found = listed(f"*{label(one)}* ({differs(one)})" for one in others if saves(one, limit) is Truth.TRUE)
    unknown = sum(saves(one, limit) is Truth.UNKNOWN for one in others)
    if unknown == len(others):
        ways = "the other way" if unknown == 1 else f"the {count(unknown)} other ways"
        return Sentence(f"Whether the published saving is there in {ways} to run the test, this run cannot tell.")
    return Sentence(
        f"Of {count(len(others))} other ways to run the test, which change one thing each, the published saving of at least "
        f"{100 * (1 - limit):g}{NBSP}% is there in {found or 'none'}{f'; for {count(unknown)} this run cannot tell' if unknown else ''}. "
        "@sec-conditions says why, and what to do today."
    )
