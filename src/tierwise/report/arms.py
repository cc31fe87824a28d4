"""The arms of a study as the report shows them: the published protocol among the others, in one order."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from statistics import geometric_mean
from typing import Final

from tierwise.analysis.judging import Judgement, Through
from tierwise.analysis.rules import StateVerdict, Verdict
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
    """What one arm says of a claim; `name` as in ``tierwise claims``. What the published protocol says rests on all its I/O arms."""

    name: str
    verdict: Verdict
    estimate: float | None
    states: tuple[StateVerdict, ...]
    through: Through | None

    @property
    def label(self) -> str:
        return arm_label(self.name)

    @property
    def variant(self) -> str:
        return self.name.partition("/")[0]

    @property
    def differs(self) -> str:
        """What sets it apart from the published protocol."""
        return VARIANTS[self.variant][1] if self.variant in VARIANTS else DASH

    @property
    def io(self) -> IoArm:
        return self.states[0].arm

    @property
    def middle(self) -> float:
        """Geometric mean over the states' estimates, to sort by; infinite where nothing was estimated, or something was not seen."""
        values = [state.estimate for state in self.states if state.estimate]
        return geometric_mean(values) if values else float("inf")

    def saves(self, limit: float) -> Truth:
        """Whether what is left of the time is at most `limit`: the whole interval, in every state that was measured; no, by one state."""
        if any(state.low is not None and state.low > limit for state in self.states):
            return Truth.FALSE
        return Truth.TRUE if all(state.high is not None and state.high <= limit for state in self.states) else Truth.UNKNOWN


def arms(judged: Judgement) -> list[Arm]:
    """Every arm of `judged` with at least one state, from the one with the smallest values on."""
    return sorted(_arms(judged), key=lambda arm: (arm.middle, arm.name))


def _arms(judged: Judgement) -> Iterator[Arm]:
    own = IoArm.DIRECT if IoArm.DIRECT in judged.rests_on else IoArm.BUFFERED
    states = tuple(state for state in judged.states if state.arm is own)
    if states:
        yield Arm(PUBLISHED if own is IoArm.DIRECT else f"{PUBLISHED}/{own}", judged.verdict, judged.estimate, states, judged.through)
    for name, arm in judged.arms.items():
        yield Arm(name, arm.verdict, arm.estimate, arm.states, arm.through)
