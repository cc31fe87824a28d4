"""The numbers of the pages on verdicts and of the paper, and the rows of their exhibits."""

from collections import Counter
from typing import Final

import polars as pl

from tierwise.analysis.causes import Cause, phrase
from tierwise.analysis.claims import load_claims
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.rules import CLEARLY_ABOVE_ONE, DECIDED, Verdict, one_sided
from tierwise.analysis.statistics import MINIMUM_REPEATS
from tierwise.core.rule_history import load_rules
from tierwise.core.vocabulary import Evidence
from tierwise.report.run import Run
from tierwise.report.text_template import Value
from tierwise.report.values.provenance import clocks, number_of_parameters, parameters
from tierwise.report.values.workloads import title
from tierwise.report.words import bounds, case_name, estimated, found, marked, short_conditions, spelled

IS_DECIDED: Final = pl.col("verdict").is_in([verdict.mark for verdict in DECIDED])
NEAR: Final = CLEARLY_ABOVE_ONE.apart
"""The most by which a virtual rate should differ from the real one, either way: what an order of two times rests on."""


def values(run: Run, pair: str = "") -> dict[str, Value]:  # noqa: ARG001  of all pairs
    words = Counter(claim.verdict for claim in run.verdicts)
    decided = [claim for claim in run.verdicts if claim.verdict in DECIDED]
    known = load_claims().claims
    return {
        "statements": len(run.verdicts),
        "decided": len(decided),
        "confirmed": words[Verdict.CONFIRMED],
        "contradicted": words[Verdict.CONTRADICTED],
        "undecided": words[Verdict.UNDECIDED],
        "reported": words[Verdict.REPORTED],
        "missing": words[Verdict.NOT_MEASURED],
        "models": sum(claim.evidence is Evidence.SIMULATED for claim in decided),
        "certain": ", ".join(claim.id for claim in decided if claim.certain),
        "modelled": sum(_has_model(claim) for claim in decided),
        "turned": sum(claim.cause is Cause.MODEL for claim in run.verdicts),
        "alone": sum(phrase("conditions.replicates_alone") in claim.conditions for claim in decided),
        "fitted": sum(claim.fitted is not None for claim in run.verdicts),
        "newer": sum(claim.rule_newer for claim in decided),
        "after_results": sum(claim.rule_after_results for claim in decided),
        "one_sided": sum(one_sided(claim) for claim in known),
        "rules": load_rules().version.version,
        "rules_day": load_rules().version.day,
        "minimum": MINIMUM_REPEATS,
        "runs": len(run.manifest.merged) or 1,
        "smoke": run.manifest.profile.get("name") == "smoke",
        "todays": bool(run.manifest.todays_pairs),
        **number_of_parameters(parameters(run)),
        **_far_clocks(run),
    }


def _far_clocks(run: Run) -> dict[str, Value]:
    """Return how far the rates in virtual time are from those in real time."""
    rates = clocks(run).filter(pl.col("what") == "rate", pl.col("flags").list.len() == 0)["ratio"]
    far = rates.filter((rates > NEAR) | (rates < 1 / NEAR))
    ends = {"clock_least": min(rates, default=None), "clock_most": max(rates, default=None)}
    return {"clock_rates": len(rates), "clock_far": len(far), "clock_near": NEAR - 1, **ends}


def _has_model(claim: ClaimVerdict) -> bool:
    known = [case.model_low for case in claim.cases if case.low is not None]
    return bool(known) and None not in known


def number_of_sources(_rows: pl.DataFrame) -> dict[str, object]:
    return {"sources": len({claim.source for claim in load_claims().claims})}


def judged(run: Run, source: str = "") -> pl.DataFrame:
    """Return a row a statement, or one of `source` (a letter), with its position in the source, what was found, and its verdict."""
    sources, places = load_claims().sources, Counter[str]()
    rows = []
    for claim in run.verdicts:
        places[claim.source] += 1
        nearest = [(title(one.pair), one.nearest) for one in claim.today if one.cases]
        decider = next((case for case in claim.cases if case.case == claim.deciding_case), None)
        row = {
            "source": sources[claim.source].name.removeprefix("the "),
            "position": places[claim.source],
            "claim": claim.id,
            "statement": claim.statement,
            "bounds": bounds(claim),
            "case": case_name(decider.case) if decider and len(claim.cases) > 1 else "",
            "deciding": estimated(decider or claim),
            "found": found(claim),
            "evidence": str(claim.evidence or ""),
            "verdict": claim.verdict.mark,
            "reason": spelled(str(claim.cause or "")),
            "conditions": "; ".join(short_conditions(claim)),
            "today": "; ".join(f"{pair}: {case.still}, {estimated(case)}" for pair, case in nearest),
            "here": f"{marked(claim.here)} {estimated(claim.here)}" if claim.here else "",
        }
        rows.append(row)
    return pl.DataFrame([row for row in rows if str(row["claim"]).startswith(source)])


def decided(run: Run) -> pl.DataFrame:
    return judged(run).filter(IS_DECIDED)


def left_open(run: Run) -> pl.DataFrame:
    return judged(run).filter(~IS_DECIDED)


def by_reason(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each reason why statements are not decided, with these statements; the most frequent reason first."""
    groups = rows.group_by("verdict", "reason", maintain_order=True).agg("claim", statements=pl.len())
    return groups.sort("verdict", "statements", descending=True, maintain_order=True)
