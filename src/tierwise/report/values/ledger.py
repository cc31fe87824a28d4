"""The rows of the ledger: every statement with its cases, what it rests on, other variants, and how the rules changed."""

from collections.abc import Iterator

import polars as pl

from tierwise.analysis.claims import load_claims
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.rules import NOT_ASYNCHRONOUS, Verdict, one_sided
from tierwise.analysis.verdicts import changes_of, marks_of
from tierwise.core.rule_history import load_rules
from tierwise.core.vocabulary import Evidence
from tierwise.report.formats import DASH, count, number, tied
from tierwise.report.run import Run
from tierwise.report.words import bounds, case_name, estimated, marked, quoted, tested, variants, way_of


def cases(run: Run) -> pl.DataFrame:
    """Return every statement with its quotation, and its cases where there are several."""
    found: list[dict[str, str]] = []
    for now in run.verdicts:
        of = {"claim": now.id, "evidence": str(now.evidence or Evidence.PUBLISHED)}
        one, several = (now.cases[0] if len(now.cases) == 1 else None), now.cases if len(now.cases) > 1 else ()
        counted = {"replicates": count(one.pairs) if one else "", "p": tested(one) if one else ""}
        verdict = "; ".join([f"**{now.verdict.mark}**", *_otherwise(now)])
        found.append({**of, "said": quoted(now), "found": "" if several else estimated(one or now), **counted, "verdict": verdict})
        for case in several:
            counted = {"replicates": count(case.pairs), "p": tested(case)}
            found.append({**of, "said": case_name(case.case), "found": estimated(case), **counted, "verdict": marked(case.verdict)})
    return pl.DataFrame(found)


def _otherwise(now: ClaimVerdict) -> Iterator[str]:
    """Yield what a verdict was found under, and what could change it."""
    if now.unjudged:
        yield tied(now.unjudged)
        return
    yield from map(tied, now.conditions)
    if now.certain:
        yield tied(f"certain before the run: {now.certain}")
    if now.fitted:
        yield tied(f"fit: {now.fitted.parameter}, to {now.fitted.on}; left open: {now.fitted.left}")


def choices(run: Run) -> pl.DataFrame:
    """Return what is one-sided or assumed in a judged statement, and whether its rule is newer than the run or followed results."""
    found = []
    for claim, now in zip(load_claims().claims, run.verdicts, strict=True):
        if now.verdict is Verdict.REPORTED:
            continue
        assumed = {"bounds": claim.bounds_how == "assumed", "fitted": claim.fitted is not None}
        row = {
            "claim": now.id,
            "verdict": now.verdict.mark,
            "bounds": bounds(now),
            "one_sided": one_sided(claim),
            "assumed": [name for name, there in assumed.items() if there],
            "after": sorted({f"{change.day:%d %b}" for change in changes_of(claim) if change.seen}),
            "newer": marks_of(claim, run.manifest)["rule_newer"],
            "evidence": str(now.evidence or Evidence.PUBLISHED),
        }
        found.append(row)
    return pl.DataFrame(found)


def ways(run: Run) -> pl.DataFrame:
    """Return what other variants and I/O modes say of the statements that have several."""
    several = [(claim, shown) for claim in run.verdicts if len(shown := variants(claim)) > 1]
    found = [_way(claim, one) for claim, shown in several for one in shown]
    schema = {**dict.fromkeys(("claim", "way", "found", "requests", "verdict", "evidence"), pl.String), "decides": pl.Boolean}
    return pl.DataFrame(found, schema=schema)


def _way(claim: ClaimVerdict, one: ClaimVerdict) -> dict[str, object]:
    at_once = [case.outstanding for case in one.cases if case.outstanding is not None]
    least, most = (number(of(at_once)) if at_once else DASH for of in (min, max))
    return {
        "claim": claim.id,
        "way": way_of(one),
        "decides": one is claim,
        "found": "; ".join(f"{case_name(case.case)} {estimated(case)}" for case in one.cases),
        "requests": ", ".join([least if least == most else f"{least} to {most}", *({NOT_ASYNCHRONOUS} & set(one.conditions))]),
        "verdict": marked(one.verdict),
        "evidence": str(one.evidence) if one.evidence else None,
    }


def rule_changes(_run: Run) -> pl.DataFrame:
    return pl.DataFrame([change.model_dump(mode="json") for change in load_rules().changes])
