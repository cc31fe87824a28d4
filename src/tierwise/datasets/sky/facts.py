"""What is known of the real catalog, distilled (``data/datasets/twomass.toml``), as tables to draw from."""

from functools import cache, cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from pydantic import Field

from tierwise.core import paths
from tierwise.core.toml import Strict, read_toml
from tierwise.datasets.sky.density import Density

Floats32 = npt.NDArray[np.float32]
Ints = npt.NDArray[np.integer[Any]]

BANDS: Final = ("j", "h", "k")
RESOLUTION: Final = 1 << 12  # values in the table of a distribution, all equally likely: drawing is one look-up whatever its shape
_STEP_MAG: Final = 0.25
_BRIGHTEST_MAG: Final = -16.0


def expand(at: tuple[float, ...], quantiles: npt.ArrayLike) -> Floats32:
    """Return `RESOLUTION` equally likely values for each row of quantiles at `at`, one after the other."""
    middles = (np.arange(RESOLUTION) + 0.5) / RESOLUTION
    return np.concatenate([np.interp(middles, at, row) for row in np.atleast_2d(quantiles)]).astype(np.float32)


class Bins:
    """Bins of magnitude between `edges`, which are multiples of a quarter; the first and the last one are open."""

    def __init__(self, edges: tuple[float, ...]):
        lower = _BRIGHTEST_MAG + _STEP_MAG * np.arange(64 / _STEP_MAG)
        self._bins = np.searchsorted(edges, lower, side="right").astype(np.int32)

    def __call__(self, magnitude: Floats32) -> Ints:
        """Return the bin of each; magnitudes from -16 to 48."""
        steps = (magnitude - np.float32(_BRIGHTEST_MAG)) * np.float32(1 / _STEP_MAG)
        return self._bins.take(steps.astype(np.int32))


class Crowding(Strict):
    """What stands denser than `from_per_deg2` is brighter, by `brighter_mag` at the galactic longitude and latitude `at`, and at most."""

    from_per_deg2: float
    brighter_mag: float
    at: tuple[float, float]


class Magnitudes(Strict):
    """H by quantiles at `at`; J - H and H - K given H, and the correlation of the normal scores of both."""

    rows: int
    second_query_share: float  # what the survey's second query finds of these rows, which nothing crowds: more than of the whole sky
    at: tuple[float, ...]
    h: tuple[float, ...]
    edges: tuple[float, ...]
    colour_at: tuple[float, ...]
    j_h: tuple[tuple[float, ...], ...]
    h_k: tuple[tuple[float, ...], ...]
    correlation: tuple[float, ...]


class Band(Strict):
    """Total errors by magnitude, and the share of upper limits; of these, the share that had a measurement with it (rd_flg 6)."""

    edges: tuple[float, ...]
    errors: tuple[tuple[float, ...], ...]
    limits: tuple[float, ...]
    bright_limits: float
    blended: float


class Answer(Strict):
    added_error_mag: float
    snr_times_error: float
    snr_scatter: float


class Frequencies(Strict):
    values: tuple[str | int, ...]
    counts: tuple[int, ...]

    @cached_property
    def shares(self) -> npt.NDArray[np.float64]:
        return np.array(self.counts) / sum(self.counts)


class Facts(Strict):
    assumed: tuple[str, ...]
    fitted_on: tuple[dict[str, str | float], ...]
    size: dict[str, Any]
    order: dict[str, Any]
    density: Density
    crowding: Crowding
    magnitudes: Magnitudes
    bands: dict[str, Band] = Field(min_length=3)
    answer: Answer
    flags: dict[str, Frequencies]

    def brighter_mag(self, per_deg2: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return magnitudes by which sources are brighter where a square degree has `per_deg2` of them."""
        lon, lat = (np.array(place) for place in self.crowding.at)
        least = self.crowding.from_per_deg2
        share = np.log(per_deg2 / least) / np.log(self.density.per_deg2(lon, lat) / least)
        brighter: npt.NDArray[np.float64] = self.crowding.brighter_mag * np.clip(share, 0, 1)
        return brighter


@cache
def load_facts() -> Facts:
    return read_toml(paths.data() / "datasets" / "twomass.toml", Facts)
