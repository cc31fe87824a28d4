"""How long recorded runs took, study by study (``data/plan/recorded.toml``); `scripts/record_plan.py` writes a profile's part."""

from collections.abc import Mapping
from datetime import date

from pydantic import Field

from tierwise.core import paths
from tierwise.core.pace import Pace
from tierwise.core.toml import Strict, read_toml


class StudyTime(Strict):
    seconds: float = Field(gt=0, description="of its notebook, with servers, loading and predictions, at the recorded pace")
    trials: int = Field(gt=0, description="executions in it, on all pairs")
    disk_gb: float = Field(ge=0, description="the most that its data take at once")


class RunTime(Strict):
    source: str
    recorded: date
    report_s: float = Field(ge=0, description="acquiring data, chapters and rendering, at the recorded pace")
    studies: Mapping[str, StudyTime]


class Recorded(Strict):
    """Recorded runs by profile, and the pace of the machine that all seconds are of."""

    piece_s: float = Field(gt=0, description="processor time of `core.pace.piece_s`")
    busy_processors: float = Field(gt=0, description="processors that a run keeps busy on average")
    tests_s: float = Field(gt=0, description="of ``make test``")
    profiles: Mapping[str, RunTime]

    @property
    def pace(self) -> Pace:
        return Pace(self.piece_s, self.busy_processors)


def load_recorded() -> Recorded:
    return read_toml(paths.data() / "plan" / "recorded.toml", Recorded)
