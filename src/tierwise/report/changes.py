"""What differs between two versions of the report, and which input caused it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from tierwise.report.facts import ClaimFact, Facts
from tierwise.report.formats import DASH, count
from tierwise.report.text_template import fill

NONE: Final = "none"
KINDS: Final = {"claims": "Claims", "figures": "Figures", "tables": "Tables", "answers": "Answers and recommendations"}
RULE: Final = re.compile(r"[|:\- ]+")
"""The line of a table that only says how wide its columns are."""


@dataclass(frozen=True)
class Change:
    """One thing that differs; `before` or `after` is `NONE` where it was or is not there."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Changes:
    """Two versions beside each other: `causes` by kind of input, `effects` by kind of statement (keys of `KINDS`)."""

    before: str
    after: str
    same_run: bool
    causes: Mapping[str, Sequence[Change]]
    effects: Mapping[str, Sequence[Change]]

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "caused_by": self.cause()}

    def as_text(self) -> str:
        parts = [*self.causes.items(), *((KINDS[kind], found) for kind, found in self.effects.items())]
        differing = [f"{count(len(found))} of the {kind}" for kind, found in self.effects.items() if found]
        return fill("diff.txt", before=self.before, after=self.after, cause=self.cause(), parts=parts, differing=differing).rstrip()

    def cause(self) -> str:
        return fill("cause.txt", kinds=[kind for kind, changes in self.causes.items() if changes], same_run=self.same_run).strip()


def compare(before: Facts, after: Facts) -> Changes:
    kinds = dict.fromkeys([*before.inputs, *after.inputs])
    return Changes(
        before=before.version,
        after=after.version,
        same_run=before.run_id == after.run_id,
        causes={kind: _differing(before.inputs.get(kind, {}), after.inputs.get(kind, {})) for kind in kinds},
        effects={
            "claims": _differing(*({name: _claim(claim) for name, claim in facts.claims.items()} for facts in (before, after))),
            "figures": _drawn(before, after),
            "tables": [*_tables(before.tables, after.tables)],
            "answers": _differing(before.answers, after.answers),
        },
    )


def as_chapter(changes: Changes | None) -> str:
    """Return the report's last chapter but one, as Markdown of the subset; `None` where there is no version before."""
    if changes is None:
        return fill("changes.md", before=None)
    causes = [(f"{kind}: {one.name}", one) for kind, found in changes.causes.items() for one in found]
    effects = [(KINDS[kind], "What", [(_named(kind, one), one) for one in found]) for kind, found in changes.effects.items()]
    parts = [("Inputs", "Input", causes), *effects]
    return fill("changes.md", before=changes.before, cause=changes.cause(), parts=parts, differs=any(changes.effects.values()))


def _differing(before: Mapping[str, str], after: Mapping[str, str]) -> list[Change]:
    names = dict.fromkeys([*before, *after])
    return [
        Change(name, before.get(name, NONE), after.get(name, NONE)) for name in names if before.get(name, NONE) != after.get(name, NONE)
    ]


def _claim(claim: ClaimFact) -> str:
    return claim.verdict if claim.found == DASH else f"{claim.verdict}: {claim.found}"


def _drawn(before: Facts, after: Facts) -> list[Change]:
    drawn = [{label: f"{count(fact.rows)} rows, {fact.sha256}" for label, fact in facts.figures.items()} for facts in (before, after)]
    return _differing(*drawn)


def _tables(before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]) -> Iterator[Change]:
    for label in dict.fromkeys([*before, *after]):
        one, other = ({line for line in lines if not RULE.fullmatch(line)} for lines in (before.get(label, ()), after.get(label, ())))
        if one != other:
            told = [_own(len(mine - theirs)) if mine else NONE for mine, theirs in ((one, other), (other, one))]
            yield Change(label, *told)


def _own(lines: int) -> str:
    return f"{count(lines)} {'line' if lines == 1 else 'lines'} of its own"


def _named(kind: str, change: Change) -> str:
    if kind in ("figures", "tables") and change.after != NONE:
        return f"@{change.name}"
    return "" if kind == "answers" else f"`{change.name}`"
