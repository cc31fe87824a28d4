"""Names and turns of phrase that several chapters share."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from tierwise.analysis.judging import ArmVerdict, Judgement, Ruling
from tierwise.analysis.rules import StateVerdict, Verdict
from tierwise.analysis.verdicts import ClaimVerdict
from tierwise.report.formats import DASH, NBSP, count, interval, number, tied

STATES: Final = {"FL": "Florida", "PR": "Puerto Rico", "NV": "Nevada"}
CACHES: Final = {"cold": "Cold cache", "cross": "Cross (another state queried before)", "hot": "Hot cache"}
ARMS: Final = {"direct": "direct I/O", "buffered": "buffered I/O"}

VARIANTS: Final = {
    "published": ("As published", "everything cold"),
    "memory-0.05": (f"Memory 5{NBSP}%", f"shared buffers of 5{NBSP}% of table and index"),
    "memory-1.2": (f"Memory 120{NBSP}%", "shared buffers larger than table and index"),
    "heap-cached": ("Table cached", "the table in memory, shown to be there; the index cold"),
    "asymmetric": (
        "Cached for SSD only",
        "the table cold while the index lay on HDD, cached while it lay on SSD",
    ),
    "deduplicated": ("Index deduplicated", "today's index build, each value once"),
    "grown": ("Index grown", "the index filled by inserts in the file's order, not built at once"),
    "shuffled": ("Rows shuffled", "the rows in random order, not state by state"),
    "index-only": ("Index-only scan", "after VACUUM: the count reads the index alone"),
    "bitmap": ("Bitmap scan", "today's plan without VACUUM: the table's blocks in their order"),
}
"""Variant of a study's protocol -> its name, and what it differs in."""
NOTHING: Final = "not measured"
"""Of a topic that this run has no rows of."""


def arm_label(arm: str) -> str:
    """``heap-cached/buffered`` -> ``Table cached, buffered``."""
    variant, _, io = arm.partition("/")
    return ", ".join([VARIANTS.get(variant, (variant, ""))[0], *filter(None, [io])])


def cell_words(cell: str) -> str:
    """``{"arm": "direct", "index": "ssd", "table": "hdd"}`` -> ``index ssd, table hdd``: what tells cells of a study apart."""
    return ", ".join(
        f"{name.replace('_', ' ')} {value}" for name, value in sorted(json.loads(cell).items()) if name not in {"arm", "clock"}
    )


def state_name(state: str) -> str:
    """``FL`` -> ``Florida``, ``FL->PR`` -> ``Puerto Rico after Florida``, ``FL/PR`` -> ``Florida over Puerto Rico``."""
    for mark, phrase in (("->", "{1} after {0}"), ("/", "{0} over {1}")):
        if mark in state:
            return phrase.format(*(STATES.get(part, part) for part in state.split(mark)))
    return STATES.get(state, state)


def marked(said: Verdict | Ruling) -> str:
    """A verdict in words, its own word in bold, which both engines colour."""
    verdict, text = (said, str(said)) if isinstance(said, Verdict) else (said.verdict, said.verdict_text)
    return f"**{verdict.mark}**{text.removeprefix(verdict.mark)}"


def estimated(what: Judgement | ArmVerdict | StateVerdict) -> str:
    """``0.981 (0.979 to 0.983)``; where nothing was estimated, why."""
    if what.estimate is None:
        if what.flagged and not what.pairs:
            return f"none (all {count(what.flagged)} pairs rejected)"
        return f"none (clean pairs {count(what.pairs)}, rejected {count(what.flagged)})" if what.flagged or what.pairs else DASH
    if what.low is None or what.high is None:
        return f"{number(what.estimate)} (no interval)"
    return f"{number(what.estimate)} ({interval(what.low, what.high)})"


def bounds(claim: ClaimVerdict) -> str:
    """The published bounds as Markdown, states by their names."""
    named = re.sub(r"\b[A-Z]{2}\b", lambda code: STATES.get(code[0], code[0]), claim.bounds_text)
    return named.replace("*", "\\*").replace(">", "\\>")


def pairs(what: Judgement | StateVerdict) -> str:
    """How many paired observations an estimate rests on."""
    return count(what.pairs) if what.pairs else DASH


def unit_of(leaf: Mapping[str, Any]) -> str:
    """The unit of a parameter as read from TOML, which is plain ASCII."""
    return "µs" if leaf.get("unit") == "us" else str(leaf.get("unit", ""))


def claim_sentence(claim: ClaimVerdict) -> str:
    """What was published, and what came out here."""
    head = f"**{claim.id}.** {tied(claim.statement)}"
    if not claim.states:
        return f"{head} Verdict: {marked(claim)}."
    states = "; ".join(
        f"{state_name(state.state)} {estimated(state)}" + (f" with {ARMS[state.arm]}" if len(claim.rests_on) > 1 else "")
        for state in claim.states
    )
    published = f" (published: {bounds(claim)})" if claim.bounds_text else ""
    flagged = f" {count(claim.flagged)} rejected pairs were left out." if claim.flagged else ""
    return f"{head} Here: {states}{published}. Verdict: {marked(claim)}.{flagged}"
