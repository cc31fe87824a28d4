"""What differs between two versions of the report, and which input caused it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from tierwise.report.facts import ClaimFact, Facts
from tierwise.report.formats import DASH, count, escaped, listed

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
        lines = [f"before: {self.before}", f"after:  {self.after}", self.cause()]
        for title, found in [*self.causes.items(), *((KINDS[kind], found) for kind, found in self.effects.items())]:
            lines += [f"{title}:"] if found else []
            for change in found:
                lines += [f"  {change.name}", f"    before: {change.before}", f"    after:  {change.after}"]
        differing = [f"{count(len(found))} of the {kind}" for kind, found in self.effects.items() if found]
        return "\n".join([*lines, f"differing: {listed(differing)}" if differing else "Nothing that the report says differs."])

    def cause(self) -> str:
        kinds = [kind for kind, changes in self.causes.items() if changes]
        if len(kinds) == 1:
            scatter = "" if self.same_run else ", or the scatter of measuring anew did"
            return f"Only one input differs, {kinds[0]}: it caused whatever differs below{scatter}."
        if kinds:
            return f"Several inputs differ ({listed(kinds)}); which of them caused a change cannot be told from these two versions."
        if self.same_run:
            return "No input differs, and both show the same run."
        return "No input differs, only the run: it was measured anew, and what differs is the scatter of measuring."


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
    head = "# What changed {#sec-changed}\n\n"
    if changes is None:
        return f"{head}No version of this report was built here before this one.\n"
    told = [f"Compared with version `{changes.before}`. {changes.cause()}"]
    causes = [(kind, change) for kind, found in changes.causes.items() for change in found]
    if causes:
        told += ["## Inputs {.unnumbered}", _table(["Input", "Before", "Now"], [(f"{kind}: {one.name}", one) for kind, one in causes])]
    for kind, found in changes.effects.items():
        if found:
            told += [f"## {KINDS[kind]} {{.unnumbered}}", _table(["What", "Before", "Now"], [(_named(kind, one), one) for one in found])]
    if not any(changes.effects.values()):
        told.append("Nothing that the report says differs.")
    return head + "\n\n".join(told) + "\n"


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


def _table(header: Sequence[str], rows: Sequence[tuple[str, Change]]) -> str:
    cells = [(name, escaped(change.before), escaped(change.after)) for name, change in rows]
    rule = "|:" + "-" * 24 + "|:" + "-" * 40 + "|:" + "-" * 40 + "|"
    return "\n".join([f"| {' | '.join(header)} |", rule, *(f"| {' | '.join(row)} |" for row in cells)])
