"""Chapter on what would change the verdicts: for each claim its quotation, bounds, estimate, fits, and what agrees with it."""

from math import exp
from typing import Final

import polars as pl

from tierwise.analysis.between_runs import load_between
from tierwise.analysis.claims import load_claims
from tierwise.analysis.earlier_rules import verdict_before
from tierwise.analysis.judging import ClaimVerdict, decides
from tierwise.analysis.moved_bounds import BY_INTERVAL
from tierwise.analysis.rules import NOT_ASYNCHRONOUS, Verdict
from tierwise.analysis.statistics import scope_of
from tierwise.analysis.verdicts import DECIDED
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, NBSP, count, listed, number, tied
from tierwise.report.reference import open_reference
from tierwise.report.run import Run
from tierwise.report.variants import PUBLISHED, variants
from tierwise.report.words import bounded, case_name, estimated, flipped, marked, quoted, stamped, tested, way_of

ONE_RUN: Final = "one run"
"""What stands for the spread between runs where no other run tells it."""
INPUT: Final = "Input: `data/published/claims.toml`."
TYPES: Final = {
    **dict.fromkeys(("estimate", "low", "high"), pl.Float64),
    **dict.fromkeys(("between_runs", "fitted", "fitted_on", "left", "unjudged"), pl.String),
    "flips": pl.Boolean,
}
"""Types of columns that need not have a value in any row."""


def frame(run: Run) -> pl.DataFrame:
    """Return a row a claim: its quotation, bounds, what was found within the run and between runs, what was fitted, what agrees."""
    there = _of_reference(run)
    rows = [_row(run, claim, there.get(claim.id)) for claim in run.verdicts]
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides=TYPES)  # of a run that decides nothing, a column is empty


def _between(claim: ClaimVerdict) -> str:
    """How far runs lie apart: the greatest geometric standard deviation of a case between the runs of the table that ships."""
    known = load_between()
    spread = max(known.spreads.get(claim.id, {}).values(), default=None)
    return ONE_RUN if spread is None else f"between {count(len(known.runs))} runs of `{known.profile}` {number(exp(spread))}-fold"


def answer(run: Run, ledger: pl.DataFrame, rows: pl.DataFrame) -> Sentence:
    """Return how many verdicts hang on bounds that are ours, how many rest on a fit, and on how many runs and rows all of them do."""
    moved, fitted = ledger.filter(pl.col("flips").is_not_null()), ledger.filter(pl.col("fitted").is_not_null())
    flips = moved.filter(pl.col("flips"))["claim"].to_list()
    hang = f"{listed(flips)} {'flips' if len(flips) == 1 else 'flip'}" if flips else "none flips"
    decided = fitted.filter(pl.col("verdict").is_in([verdict.mark for verdict in DECIDED]))["claim"].to_list()
    rest = f", and of these {listed(decided)} {'is' if len(decided) == 1 else 'are'} decided all the same" if decided else ""
    runs = len(run.manifest.merged) or 1
    clean, observed = (int(rows[column].sum()) for column in ("clean", "observed"))
    return Sentence(
        f"Of {count(len(ledger))} statements {count(len(moved))} have an interval and bounds that are ours: moved by half, {hang}. "
        f"{count(len(fitted))} rest on something that was fitted{rest}. All verdicts speak of {scope_of(runs)}, from {count(clean)} clean "
        f"of {count(observed)} observations; how far whole runs lie apart stands beside each interval, where three runs of "
        f"`{load_between().profile}` told it. {run.stamp}."
    )


def judged(run: Run, ledger: pl.DataFrame) -> Table:
    """Tabulate the claims that are judged: quotation and bounds, what was found, the verdict with its flip, and what agrees."""
    several = {claim.id: len(claim.cases) for claim in run.verdicts if len(claim.cases) > 1}
    rows = [
        [
            row["claim"],
            row["quotation"] + row["bounded"],
            "; ".join(filter(None, [_of_cases(several.get(row["claim"])) or row["found"], row["between_runs"]])),
            "; ".join(part for part in [row["flip"], row["agreeing"]] if part != DASH),
        ]
        for row in ledger.filter(pl.col("unjudged").is_null()).rows(named=True)
    ]
    return Table(
        ["Claim", "Quotation and bounds", "Found (95 % within the run; between runs)", "Verdict, by moved bounds; what agrees"],
        rows,
        "Statements that are judged, and what would change the verdict. A star marks bounds that the text does not give itself. "
        "Quotations and bounds are **published**; each number that was found is followed by its evidence, here or in @tbl-claims. "
        f"{run.stamp}, n = {count(len(rows))} claims. {INPUT}",
    )


def _of_cases(number: int | None) -> str:
    return f"{count(number)} cases, see @tbl-ledger-cases" if number else ""


def cases(run: Run) -> Table | Sentence:
    """Tabulate every case of the claims that have several, with the p-values by which one of them contradicts."""
    several = [claim for claim in run.verdicts if len(claim.cases) > 1]
    rows = [
        [
            claim.id,
            case_name(case.case),
            f"{estimated(case)}, n{NBSP}={NBSP}{count(case.pairs)}" if case.pairs else estimated(case),
            tested(case),
            marked(case.verdict),
        ]
        for claim in several
        for case in claim.cases
    ]
    if not rows:
        return Sentence("No statement of several cases was measured.")
    stamps = sorted({str(claim.evidence) for claim in several if claim.evidence})
    return Table(
        ["Claim", "Case", "Found (95 % interval)", "p; after Holm", "Verdict"],
        rows,
        f"Every case of the statements that speak of several (**{'**, **'.join(stamps)}**), n repeats each. Intervals are of the case "
        "alone. p: of the true value being the bound that the estimate lies beyond, 1 inside the bounds; after Holm, corrected for all "
        "cases of the statement, by which one contradicts it. A band of prices has none. "
        f"{run.stamp}, n = {count(len(rows))} cases. {INPUT}",
        align="lllrl",
    )


def ways(run: Run) -> Table | Sentence:
    """Tabulate what the ways of I/O, and what decides, say of the claims that have several of them."""
    known, rows, evidence_kinds = load_claims(), [], set()
    for published, claim in zip(known.claims, run.verdicts, strict=True):
        decider = known.deciding[published.cases[0].study] if published.cases else None
        shown = [one for one in variants(claim) if one.variant == PUBLISHED or (decider and decides(one, decider))]
        for one in shown if len(shown) > 1 else []:
            marks = ["decides"] * (one is claim)
            at_once = [case.outstanding for case in one.cases if case.outstanding is not None]
            label = way_of(one) + (f" ({', '.join(marks)})" if marks else "")
            found = "; ".join(f"{case_name(case.case)} {estimated(case)}" for case in one.cases)
            least, most = (number(of(at_once)) if at_once else DASH for of in (min, max))
            requests = ", ".join([least if least == most else f"{least} to {most}", *({NOT_ASYNCHRONOUS} & set(one.conditions))])
            evidence_kinds.add(f"**{one.cases[0].evidence}**")
            rows.append([claim.id, label, f"{found}, **{one.cases[0].evidence}**", requests, marked(one.verdict)])
    if not rows:
        return Sentence("This run has one way of I/O alone.")
    why = "; ".join(f"{study}: {way_of(decider)}, {decider.why}" for study, decider in known.deciding.items() if decider.io_mode)
    return Table(
        ["Claim", "Variant, way of I/O", "Found (95 % interval)", "Requests at once", "Verdict"],
        rows,
        "Statements that several ways of I/O speak of. One decides; what another says is shown. Requests at once: how many "
        "the devices had on average while they had any, from the case with least to that with most, where it is recorded. "
        f"Deciding: {why}. {run.stamp}, {listed(sorted(evidence_kinds))}, n = {count(len(rows))} verdicts. {INPUT}",
        align="lllrl",
    )


def changed(run: Run) -> Table:
    """Tabulate the statements whose rule was changed, or that the rules of before would give another verdict, with both verdicts."""
    rows = []
    for claim, told in zip(load_claims().claims, run.verdicts, strict=True):
        then = verdict_before(run.connection, claim, told)
        if claim.before or (then is not None and then is not told.verdict and told.verdict in BY_INTERVAL):
            rule = claim.before.rule if claim.before else "each interval alone, whatever its width; direct and buffered I/O agree"
            rows.append([claim.id, rule, marked(then) if then else DASH, marked(told.verdict)])
    return Table(
        ["Claim", "Rule before", "Verdict under it", "Verdict now"],
        rows,
        "Statements whose rule was changed after results had been seen, and those that the rules of before (no correction for the number "
        "of cases, intervals of no width, ways of I/O that had to agree) would give another verdict, judged by either on the rows of this "
        "run, whose kinds of evidence "
        f"@tbl-ledger tells: {listed(sorted({f'**{one.evidence}**' for one in run.verdicts if one.evidence})) or 'nothing measured'}. "
        f"{run.stamp}, n = {count(len(rows))} claims. {INPUT}",
    )


def fits(run: Run, ledger: pl.DataFrame) -> Table | Sentence:
    """Tabulate the claims that rest on a fit, with what is left to be wrong."""
    shown = ledger.filter(pl.col("fitted").is_not_null())
    if shown.is_empty():
        return Sentence("No statement rests on anything that was fitted.")
    rows = [[row["claim"], row["fitted"], row["fitted_on"], row["left"]] for row in shown.rows(named=True)]
    caption = f"Statements that rest on a fit (**simulated**), n = {count(len(rows))}. {run.stamp}. {INPUT}"
    return Table(["Claim", "Fitted", "On", "Left to be wrong"], rows, caption)


def reported(run: Run, ledger: pl.DataFrame) -> Table:
    shown = ledger.filter(pl.col("unjudged").is_not_null())
    rows = [[row["claim"], row["quotation"], row["unjudged"]] for row in shown.rows(named=True)]
    caption = f"Statements that are reported (**published**) and not judged, n = {count(len(rows))}. {run.stamp}. {INPUT}"
    return Table(["Claim", "Quotation", "Why it is not judged"], rows, caption)


def _row(run: Run, claim: ClaimVerdict, there: Verdict | None) -> dict[str, object]:
    fitted = claim.fitted
    return {
        "claim": claim.id,
        "quotation": quoted(claim),
        "bounded": bounded(claim),
        "found": stamped(claim),
        "estimate": claim.estimate,
        "low": claim.low,
        "high": claim.high,
        "between_runs": _between(claim) if claim.estimate is not None else None,
        "fitted": tied(fitted.parameter) if fitted else None,
        "fitted_on": tied(fitted.on) if fitted else None,
        "left": tied(fitted.left) if fitted else None,
        "agreeing": "; ".join(filter(None, [_ways(claim), _variants(claim), _scales(run, claim, there)])) or DASH,
        "verdict": claim.verdict.mark,
        "flips": claim.flip.flips if claim.flip else None,
        "flip": f"**{claim.verdict.mark}**" + (f"; {flipped(claim)}" if claim.flip else ""),
        "unjudged": tied(claim.unjudged) if claim.unjudged else None,
    }


def _ways(claim: ClaimVerdict) -> str:
    if claim.io_mode is None:
        return ""
    others = [one for one in variants(claim) if one.variant == PUBLISHED and one is not claim]
    if not others:
        return f"{way_of(claim)} alone"
    agree = [f"{way_of(one)} {'agrees' if one.verdict is claim.verdict else f'disagrees: {one.verdict.mark}'}" for one in others]
    return "; ".join([f"{way_of(claim)} decides", *agree])


def _variants(claim: ClaimVerdict) -> str:
    others = [one.verdict for one in variants(claim) if one.variant != PUBLISHED and one.verdict in DECIDED]
    return (
        f"{count(sum(verdict is claim.verdict for verdict in others))} of {count(len(others))} decided variants say the same"
        if others
        else ""
    )


def _scales(run: Run, claim: ClaimVerdict, there: Verdict | None) -> str:
    here = str(run.manifest.profile.get("name"))
    if claim.verdict is Verdict.NOT_MEASURED:
        return ""
    if there is None or there is Verdict.NOT_MEASURED:
        return f"`{here}` alone"
    return f"`{here}` and the reference run {'agree' if there is claim.verdict else f'differ: {there.mark} there'}"


def _of_reference(run: Run) -> dict[str, Verdict]:
    reference = None if run.is_reference else open_reference()
    if reference is None or reference.manifest.profile.get("fraction") == run.manifest.profile.get("fraction"):
        return {}
    return {claim.id: claim.verdict for claim in reference.verdicts}
