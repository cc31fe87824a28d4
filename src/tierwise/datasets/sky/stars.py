"""Magnitudes, errors and upper limits of sources, drawn from the facts."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from tierwise.datasets.sky.facts import BANDS, RESOLUTION, Bins, Floats32, Ints, expand, load_facts

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
    found: Ints = np.minimum(ndtr(score) * np.float32(RESOLUTION), RESOLUTION - 1).astype(np.int32)
    return found


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
