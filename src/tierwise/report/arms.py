"""The arms of a study as the report shows them: the published protocol among the others, in one order."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from statistics import geometric_mean
from typing import Final

from tierwise.analysis.judging import Judgement, Through
from tierwise.analysis.rules import CaseVerdict, Verdict
from tierwise.core.words import IoArm
from tierwise.report.formats import DASH
from tierwise.report.words import VARIANTS, arm_label

PUBLISHED: Final = "published"


class Truth(StrEnum):
    """Whether a saving is there."""

    TRUE = "it is true"
    FALSE = "it is not true"
    UNKNOWN = "this run cannot tell"


@dataclass(frozen=True)
class Arm:
    """What one arm says of a claim; `name` as in ``tierwise claims``. The one that decides is among them."""

    name: str
    verdict: Verdict
    estimate: float | None
    cases: tuple[CaseVerdict, ...]
    through: Through | None

    @property
    def label(self) -> str:
        return arm_label(self.name)

    @property
    def variant(self) -> str:
        return self.name.partition("/")[0]

    @property
    def differs(self) -> str:
        """Return what sets the arm apart from the published protocol."""
        return VARIANTS[self.variant][1] if self.variant in VARIANTS else DASH

    @property
    def io(self) -> IoArm:
        return self.cases[0].arm

    @property
    def middle(self) -> float:
        """Return the geometric mean over the cases' estimates, to sort by; infinite where nothing was estimated, or something was not
        seen."""
        values = [case.estimate for case in self.cases if case.estimate]
        return geometric_mean(values) if values else float("inf")

    def saves(self, limit: float) -> Truth:
        """Return whether what is left of the time is at most `limit`: the whole interval, in every case that was measured; no, by one
        case."""
        if any(case.low is not None and case.low > limit for case in self.cases):
            return Truth.FALSE
        return Truth.TRUE if all(case.high is not None and case.high <= limit for case in self.cases) else Truth.UNKNOWN


def arms(judged: Judgement) -> list[Arm]:
    """Return every arm of `judged` with at least one case, from the one with the smallest values on."""
    return sorted(_arms(judged), key=lambda arm: (arm.middle, arm.name))


def _arms(judged: Judgement) -> Iterator[Arm]:
    if judged.cases:
        yield Arm(judged.decided_by, judged.verdict, judged.estimate, judged.cases, judged.through)
    for name, arm in judged.arms.items():
        yield Arm(name, arm.verdict, arm.estimate, arm.cases, arm.through)
