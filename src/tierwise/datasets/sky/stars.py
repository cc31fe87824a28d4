"""What is known of the real catalog, distilled (``data/datasets/twomass.toml``), and magnitudes, errors and limits drawn from it."""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from pydantic import Field
from scipy.special import ndtr

from tierwise.core import paths
from tierwise.core.toml import Strict, read_toml
from tierwise.datasets.sky.positions import Density

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
        return np.asarray(self.crowding.brighter_mag * np.clip(share, 0, 1))


@cache
def load_facts() -> Facts:
    return read_toml(paths.data() / "datasets" / "twomass.toml", Facts)


Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Photometry:
    """One band; where `limit`, only the magnitude counts. `corrected` is the error without what calibration adds, `snr` signal to noise."""

    magnitude: Floats32
    total: Floats32
    corrected: Floats32
    snr: Floats32
    limit: Bools


@cache
class _Tables:
    def __init__(self) -> None:
        self.facts = facts = load_facts()
        known = facts.magnitudes
        self.h = np.append(expand(known.at, known.h), np.float32(known.h[-1]))
        self.bins = Bins(known.edges)
        self.j_h, self.h_k = expand(known.colour_at, known.j_h), expand(known.colour_at, known.h_k)
        self.correlation = np.array(known.correlation, dtype=np.float32)
        self.rest = np.sqrt(1 - self.correlation**2)
        self.error_bins = {band: Bins(facts.bands[band].edges) for band in BANDS}
        self.errors = {band: expand(known.colour_at, facts.bands[band].errors) for band in BANDS}
        self.limits = {band: np.array(facts.bands[band].limits, dtype=np.float32) for band in BANDS}


def ranks(rng: np.random.Generator, rows: int) -> Ints:
    return rng.integers(0, RESOLUTION, rows, dtype=np.uint16)


def _of_score(score: Floats32) -> Ints:
    return np.asarray(np.minimum(ndtr(score) * np.float32(RESOLUTION), RESOLUTION - 1), np.int32)


def draw(brighter_mag: Floats32, rng: np.random.Generator) -> dict[str, Photometry]:
    """Return each band of as many sources as `brighter_mag` has entries: by so much brighter than in the fields of the facts."""
    tables, rows = _Tables(), len(brighter_mag)
    place = rng.random(rows, dtype=np.float32) * np.float32(RESOLUTION)
    below = np.minimum(place.astype(np.int32), RESOLUTION - 1)
    lower = tables.h.take(below)
    h: Floats32 = (lower + (place - below) * (tables.h.take(below + 1) - lower)).astype(np.float32)
    bins = tables.bins(h)
    score, other = rng.standard_normal(rows, dtype=np.float32), rng.standard_normal(rows, dtype=np.float32)
    joined = tables.correlation.take(bins) * score + tables.rest.take(bins) * other
    j = h + tables.j_h.take(bins * RESOLUTION + _of_score(score))
    k = h - tables.h_k.take(bins * RESOLUTION + _of_score(joined.astype(np.float32, copy=False)))
    drawn = {band: _measured(band, magnitude, brighter_mag, rng) for band, magnitude in zip(BANDS, (j, h, k), strict=True)}
    all_limits = drawn["j"].limit & drawn["h"].limit & drawn["k"].limit
    drawn["h"].limit[all_limits] = False  # what no band detects is no source
    return drawn


def _measured(band: str, magnitude: Floats32, brighter_mag: Floats32, rng: np.random.Generator) -> Photometry:
    tables, rows = _Tables(), len(magnitude)
    answer = tables.facts.answer
    bins = tables.error_bins[band](magnitude)
    total = tables.errors[band].take(bins * RESOLUTION + ranks(rng, rows))
    limit: npt.NDArray[Any] = rng.random(rows, dtype=np.float32) < tables.limits[band].take(bins)
    corrected = np.sqrt(np.maximum(total * total - np.float32(answer.added_error_mag**2), np.float32(0.005**2)))
    scatter = np.exp(rng.standard_normal(rows, dtype=np.float32) * np.float32(answer.snr_scatter))
    snr = np.float32(answer.snr_times_error) / corrected * scatter
    return Photometry(np.round(magnitude - brighter_mag, 3), np.round(total, 3), np.round(corrected, 3), np.round(snr, 1), limit)
