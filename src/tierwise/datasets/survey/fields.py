"""Fields that are observed many times: their sources, light curves, and what each frame detects of them."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from tierwise.datasets.sky_coordinates import htm_ids, unit_vectors

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.integer[Any]]
Bools = npt.NDArray[np.bool_]

NO_INTEGER: Final = -99_999_999
NO_REAL: Final = -0.9999995e9
NO_TEXT: Final = "NONE"  # what the archives store for a missing value: no column may be null (defaults in the WSA's glossary)

BANDS: Final = "ugriz"
EPOCH_BAND: Final = 2  # the number in `BANDS` of the band that is observed again and again; the others are observed once
PER_FIELD: Final = 5000
EPOCHS: Final = 60
DETECTORS: Final = 4  # the detectors along each side of a field; extension numbers begin with 2, behind the file's primary one
FIELD_DEG: Final = 1.0
FIRST_MJD: Final = 55_200.0
YEARS: Final = 5

VARIABLE_SHARE: Final = 0.006
"""0.6 +- 0.1 % of UKIDSS-DXS's stars (Cross et al. 2009, "Archiving multi-epoch data and the discovery of variables", abstract)."""
SPURIOUS: Final = 0.05
LIMIT_MAG: Final = 20.8
BRIGHT_MAG, FAINT_MAG, SLOPE = 13.0, 21.0, 0.3
COLOURS: Final = ((1.8, 0.4), (0.6, 0.3), (0.0, 0.0), (-0.25, 0.15), (-0.37, 0.2))
"""Mean and scatter of each band's magnitude less that of r."""
AMPLITUDES: Final = np.array([1.3, 1.2, 1.0, 0.8, 0.7])  # the amplitude of a variable star in each band, over that in r


def error_mag(magnitude: Floats) -> Floats:
    """Return the error of one measurement: a hundredth, and a tenth at 20 mag, where the sky's noise rules."""
    return np.asarray(np.sqrt(0.01**2 + (0.1 * 10 ** (0.4 * (magnitude - 20))) ** 2))


@dataclass(frozen=True)
class Frames:
    """All exposures in the order of their time, which is that of their ids."""

    field: Ints
    band: Ints
    mjd: Floats

    @property
    def ids(self) -> Ints:
        return 1_000_001 + np.arange(len(self.field), dtype=np.int64)


def references(band: Ints) -> Ints:
    """Return the first of a field's exposures in each band, from which its sources are merged."""
    return np.array([np.flatnonzero(band == number)[0] for number in range(len(BANDS))])


def schedule(fields: int, seed: int) -> Frames:
    """Return each field's nights: `EPOCHS` in r, scattered over five seasons of half a year, and one in each other band."""
    rng = np.random.default_rng([seed, 0])
    bands = np.array([EPOCH_BAND] * EPOCHS + [band for band in range(len(BANDS)) if band != EPOCH_BAND])
    shape = (fields, len(bands))
    mjd = FIRST_MJD + rng.integers(0, YEARS, shape) * 365 + rng.integers(0, 180, shape) + rng.uniform(0.0, 0.4, shape)
    order = np.argsort(mjd.ravel(), kind="stable")
    field = np.repeat(np.arange(fields), len(bands))
    return Frames(field[order], np.tile(bands, fields)[order], np.round(mjd.ravel()[order], 6))


def light_curves(count: int, mjd: Floats, band: Ints, rng: np.random.Generator) -> Floats:
    """Return magnitudes by which variable stars are fainter than on average [star, exposure]: pulsating, eclipsing, long-period."""
    kind = np.arange(count) % 3
    low, high = np.array([[0.3, 0.9], [0.4, 10.0], [100.0, 500.0]])[kind].T
    least, most = np.array([[0.2, 0.9], [0.15, 0.9], [0.4, 2.0]])[kind].T
    period = np.exp(rng.uniform(np.log(low), np.log(high)))
    amplitude = rng.uniform(least, most)
    phase = (mjd / period[:, None] + rng.uniform(0, 1, (count, 1))) % 1
    pulsating = np.where(phase < 0.2, 0.5 - phase / 0.2, (phase - 0.2) / 0.8 - 0.5)
    eclipsing = np.exp(-0.5 * ((phase - 0.25) / 0.04) ** 2) + 0.5 * np.exp(-0.5 * ((phase - 0.75) / 0.04) ** 2)
    shape = np.select([kind[:, None] == 0, kind[:, None] == 1], [pulsating, eclipsing], 0.5 * np.sin(2 * np.pi * phase))
    return np.asarray(amplitude[:, None] * shape * AMPLITUDES[band])


@dataclass(frozen=True)
class Place:
    ra: Floats
    dec: Floats
    vectors: Floats
    htm_id: Ints

    def of(self, rows: Ints) -> "Place":
        return Place(self.ra[rows], self.dec[rows], self.vectors[:, rows], self.htm_id[rows])


def place(field: int, x: Floats, y: Floats) -> Place:
    dec = -30.0 + 1.2 * (field // 10) + FIELD_DEG * y
    ra = 10.0 + 1.5 * (field % 10) + FIELD_DEG * x / np.cos(np.radians(dec))
    vectors = unit_vectors(ra, dec)
    return Place(ra, dec, vectors, htm_ids(vectors))


@dataclass(frozen=True)
class Spurious:
    x: Floats
    y: Floats
    magnitude: Floats


@dataclass(frozen=True)
class Field:
    """One field: sources by detector and row, the places of its exposures (`frames`), and what these found: `magnitude` and `seq_num` are
    [source, exposure], `NO_INTEGER` where not detected.
    """

    number: int
    first_source: int
    x: Floats
    y: Floats
    frames: Ints
    varies: Bools
    magnitude: Floats
    seq_num: Ints
    spurious: tuple[Spurious, ...]

    @property
    def source_ids(self) -> Ints:
        return 433_791_000_000 + self.first_source + np.arange(len(self.x), dtype=np.int64)

    @property
    def ext_num(self) -> Ints:
        return ext_num(self.x, self.y)

    @property
    def every_place(self) -> Place:
        """Return the positions of the sources, then of what is spurious, by exposure."""
        x, y = (np.concatenate([getattr(self, axis), *(getattr(one, axis) for one in self.spurious)]) for axis in "xy")
        return place(self.number, x, y)

    @property
    def detected(self) -> Bools:
        return np.not_equal(self.seq_num, NO_INTEGER)


def ext_num(x: Floats, y: Floats) -> Ints:
    return (2 + DETECTORS * np.floor(DETECTORS * y) + np.floor(DETECTORS * x)).astype(np.int16)


def observe(number: int, first_source: int, sources: int, frames: Frames, seed: int) -> Field:
    rng = np.random.default_rng([seed, 1, number])
    x, y = rng.random(sources), rng.random(sources)
    order = np.lexsort((x, y, ext_num(x, y)))
    x, y = x[order], y[order]
    low, high = 10 ** (SLOPE * BRIGHT_MAG), 10 ** (SLOPE * FAINT_MAG)
    red = np.log10(low + rng.random(sources) * (high - low)) / SLOPE
    colour = np.stack([mean + scatter * rng.standard_normal(sources) for mean, scatter in COLOURS], axis=1)
    mine = np.flatnonzero(frames.field == number)
    truth = red[:, None] + colour[:, frames.band[mine]]
    varies = np.zeros(sources, dtype=np.bool_)
    varies[rng.permutation(sources)[: max(3, round(VARIABLE_SHARE * sources))]] = True
    truth[varies] += light_curves(int(varies.sum()), frames.mjd[mine], frames.band[mine], rng)
    measured = (truth + error_mag(truth) * rng.standard_normal(truth.shape)).astype(np.float32)
    limit = LIMIT_MAG + 0.2 * rng.standard_normal(len(mine))
    detected = rng.random(truth.shape) < ndtr((limit - truth) / 0.25)
    merged = references(frames.band[mine])
    detected[~detected[:, merged].any(axis=1), merged[EPOCH_BAND]] = True  # what none of the merged frames detects is no source
    seq_num = np.full(truth.shape, NO_INTEGER, dtype=np.int32)
    spurious = []
    for exposure in range(len(mine)):
        noise = round(SPURIOUS * sources)
        extra = Spurious(rng.random(noise), rng.random(noise), (LIMIT_MAG - rng.exponential(0.3, noise)).astype(np.float32))
        found = np.flatnonzero(detected[:, exposure])
        seq_num[found, exposure] = frame_order(np.concatenate([x[found], extra.x]), np.concatenate([y[found], extra.y]))[1][: len(found)]
        spurious.append(extra)
    return Field(number, first_source, x, y, mine, varies, measured, seq_num, tuple(spurious))


def frame_order(x: Floats, y: Floats) -> tuple[Ints, Ints]:
    """Return the order of detections in their frame, by detector and row, and the number of each in its detector, from 1."""
    detector = ext_num(x, y)
    order = np.lexsort((y, detector))
    sorted_detector = detector[order]
    begins = np.searchsorted(sorted_detector, sorted_detector)
    numbers = np.empty(len(x), dtype=np.int32)
    numbers[order] = np.arange(len(x)) - begins + 1
    return order, numbers
