"""What differs between two versions of the report, and which input caused it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from tierwise.report.facts import Facts
from tierwise.report.formats import count
from tierwise.report.text_template import fill

NONE: Final = "none"
KINDS: Final = {"claims": "Claims", "figures": "Figures", "tables": "Tables", "answers": "Answers and recommendations"}


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
    return Changes(
        before=before.version,
        after=after.version,
        same_run=before.run_id == after.run_id,
        causes=_differing(before.inputs, after.inputs),
        effects=_differing(before.statements, after.statements),
    )


def _differing(before: Mapping[str, Mapping[str, str]], after: Mapping[str, Mapping[str, str]]) -> dict[str, list[Change]]:
    found: dict[str, list[Change]] = {}
    for kind in dict.fromkeys([*before, *after]):
        one, other = before.get(kind, {}), after.get(kind, {})
        changes = [Change(name, one.get(name, NONE), other.get(name, NONE)) for name in dict.fromkeys([*one, *other])]
        found[kind] = [change for change in changes if change.before != change.after]
    return found
