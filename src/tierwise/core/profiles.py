"""Profiles: how much of the study is measured (``data/profiles/*.toml``)."""

import tomllib
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final, TypeVar

from pydantic import BaseModel, Field

from tierwise.core import paths, studies
from tierwise.core.toml import FileName, Strict, input_file, read_toml, validate
from tierwise.core.vocabulary import IoMode

Grid = TypeVar("Grid", bound=BaseModel)
GRIDS: Final = "measuring/profiles.toml"  # what each profile measures of a study: a table for each profile


class Sweep(StrEnum):
    """How far a study departs from its source's protocol, one factor at a time; each study decides what that means for it."""

    SAMPLE = "sample"
    DECIDING = "deciding"
    WHOLE = "whole"


class Profile(Strict):
    """One profile; `studies` holds each study's own table, which that study validates."""

    name: FileName
    description: str
    free_space_bytes: int = Field(gt=0, description="checked before anything is written")
    fraction: float = Field(gt=0, le=1, description="share of the published row count that is generated and loaded")
    replicates: int = Field(ge=1, description="interleaved repetitions of every trial; a verdict needs five")
    io_modes: tuple[IoMode, ...] = Field(min_length=1)
    memory_fraction: float = Field(gt=0, description="shared_buffers over the size of table + index")
    today: tuple[FileName, ...] = ()  # pairs of data/tiers on which each study of a placement has a few of its cells as well, then and now
    sweep: Sweep = Field(description="variants beside the published protocol: sample (does it work?), deciding (a first answer), whole")
    studies: dict[str, dict[str, Any]] = Field(default_factory=dict)

    def replicates_of(self, study: str) -> int:
        return int(self.studies.get(study, {}).get("replicates", self.replicates))

    def possible(self, io_modes: Sequence[IoMode]) -> list[IoMode]:
        """Choose from `io_modes` those that the profile has; a server without direct I/O has one, which then stands for all."""
        return [io_mode for io_mode in io_modes if io_mode in self.io_modes] or list(self.io_modes)

    def study(self, name: str, grid: type[Grid]) -> Grid:
        """Return the table ``[studies.<name>]`` as that study's own model (its defaults where the table is absent)."""
        return validate(self.studies.get(name, {}), grid, where=f"profile {self.name}: studies.{name}")


def names() -> list[str]:
    return sorted(path.stem for path in (paths.data() / "profiles").glob("*.toml"))


def load_profile(name: str) -> Profile:
    """Return the profile `name` with the studies' own grids; a table ``[studies.NAME]`` in its file stands in place of a study's own."""
    profile = read_toml(input_file("profiles", name), Profile)
    grids = {study: tomllib.loads(studies.text(study, GRIDS)).get(name) for study in studies.having(GRIDS)}
    return profile.model_copy(update={"studies": {study: grid for study, grid in grids.items() if grid} | profile.studies})
