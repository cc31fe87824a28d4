"""Chapter 1: how many claims hold, and all of them, each from the rows."""

from collections import Counter

from tierwise.analysis.judging import Judgement
from tierwise.analysis.rules import Verdict
from tierwise.analysis.verdicts import DECIDED, ClaimVerdict
from tierwise.core.words import Substrate
from tierwise.report.arms import PUBLISHED, arms
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, NBSP, count, listed, tied
from tierwise.report.instead import told_rejected
from tierwise.report.run import Run
from tierwise.report.words import bounds, case_name, estimated, flipped, marked, quoted, repeats


def confirming(claim: Judgement) -> str:
    """Return the other arms that confirm `claim`."""
    return ", ".join(arm.label for arm in arms(claim) if arm.variant != PUBLISHED and arm.verdict is Verdict.CONFIRMED) or DASH


def tally(run: Run) -> Sentence:
    """Return how many claims hold, in a sentence; a smoke run is called one."""
    words = Counter(claim.verdict for claim in run.verdicts)
    counted = (f"{count(words[word])} {'is' if words[word] == 1 else 'are'} {word.mark}" for word in Verdict if words[word])
    simulated = Counter(claim.verdict for claim in run.verdicts if claim.substrate is Substrate.SIMULATED)
    alone = [f"{count(simulated[word])} of the {count(words[word])} {word}" for word in DECIDED if simulated[word]]
    models = f" Of these, {listed(alone)} rest on simulated rows alone." if alone else ""
    told = f"Of {count(len(run.verdicts))} published statements, {listed(counted)}.{models} {told_rejected(run)}"
    if run.manifest.profile.get("name") != "smoke":
        return Sentence(told)
    warning = "This run used the profile `smoke`: it shows that every part works, on a small share of the rows. Its verdicts are no answer."
    return Sentence(f"{told}\n\n::: {{.callout-warning}}\n{warning}\n:::")


def claims(run: Run) -> Table:
    """Return every claim with its bounds, what was found, and the verdict; one more column for the reader's own pair."""
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
        "Published statements, each with its quotation, and what this run says of them. "
        "Found: the ratio of the case on which the verdict hangs, from n blocks. "
        "Arms differ from the published protocol in one thing (@sec-arms). "
        "A star marks bounds that the text does not give itself; beside the verdict stands whether it flips when they move (@sec-bounds). "
        f"{run.stamp}" + (f"; the last column is the pair `{reader}`." if reader else ".") + " Input: `data/published/claims.toml`.",
    )


def _claim_row(claim: ClaimVerdict) -> list[str]:
    where = f", {case_name(claim.deciding_case)}" if claim.deciding_case and claim.estimate is not None else ""
    blocks = f", n{NBSP}={NBSP}{repeats(claim)}" if repeats(claim) != DASH else ""
    return [
        claim.id,
        f"{tied(claim.statement)} {quoted(claim)}",
        bounds(claim),
        estimated(claim) + where + blocks,
        f"**{claim.substrate}**" if claim.substrate else DASH,
        marked(claim) + (f"; {flipped(claim)}" if claim.flip else ""),
    ]


def _here(judgement: Judgement) -> str:
    verdict = marked(judgement)
    return verdict if judgement.estimate is None else f"{estimated(judgement)}; {verdict}"
