"""Chapter 1: how many claims hold, and all of them, each from the rows."""

from collections import Counter

from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.rules import Verdict
from tierwise.analysis.statistics import Scope, scope_of
from tierwise.analysis.verdicts import DECIDED
from tierwise.core.vocabulary import Evidence
from tierwise.report.chapters import today
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, count, listed, tied
from tierwise.report.no_answer import told_rejected
from tierwise.report.run import Run
from tierwise.report.variants import PUBLISHED, label, variants
from tierwise.report.words import bounded, flipped, found, marked, stamped


def confirming(claim: ClaimVerdict) -> str:
    """Return the other variants that confirm `claim`, as the end of its verdict; empty where none does."""
    names = [label(one) for one in variants(claim) if one.variant != PUBLISHED and one.verdict is Verdict.CONFIRMED]
    return f"confirmed by {'the variant' if len(names) == 1 else 'the variants'} *{', '.join(names)}*" if names else ""


def tally(run: Run) -> Sentence:
    """Return how many claims hold, in a sentence; a smoke run is called one."""
    words = Counter(claim.verdict for claim in run.verdicts)
    counted = (f"{count(words[word])} {'is' if words[word] == 1 else 'are'} {word.mark}" for word in Verdict if words[word])
    simulated = Counter(claim.verdict for claim in run.verdicts if claim.evidence is Evidence.SIMULATED)
    alone = [f"{count(simulated[word])} of the {count(words[word])} {word}" for word in DECIDED if simulated[word]]
    models = f" Of these, {listed(alone)} rest on simulated rows alone." if alone else ""
    told = f"Of {count(len(run.verdicts))} published statements, {listed(counted)}.{models} {told_rejected(run)} {speaking_of(run)}"
    if run.manifest.profile.get("name") != "smoke":
        return Sentence(told)
    warning = "This run used the profile `smoke`: it shows that every part works, on a small share of the rows. Its verdicts are no answer."
    return Sentence(f"{told}\n\n::: {{.callout-warning}}\n{warning}\n:::")


def speaking_of(run: Run) -> str:
    """Return what the verdicts of `run` speak of: itself, the runs that it was made of, or runs in general."""
    scope = scope_of(len(run.manifest.merged) or 1)
    more = "; `tierwise merge` puts runs together" if scope is not Scope.RUNS else f", of which {count(len(run.manifest.merged))} are here"
    return f"The verdicts speak of {scope} (@sec-statistics){more}."


def claims(run: Run) -> Table:
    """Return every claim with its bounds, what was found, and the verdict; a column more for the pair of today, for the reader's own."""
    reader, todays = run.manifest.reader_pair, today.now(run)
    header = ["Claim", "Published statement", "Found (95 % interval)", "Verdict"]
    rows = [_claim_row(claim) for claim in run.verdicts]
    if todays:
        header.append("Today")
        rows = [[*row, today.cell(todays, claim)] for row, claim in zip(rows, run.verdicts, strict=True)]
    if reader:
        header.append("And here?")
        rows = [[*row, _here(claim.here) if claim.here else DASH] for row, claim in zip(rows, run.verdicts, strict=True)]
    return Table(
        header,
        rows,
        "Published statements with their bounds, and what this run says of them; @tbl-ledger and @tbl-ledger-reported have the quotations. "
        "Found: every case that the statement speaks of, with its 95 % interval, from n replicates, and the evidence "
        f"({', '.join(sorted({f'**{one.evidence}**' for one in run.verdicts if one.evidence})) or 'nothing was measured'}). "
        "Variants differ from the published protocol in one thing (@sec-variants). "
        "A star marks bounds that the text does not give itself; beside the verdict stands whether it flips when they move (@sec-bounds). "
        + (f"{today.note(todays)} " if todays else "")
        + f"{run.stamp}"
        + (f"; the last column is the pair `{reader}`." if reader else ".")
        + " Input: `data/published/claims.toml`.",
    )


def _claim_row(claim: ClaimVerdict) -> list[str]:
    return [
        claim.id,
        f"{tied(claim.statement)}{bounded(claim)}",
        stamped(claim),
        "; ".join(filter(None, [marked(claim), flipped(claim) if claim.flip else "", confirming(claim)])),
    ]


def _here(judgement: ClaimVerdict) -> str:
    verdict = marked(judgement)
    return verdict if judgement.estimate is None else f"{found(judgement)}; {verdict}"
