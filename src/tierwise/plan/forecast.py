"""What a study says beforehand of its run on one pair."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, Generic, TypeVar

from pydantic import Field

from tierwise.bench.study import C, Trial
from tierwise.core import paths, studies
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.toml import Strict, read_toml, validate

CONSTANTS: Final = "measuring/forecast.toml"


class Measured(Strict):
    """Constants that were measured on one machine (``data/plan/host.toml``)."""

    source: str
    recorded: date


Constants = TypeVar("Constants", bound=Measured)


class Host(Measured):
    """The machine that the constants are of, and what every report costs beside its studies."""

    pace_s: float = Field(gt=0, description="of `core.quiet.reference_work` there")
    report_s: float = Field(ge=0, description="of acquiring the data anew at quick's size, of the notebooks that show, and of rendering")
    lab_s: float = Field(ge=0, description="of another block's lab: its cluster copied, its tiers mounted, and all put away again")
    tests_s: float = Field(ge=0, description="of ``make test``")


@dataclass(frozen=True)
class Prospect(Generic[C]):
    """A run that is to be: `trials` of one study on one pair, each in every block of the profile, and every execution that is `waited` for
    beside those that are `counted` (then a device's second is not one of ours)."""

    profile: Profile
    pair: Pair
    trials: Sequence[Trial[C]]
    sources: Mapping[str, str]
    seed: int
    counted: bool = False
    waited: Sequence[Trial[C]] = ()

    def labs(self, blocks: int) -> int:
        """Return how many labs, each with its data, so many blocks have."""
        return blocks if any(trial.replicated for trial in self.trials) else 1

    def real_s(self, counted_s: float, share: float) -> float:
        """Return our seconds for so many of the tiers' clock, of which one takes `share` of ours where it is counted."""
        return counted_s * (share if self.counted else 1.0)


@dataclass(frozen=True)
class Forecast:
    """Seconds that the host is busy, as on the machine of the constants; seconds that it waits for devices; bytes of disk at the most.

    `spreads`: by name of a ratio, the standard deviation of its logarithm from block to block.
    """

    host_s: float
    device_s: float
    disk_bytes: float
    spreads: Mapping[str, float]


def load_host() -> Host:
    """Return the machine of all constants."""
    return read_toml(paths.data() / "plan" / "host.toml", Host)


def load(study: str, model: type[Constants]) -> Constants:
    """Return the constants in the room of `study`."""
    return validate(tomllib.loads(studies.text(study, CONSTANTS)), model, where=f"{study}/{CONSTANTS}")
