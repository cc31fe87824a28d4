"""What a study says beforehand of its run on one pair."""

import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, TypeVar

from pydantic import Field

from tierwise.bench.study import Trial
from tierwise.core import paths
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.toml import Strict, read_toml

REFERENCE_BYTES: Final = 8_000_000
REPEATS: Final = 5


class Measured(Strict):
    """Constants that were measured on one machine (``data/plan/*.toml``)."""

    source: str
    recorded: date


Constants = TypeVar("Constants", bound=Measured)


class Host(Measured):
    """The machine that the constants are of, and what every report costs beside its studies."""

    pace_s: float = Field(gt=0, description="of `reference_work` there")
    report_s: float = Field(ge=0, description="of acquiring the data anew at quick's size, of the notebooks that show, and of rendering")


@dataclass(frozen=True)
class Prospect:
    """A run that is to be: `trials` of one study on one pair, each in every block of the profile."""

    profile: Profile
    pair: Pair
    trials: Sequence[Trial]
    dataset_source: str
    seed: int


@dataclass(frozen=True)
class Forecast:
    """Seconds that the host is busy, as on the machine of the constants; seconds that it waits for devices; bytes of disk at the most.

    `spreads`: by name of a ratio, the standard deviation of its logarithm from block to block.
    """

    host_s: float
    device_s: float
    disk_bytes: float
    spreads: Mapping[str, float]


def load(name: str, model: type[Constants]) -> Constants:
    """The constants of `name`."""
    return read_toml(paths.data() / "plan" / f"{name}.toml", model)


def reference_work() -> float:
    """Seconds of a fixed piece of work, the best of a few, by which machines are compared; less than two seconds in all."""
    data = bytes(range(250)) * (REFERENCE_BYTES // 250)
    took_s = []
    for _ in range(REPEATS):
        begun_s = time.perf_counter()
        zlib.compress(data, level=1)
        sum(number * number for number in range(1_000_000))
        took_s.append(time.perf_counter() - begun_s)
    return min(took_s)
