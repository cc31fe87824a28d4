"""How the rules of verdicts changed, as ``data/published/rules.toml`` has it, and the version that a run records."""

from datetime import date
from typing import Self

from pydantic import Field, model_validator

from tierwise.core import paths
from tierwise.core.toml import Strict, read_toml


class RuleVersion(Strict):
    """The rules that were in force: how many changes there had been, and the day of the last one."""

    version: int = Field(ge=1)
    day: date


class Change(Strict):
    day: date
    claims: tuple[str, ...] = Field(min_length=1, description="ids, or a group: all, orders, cases, advice")
    before: str = Field(description="empty: the claims had not been there")
    now: str = Field(min_length=1)
    seen: str = Field(description="the results that were known; empty: none")


class RuleHistory(Strict):
    changes: tuple[Change, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        days = [change.day for change in self.changes]
        if days != sorted(days):
            raise ValueError("changes must be in the order of their days, because a run records how many there were")
        return self

    @property
    def version(self) -> RuleVersion:
        return RuleVersion(version=len(self.changes), day=self.changes[-1].day)


def load_rules() -> RuleHistory:
    return read_toml(paths.data() / "published" / "rules.toml", RuleHistory)
