"""Chapter 1: the answer and the claims, each from the rows."""

from collections import Counter
from functools import partial
from typing import Final

from tierwise.analysis.judging import Judgement
from tierwise.analysis.rules import Verdict
from tierwise.analysis.statistics import estimable, geometric_estimate
from tierwise.analysis.verdicts import DECIDED, ClaimVerdict, outcome_of
from tierwise.core.words import Substrate
from tierwise.report.arms import PUBLISHED, Truth, arms
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, NBSP, count, listed, percents, tied
from tierwise.report.instead import answered, told_rejected
from tierwise.report.run import Run
from tierwise.report.words import ARMS, STATES, bounds, estimated, marked, pairs, state_name
from tierwise.studies.index_placement.reading.figures import left_out, main_arm

STUDY: Final = "index_placement"
SAVING: Final = "M1"
"""The claim that the index on SSD saves most of a cold count's time."""


def answer(run: Run, pair: str) -> Sentence:
    """What moving the index, the table or both does to a cold count; where too few pairs are clean, why, and the reference's answer."""
    return answered(run, STUDY, pair, partial(_answer, pair=pair))


def _answer(run: Run, pair: str) -> str:
    times = run.query(
        "select state, hdd_hdd_s, hdd_ssd_s, ssd_hdd_s, ssd_ssd_s from index_placement "
        "where variant = 'published' and pair = ? and cache = 'cold' and not flagged and arm = ?",
        [pair, main_arm(run, pair)],
    ).drop_nulls()
    times = estimable(times, ["state"])
    if times.is_empty():
        return ""
    shares = {}
    for column in ("hdd_ssd_s", "ssd_hdd_s", "ssd_ssd_s"):
        groups = times.group_by("state", maintain_order=True)
        estimates = [geometric_estimate((group[column] / group["hdd_hdd_s"]).to_list()).value for _, group in groups]
        shares[column] = percents([share for share in estimates if share is not None])
    return (
        f"From a cold cache, with the table on HDD, moving only the **index** to the SSD leaves {shares['hdd_ssd_s']} of the time. "
        f"Moving only the **table** leaves {shares['ssd_hdd_s']}, moving **both** {shares['ssd_ssd_s']}. "
        f"(Range over {listed(name for state, name in STATES.items() if state in set(times['state']))}; "
        f"{run.substrate(pair)} tiers, {ARMS[main_arm(run, pair)]}{left_out(run, pair, cache='cold')}.)"
    )


def hunt(run: Run, pair: str) -> Sentence:
    """The arms in which the published saving is there."""
    (claim,) = (claim for claim in run.verdicts if claim.id == SAVING)
    limit = claim.bounds[1] if claim.bounds else None
    others = [arm for arm in arms(claim) if arm.variant != PUBLISHED and arm.io == main_arm(run, pair)]
    if limit is None or not others:
        return Sentence("")
    found = listed(f"*{arm.label}* ({arm.differs})" for arm in others if arm.saves(limit) is Truth.TRUE)
    unknown = sum(arm.saves(limit) is Truth.UNKNOWN for arm in others)
    if unknown == len(others):
        ways = "the other way" if unknown == 1 else f"the {count(unknown)} other ways"
        return Sentence(f"Whether the published saving is there in {ways} to run the test, this run cannot tell.")
    return Sentence(
        f"Of {count(len(others))} other ways to run the test, which change one thing each, the published saving of at least "
        f"{100 * (1 - limit):g}{NBSP}% is there in {found or 'none'}{f'; for {count(unknown)} this run cannot tell' if unknown else ''}. "
        "@sec-conditions says why, and what to do today."
    )


def confirming(claim: Judgement) -> str:
    """The other arms that confirm `claim`."""
    return ", ".join(arm.label for arm in arms(claim) if arm.variant != PUBLISHED and arm.verdict == Verdict.CONFIRMED) or DASH


def tally(run: Run) -> Sentence:
    """How many claims hold, in a sentence; a smoke run is called one."""
    words = Counter(map(outcome_of, run.verdicts))
    counted = (f"{count(words[word])} {'is' if words[word] == 1 else 'are'} {word.split(':')[0]}" for word in Verdict if words[word])
    simulated = Counter(outcome_of(claim) for claim in run.verdicts if claim.substrate is Substrate.SIMULATED)
    alone = [f"{count(simulated[word])} of the {count(words[word])} {word}" for word in DECIDED if simulated[word]]
    models = f" On simulated rows alone rest {listed(alone)}." if alone else ""
    told = f"Of {count(len(run.verdicts))} published statements, {listed(counted)}.{models} {told_rejected(run)}"
    if run.manifest.profile.get("name") != "smoke":
        return Sentence(told)
    warning = "This run used the profile `smoke`: it shows that every part works, on a small share of the rows. Its verdicts are no answer."
    return Sentence(f"{told}\n\n::: {{.callout-warning}}\n{warning}\n:::")


def claims(run: Run) -> Table:
    """Every claim with its bounds, what was found, and the verdict; one more column for the reader's own pair."""
    reader = run.manifest.reader_pair
    header = ["Claim", "Published statement", "Bounds", "Found (95 % interval)", "Substrate", "Verdict"]
    rows = [_claim_row(claim) for claim in run.verdicts]
    elsewhere = [confirming(claim) for claim in run.verdicts]
    if any(arms != DASH for arms in elsewhere):
        header.append("Arms that confirm it")
        rows = [[*row, arms] for row, arms in zip(rows, elsewhere, strict=True)]
    if reader:
        header.append("And here?")
        rows = [[*row, _here(claim.here) if claim.here else DASH] for row, claim in zip(rows, run.verdicts, strict=True)]
    return Table(
        header,
        rows,
        "Published statements and what this run says of them. Found: the ratio of the state on which the verdict hangs, from n blocks. "
        "Arms differ from the published protocol in one thing (@sec-arms). "
        f"A star marks bounds that the text does not give itself. {run.stamp}"
        + (f"; the last column is the pair `{reader}`." if reader else ".")
        + " Input: `data/published/claims.toml`.",
    )


def _claim_row(claim: ClaimVerdict) -> list[str]:
    where = f", {state_name(claim.deciding_state)}" if claim.deciding_state and claim.estimate is not None else ""
    blocks = f", n{NBSP}={NBSP}{pairs(claim)}" if pairs(claim) != DASH else ""
    return [
        claim.id,
        tied(claim.statement),
        bounds(claim),
        estimated(claim) + where + blocks,
        f"**{claim.substrate}**" if claim.substrate else DASH,
        marked(claim.verdict),
    ]


def _here(judgement: Judgement) -> str:
    verdict = marked(judgement.verdict)
    return verdict if judgement.estimate is None else f"{estimated(judgement)}; {verdict}"
