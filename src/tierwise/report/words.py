"""Names and turns of phrase that several chapters share."""

import re
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from importlib.resources import files
from statistics import geometric_mean
from typing import Any, Final

from tierwise.analysis.claim_rows import PUBLISHED
from tierwise.analysis.claims import Deciding
from tierwise.analysis.intervals import without_width
from tierwise.analysis.judging import ClaimVerdict, named
from tierwise.analysis.rules import CaseVerdict, Verdict
from tierwise.analysis.today import CaseToday
from tierwise.analysis.verdicts import UNBOUNDED
from tierwise.core import studies
from tierwise.core.vocabulary import IoMode
from tierwise.report.formats import DASH, NBSP, count, escaped, interval, number, percent, tied, with_interval

IO_MODES: Final = {"direct": "direct I/O", "buffered": "buffered I/O", "asynchronous": "asynchronous I/O"}

WORDS: Final = "reading/words.toml"  # file of a study: its names for cases and for variants of its protocol


def _named(kind: str) -> dict[str, Any]:
    return {key: said for study in studies.having(WORDS) for key, said in tomllib.loads(studies.text(study, WORDS)).get(kind, {}).items()}


def names_in(study: str, kind: str) -> dict[str, str]:
    """Return the names of one `kind` in the study's file `WORDS`, in its order."""
    return dict(tomllib.loads(studies.text(study, WORDS))[kind])


CASES: Final[dict[str, str]] = _named("cases")  # case in the rows, as a state of the census -> its name
VARIANTS: Final[dict[str, tuple[str, str]]] = {variant: (name, differs) for variant, (name, differs) in _named("variants").items()}
"""Variant of a study's protocol -> its name, and what it differs in."""
CODE: Final = re.compile(rf"\b(?:{'|'.join(code for code in CASES if code.isupper())})\b(?:(?:->|/)[A-Z]{{2}}\b)*")
"""A case, or what is made of several, as the rows call it."""
CONDITIONS: Final[Mapping[str, str]] = tomllib.loads((files("tierwise.report") / "conditions.toml").read_text(encoding="utf-8"))
"""What a condition reads, as a regular expression -> how a table says it."""
AFTER: Final = re.compile(r"\b([A-Z]{2})->([A-Z]{2})\b")  # a count, after another has filled the cache
LEAST_P: Final = 0.0001  # the smallest p-value that is shown with its digits


def variant_label(variant: str, io_mode: IoMode | None = None) -> str:
    name = VARIANTS.get(variant, (variant, ""))[0]
    return name if io_mode in {None, IoMode.DIRECT} else f"{name}, {io_mode}"


def way_of(one: ClaimVerdict | Deciding) -> str:
    """Return the I/O mode of the published protocol in words (``buffered I/O``), and any other variant by its label."""
    return IO_MODES[one.io_mode or IoMode.DIRECT] if one.variant == PUBLISHED else variant_label(one.variant, one.io_mode)


def case_name(case: str) -> str:
    """Name a case as readers do: ``FL`` -> ``Florida``, ``FL->PR`` -> ``Puerto Rico after Florida``, ``FL->PR/PR`` -> the one over the
    other; other cases stay.
    """
    if "/" in case:
        return " over ".join(map(case_name, case.split("/")))
    after = AFTER.sub(lambda codes: f"{case_name(codes[2])} after {case_name(codes[1])}", case)
    return CASES.get(case, after.replace(", µs", " (µs)"))


def spelled(text: str) -> str:
    """Return ``count for FL`` -> ``count for Florida``: `text` with its cases as readers call them."""
    return CODE.sub(lambda found: case_name(found[0]), text)


def short_conditions(claim: ClaimVerdict) -> list[str]:
    """Return the conditions of a verdict in the few words that a table has space for, each once; other conditions stay."""
    short = []
    for condition in claim.conditions:
        found = next(
            (match.expand(words) for pattern, words in CONDITIONS.items() if (match := re.fullmatch(pattern, condition))), condition
        )
        short += [found] if found and found not in short else []
    return short


def marked(said: Verdict | ClaimVerdict) -> str:
    verdict, text = (said, str(said)) if isinstance(said, Verdict) else (said.verdict, said.verdict_text)
    return f"**{verdict.mark}**{spelled(text.removeprefix(verdict.mark))}"


def estimated(what: ClaimVerdict | CaseVerdict | CaseToday) -> str:
    """Return ``0.981 (0.979 to 0.983)`` or ``1.72 (no interval)``; the range where there is no more; else why nothing was estimated."""
    if what.estimate is None:
        if what.low is not None and what.high is not None:
            return interval(what.low, what.high)
        if what.flagged and not what.pairs:
            return f"none (all {count(what.flagged)} repeats rejected)"
        return f"none (clean repeats {count(what.pairs)}, rejected {count(what.flagged)})" if what.flagged or what.pairs else DASH
    if what.low is None or what.high is None:
        return {0.0: "no", 1.0: "yes"}.get(what.estimate, f"in {percent(what.estimate)} of the replicates")
    if not what.pairs and without_width(what.low, what.high):  # a single figure, without replicates
        return number(what.estimate)
    return with_interval(what.estimate, what.low, what.high)


def tested(case: CaseVerdict) -> str:
    """Return the p-values of a case: its own, and after Holm's correction where it is one of several; a dash where it has none."""
    if case.p_value is None or case.p_holm is None:
        return DASH
    own, holm = (f"{value:.2g}" if value >= LEAST_P else f"< {LEAST_P:g}" for value in (case.p_value, case.p_holm))
    return own if own == holm else f"{own}; {holm}"


def found(judgement: ClaimVerdict) -> str:
    """Return what was found in each case that is judged, none hidden by another, with its repeats; equal numbers stand once."""
    if not judgement.cases:
        return estimated(judgement)
    alike = len({case.pairs for case in judgement.cases}) == 1
    parts = [f"{case_name(case.case)} {estimated(case)}" + ("" if alike else _repeated(case.pairs)) for case in judgement.cases]
    return "; ".join(parts) + (_repeated(judgement.cases[0].pairs) if alike else "")


def _repeated(pairs: int) -> str:
    return f", n{NBSP}={NBSP}{count(pairs)}" if pairs else ""


def stamped(claim: ClaimVerdict) -> str:
    """Return what was found, and its evidence; a dash where nothing was."""
    text = found(claim)
    return text if text == DASH or claim.evidence is None else f"{text}, **{claim.evidence}**"


def bounds(claim: ClaimVerdict) -> str:
    named = re.sub(r"\b[A-Z]{2}\b|\b[a-z]+, (?:small|large)\b", lambda code: CASES.get(code[0], code[0]), claim.bounds_text)
    return named.replace("*", "\\*").replace(">", "\\>")


def bounded(claim: ClaimVerdict) -> str:
    """Return the published bounds as a note behind a statement; empty where it has none."""
    return "" if claim.bounds_text in {"", UNBOUNDED} else f" Bounds: {bounds(claim)}."


def quoted(claim: ClaimVerdict) -> str:
    """Return the text of the source between quotation marks, whatever Markdown would make of it."""
    return f"“{escaped(tied(claim.quotation))}”"


def unit_of(leaf: Mapping[str, Any]) -> str:
    return "µs" if leaf.get("unit") == "us" else str(leaf.get("unit", ""))


__all__ = ["PUBLISHED", "Truth", "saves", "variants"]


class Truth(StrEnum):
    TRUE = "it is true"
    FALSE = "it is not true"
    UNKNOWN = "this run cannot tell"


def variants(claim: ClaimVerdict) -> list[ClaimVerdict]:
    """Return the verdict that decides and every other one with at least one case, from the one with the smallest values on."""
    every = [claim, *claim.others] if claim.cases else claim.others
    return sorted(every, key=lambda one: (_middle(one), named(one)))


def saves(one: ClaimVerdict, limit: float) -> Truth:
    """Return whether at most `limit` of the time is left: true by the whole interval of every case, false by one case."""
    if any(case.low is not None and case.low > limit for case in one.cases):
        return Truth.FALSE
    return Truth.TRUE if all(case.high is not None and case.high <= limit for case in one.cases) else Truth.UNKNOWN


def _middle(one: ClaimVerdict) -> float:
    values = [case.estimate for case in one.cases if case.estimate]
    return geometric_mean(values) if values else float("inf")
