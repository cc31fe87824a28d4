"""The synthetic Point Source Catalog: seeded, of any size up to the real one's, in the release's order; its sixty columns."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tierwise.core.progress import Progress
from tierwise.datasets.dataset import check_size
from tierwise.datasets.sky import positions
from tierwise.datasets.sky.columns import PSC, ROWS
from tierwise.datasets.sky.positions import CELLS, Tiles, tiles
from tierwise.datasets.sky.stars import BANDS, Photometry, draw, load_facts
from tierwise.datasets.sky_coordinates import galactic

Values = npt.NDArray[Any]

LETTERS: Final = ("A", "B", "C", "D", "U")
LETTER_ERRORS_MAG: Final = np.array([0.10857, 0.15510, 0.21714], dtype=np.float32)
"""The largest corrected errors of the letters A, B and C, in magnitudes; U is an upper limit (the catalog's description of ph_qual)."""
PROFILE_MEDIAN, PROFILE_SIGMA = np.float32(0.95), np.float32(0.25)
BRIGHT_MAG: Final = {"j": 9.0, "h": 8.5, "k": 8.0}  # what is brighter is measured in the short exposure (rd_flg 1)
COUNTERPARTS: Final = 0.65
OPTICAL_ARCSEC: Final = 0.35
_FRAMES: Final = 6
_IMAGES: Final = 23  # atlas images of a scan


def catalog_columns(
    ra: Values, dec: Values, per_deg2: Values, *, first_row: int, tiles: Tiles, rng: np.random.Generator
) -> dict[str, pa.Array]:
    brighter = load_facts().brighter_mag(per_deg2).astype(np.float32)
    bands = draw(brighter, rng)
    made: dict[str, Any] = {"ra": ra, "dec": dec, "designation": positions.designations(ra, dec)}
    made |= _photometry(bands, rng)
    made |= _flags(bands, rng)
    made |= _neighbours(per_deg2, first_row, rng)
    made |= _observation(ra, dec, tiles)
    made |= _optical(bands, rng)
    lon, lat = galactic(ra.astype(np.float32), dec.astype(np.float32))
    made |= {"glon": np.round(lon, 3), "glat": np.round(lat, 3)}
    return {name: values if isinstance(values, pa.Array) else pa.array(values) for name, values in made.items()}


@cache
def _words(alphabets: Sequence[Sequence[str]]) -> pa.Array:
    """Every word with a letter of each alphabet, the last one changing fastest."""
    return pa.array(["".join(word) for word in product(*alphabets)])


def _spelled(alphabets: Sequence[Sequence[str]], letters: Sequence[Values]) -> pa.Array:
    number = letters[0].astype(np.int32)
    for alphabet, letter in zip(alphabets[1:], letters[1:], strict=True):
        number = number * len(alphabet) + letter
    return _words(tuple(map(tuple, alphabets))).take(pa.array(number))


def _of(name: str, rows: int, rng: np.random.Generator) -> pa.Array:
    known = load_facts().flags[name]
    number = np.searchsorted(np.cumsum(known.shares)[:-1], rng.random(rows, dtype=np.float32), side="right")
    values = pa.array(known.values, pa.int16() if isinstance(known.values[0], int) else pa.string())
    return values.take(pa.array(number))


def _photometry(bands: Mapping[str, Photometry], rng: np.random.Generator) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for band, measured in bands.items():
        none, rows = measured.limit, len(measured.limit)
        profile = PROFILE_MEDIAN * np.exp(PROFILE_SIGMA * rng.standard_normal(rows, dtype=np.float32))
        aperture = measured.magnitude + np.float32(1.5) * measured.total * rng.standard_normal(rows, dtype=np.float32)
        made[f"{band}_m"] = measured.magnitude
        values = {
            "cmsig": measured.corrected,
            "msigcom": measured.total,
            "snr": measured.snr,
            "psfchi": np.round(profile, 2),
            "m_stdap": np.round(aperture, 3),
            "msig_stdap": np.round(np.float32(1.5) * measured.total, 3),
        }
        made |= {f"{band}_{what}": pa.array(value, mask=none) for what, value in values.items()}
    best = np.maximum(np.maximum(bands["j"].snr, bands["h"].snr), bands["k"].snr)
    made["err_maj"] = np.round(np.float32(0.06) + np.float32(1.2) / np.maximum(best, 5), 2)
    made["err_min"] = np.round(np.float32(0.06) + np.float32(0.9) / np.maximum(best, 5), 2)
    made["err_ang"] = rng.integers(0, 181, len(best), dtype=np.int16)
    return made


def _flags(bands: Mapping[str, Photometry], rng: np.random.Generator) -> dict[str, pa.Array]:
    facts = load_facts()
    quality, read, blend, frames = [], [], [], []
    for band in BANDS:
        measured, known = bands[band], facts.bands[band]
        rows = len(measured.limit)
        quality.append(np.where(measured.limit, 4, np.searchsorted(LETTER_ERRORS_MAG, measured.corrected)))
        bright = measured.magnitude < BRIGHT_MAG[band]
        failed = rng.random(rows, dtype=np.float32) < known.bright_limits
        read.append(np.where(measured.limit, np.where(failed, 3, 0), np.where(bright, 1, 2)))
        blended = rng.random(rows, dtype=np.float32) < known.blended
        blend.append(np.where(measured.limit, 0, 1 + blended))
        share = np.clip((measured.snr - 5) / 20, 0, 1)
        frames.append(np.where(measured.limit, 0, np.rint(_FRAMES * share)).astype(np.int8))
    detections = [f"{detected}{_FRAMES}" for detected in range(_FRAMES + 1)]
    return {
        "ph_qual": _spelled([LETTERS] * 3, quality),
        "rd_flg": _spelled([("0", "1", "2", "6")] * 3, read),
        "bl_flg": _spelled([("0", "1", "2")] * 3, blend),
        "ndet": _spelled([detections] * 3, frames),
        "cc_flg": _of("cc_flg", len(frames[0]), rng),
    }


def _neighbours(per_deg2: Values, first_row: int, rng: np.random.Generator) -> dict[str, Any]:
    rows = len(per_deg2)
    key = np.arange(first_row + 1, first_row + rows + 1, dtype=np.int32)
    away = np.sqrt(rng.standard_exponential(rows, dtype=np.float32) / (np.float32(np.pi) * per_deg2.astype(np.float32))) * np.float32(3600)
    galaxy = _of("gal_contam", rows, rng)
    extended = np.asarray(galaxy) > 0
    return {
        "prox": np.round(away, 1),
        "pxpa": rng.integers(0, 360, rows, dtype=np.int16),
        "pxcntr": np.where(key == 1, 2, key - 1),
        "pts_key": key,
        "gal_contam": galaxy,
        "mp_flg": _of("mp_flg", rows, rng),
        "ext_key": pa.array(key, mask=~extended),
        "dup_src": (rng.random(rows, dtype=np.float32) < 0.1).astype(np.int16),
        "use_src": np.ones(rows, dtype=np.int16),
    }


def _observation(ra: Values, dec: Values, tiles: Tiles) -> dict[str, Any]:
    tile, across = tiles.of(ra, dec)
    along = ((dec + 90) % positions.ZONE_DEG) / positions.ZONE_DEG
    width, length = positions.STRIP_ARCMIN * 60, positions.ZONE_DEG * 3600
    east, north = across >= 0.5, along >= 0.5
    image = (along * _IMAGES).astype(np.int32)
    return {
        "hemis": _spelled([("s", "n")], [dec > positions.NORTH_FROM_DEG]),
        "date": pa.array(tiles.night.take(tile), pa.int32()).cast(pa.date32()),
        "scan": tiles.scan.take(tile),
        "jdate": tiles.julian_date.take(tile),
        "x_scan": np.round((across.astype(np.float32) - np.float32(0.5)) * np.float32(width), 1),
        "dist_edge_ew": (np.minimum(across, 1 - across) * width).astype(np.int32),
        "dist_edge_ns": (np.minimum(along, 1 - along) * length).astype(np.int32),
        "dist_edge_flg": _spelled([("s", "n"), ("w", "e")], [north, east]),
        "scan_key": tile + 1,
        "coadd_key": tile * _IMAGES + image + 1,
        "coadd": (3 + 12 * image).astype(np.int16),
    }


def _optical(bands: Mapping[str, Photometry], rng: np.random.Generator) -> dict[str, Any]:
    j = bands["j"].magnitude
    rows = len(j)
    drawn = rng.random(rows, dtype=np.float32)
    none = drawn >= COUNTERPARTS
    away = np.float32(OPTICAL_ARCSEC) * np.sqrt(2 * rng.standard_exponential(rows, dtype=np.float32))
    blue = np.round(j + np.float32(3.0) + rng.standard_normal(rows, dtype=np.float32), 1)
    red = np.round(j + np.float32(1.8) + np.float32(0.6) * rng.standard_normal(rows, dtype=np.float32), 1)
    return {
        "a": _spelled([("U", "T", "0")], [np.where(none, 2, drawn < 0.02 * COUNTERPARTS)]),
        "dist_opt": pa.array(np.round(away, 1), mask=none),
        "phi_opt": pa.array(rng.integers(0, 360, rows, dtype=np.int16), mask=none),
        "b_m_opt": pa.array(blue, mask=none),
        "vr_m_opt": pa.array(red, mask=none),
        "nopt_mchs": (~none).astype(np.int16),
    }


VERSION: Final = 1
LEAST_FRACTION: Final = 1e-5
BATCH_ROWS: Final = 1 << 17  # about how many rows a batch has: batches end where a cell does
_THREADS: Final = 2


@dataclass(frozen=True)
class Sky:
    """The whole file as a plan: how many sources stand in each [joined bin, cell, bin within], and how densely."""

    counts: npt.NDArray[np.integer[Any]]
    per_deg2: npt.NDArray[np.float64]
    seed: int

    @property
    def joined(self) -> int:
        return int(self.counts.shape[2])

    def slices(self) -> Iterator[tuple[int, int, int]]:
        """Yield the first and the last cell (exclusive, in the file's order) of each batch, and the rows before it."""
        until = np.cumsum(self.counts.sum(axis=2).ravel())
        begin, before = 0, 0
        while begin < len(until):
            end = max(begin + 1, int(np.searchsorted(until, before + BATCH_ROWS)))
            yield begin, end, before
            begin, before = end, int(until[end - 1])

    def make(self, begin: int, end: int, before: int) -> pa.RecordBatch:
        rng = np.random.default_rng([self.seed, 1, begin])
        flat = self.counts.reshape(-1, self.joined)[begin:end]
        row, cell = divmod(begin, CELLS)
        ra, dec, found = positions.scatter(flat, row * self.joined, cell, rng)
        density = self.per_deg2.reshape(-1, self.joined)[begin:end].ravel()[found]
        columns = catalog_columns(ra, dec, density, first_row=before, tiles=tiles(self.seed), rng=rng)
        return pa.RecordBatch.from_arrays([columns[name] for name in PSC.columns], schema=PSC.schema)


def plan(fraction: float, seed: int) -> Sky:
    check_size("sky", fraction, seed, least=LEAST_FRACTION, why=f"of {ROWS:,} sources")
    density, joined = load_facts().density, positions.bins_joined(fraction)
    counts = positions.cell_counts(density, round(ROWS * fraction), joined)
    per_deg2 = positions.cell_densities(density).reshape(counts.shape[0], joined, CELLS).swapaxes(1, 2)
    return Sky(counts, np.ascontiguousarray(per_deg2), seed)


def batches(sky: Sky) -> Iterator[pa.RecordBatch]:
    """Yield the file in order; two are made ahead, never more, so that a large file is not all in memory."""
    slices = sky.slices()
    with ThreadPoolExecutor(max_workers=_THREADS) as makers:
        coming = [makers.submit(sky.make, *one) for one in islice(slices, _THREADS)]
        while coming:
            yield coming.pop(0).result()
            coming += [makers.submit(sky.make, *one) for one in islice(slices, 1)]


def write(parquet: Path, sky: Sky) -> dict[str, Any]:
    progress = Progress("sky: generating", int(sky.counts.sum()))
    with pq.ParquetWriter(parquet, PSC.schema, compression="snappy", use_dictionary=False) as writer:
        for rows in batches(sky):
            writer.write_batch(rows, row_group_size=rows.num_rows)
            progress.step(rows.num_rows)
    return {
        "what": "synthetic sources drawn from distilled facts of the real catalog; none is a real one",
        "facts": "data/datasets/twomass.toml",
        "declination_bin_deg": round(sky.joined * positions.BIN_DEG, 1),
        "assumed": list(load_facts().assumed),
    }
