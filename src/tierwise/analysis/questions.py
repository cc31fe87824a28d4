"""The questions that the published statements answer, and where sources meet: ``data/published/questions.toml``."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from tierwise.analysis.claims import CLAIM_ID
from tierwise.core import paths
from tierwise.core.toml import Strict, read_toml

ClaimId = Annotated[str, Field(pattern=rf"^{CLAIM_ID}$")]
Words = Annotated[str, Field(pattern=r"^[^0-9]+$", description="no figure: those come from claims and rows")]


class Meeting(StrEnum):
    """What the texts say to each other."""

    AGREE = "agree"
    CONTRADICT = "contradict"


class Question(Strict):
    """One question, and the statements that answer it."""

    name: str = Field(pattern=r"^[a-z_]+$")
    title: Words
    claims: tuple[ClaimId, ...] = Field(min_length=1)


class Topic(Strict):
    """Statements of several sources, or several of one, about the same thing."""

    topic: Words
    claims: tuple[ClaimId, ...] = Field(min_length=2)
    meeting: Meeting
    says: Words = Field(description="what the texts say")
    why: tuple[Words, ...] = Field(min_length=1)
    explanation: Words
    shown_by: str = Field(pattern=r"^[a-z_]+$", description="function of report/chapters/conclusion_rows.py or a study's evidence.py")


class Questions(Strict):
    """All questions, as the file ``data/published/questions.toml`` has them."""

    questions: tuple[Question, ...] = Field(min_length=1)
    meetings: tuple[Topic, ...] = ()

    @model_validator(mode="after")
    def _each_claim_once(self) -> Self:
        ids = [claim for question in self.questions for claim in question.claims]
        twice = sorted({claim for claim in ids if ids.count(claim) > 1})
        if twice:
            raise ValueError(f"a statement answers one question, and these answer two: {', '.join(twice)}")
        lost = sorted({claim for topic in self.meetings for claim in topic.claims} - set(ids))
        if lost:
            raise ValueError(f"meetings speak of statements that answer no question: {', '.join(lost)}")
        return self


def load_questions() -> Questions:
    """Return every question; `InputError` names the field that breaks a rule."""
    return read_toml(paths.data() / "published" / "questions.toml", Questions)
