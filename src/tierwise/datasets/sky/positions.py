"""A survey's sky: how densely sources stand on it, where those of a run of cells stand, and what follows from that."""

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tierwise.datasets.sky_coordinates import galactic

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.integer[Any]]

BIN_DEG: Final = 0.1
BINS: Final = 1800  # the release's declination bins, from -90 degrees
CELLS: Final = 360  # cells of one degree of right ascension in each bin, within which sources are scattered evenly


@dataclass(frozen=True)
class Density:
    """A halo and two discs, denser towards the galactic centre: sources per square degree in the plane, and the discs' depth in degrees."""

    halo: float
    thin: float
    thin_deg: float
    thick: float
    thick_deg: float
    centre: float

    def per_deg2(self, lon_deg: Floats, lat_deg: Floats) -> Floats:
        away = np.abs(lat_deg)
        discs = self.thin * np.exp(-away / self.thin_deg) + self.thick * np.exp(-away / self.thick_deg)
        return self.halo + discs * np.exp(self.centre * np.cos(np.radians(lon_deg)))


def cell_densities(density: Density) -> Floats:
    dec = -90 + BIN_DEG * (np.arange(BINS) + 0.5)
    ra = (np.arange(CELLS) + 0.5) * 360 / CELLS
    return density.per_deg2(*galactic(*(grid.astype(np.float64) for grid in np.meshgrid(ra, dec))))


def bins_joined(fraction: float) -> int:
    """Return how many of the release's bins make one of a file of `fraction`: about 1/sqrt(fraction), so that no bin crosses the equator.

    With the release's own bins, a strip of right ascension would be a page or less wide in each bin of a small file, and a scan by it
    would touch far more of the file's pages than it does at full size.
    """
    wanted = fraction**-0.5
    return min((n for n in range(1, BINS // 2 + 1) if (BINS // 2) % n == 0), key=lambda n: abs(np.log(n / wanted)))


def cell_counts(density: Density, rows: int, joined: int) -> Ints:
    """Return sources in each [joined bin, cell, bin within], which add up to `rows` and are in proportion in every run of cells."""
    cell_areas_deg2 = np.diff(np.sin(np.radians(np.linspace(-90, 90, BINS + 1)))) * 180 / np.pi * 360 / CELLS
    expected = (cell_densities(density) * cell_areas_deg2[:, None]).reshape(BINS // joined, joined, CELLS).swapaxes(1, 2)
    until = np.cumsum(expected.ravel())
    counts: Ints = np.diff(np.rint(until * (rows / until[-1])).astype(np.int64), prepend=0)
    return counts.reshape(expected.shape)


ZONE_DEG: Final = 6
STRIP_ARCMIN: Final = 8.5
"""A tile of the survey: as long in declination, as wide in right ascension (description of VizieR's copy II/246, partly: see the facts)."""
NORTH_FROM_DEG: Final = 12.0
FIRST_NIGHT: Final = np.datetime64("1997-06-07")
LAST_NIGHT: Final = np.datetime64("2001-02-15")
_JULIAN_DAY_OF_1970: Final = 2_440_587.5


@dataclass(frozen=True)
class Tiles:
    """All tiles: the first one of each zone, how many it has, and of each tile the night (days since 1970), its scan number and time."""

    first: Ints
    strips: Ints
    night: Ints
    scan: Ints
    julian_date: Floats

    def of(self, ra_deg: Floats, dec_deg: Floats) -> tuple[Ints, Floats]:
        """Return the tile of each position, and how far across it the position lies, in [0, 1)."""
        zone = np.minimum(((dec_deg + 90) / ZONE_DEG).astype(np.int32), len(self.first) - 1)
        across = ra_deg * (self.strips / 360).take(zone)
        strip = across.astype(np.int32)
        return self.first.take(zone) + strip, across - strip


@cache
def tiles(seed: int) -> Tiles:
    rng = np.random.default_rng([seed, 0])
    middles = np.radians(np.arange(-90, 90, ZONE_DEG) + ZONE_DEG / 2)
    strips = np.maximum(np.rint(360 * np.cos(middles) / (STRIP_ARCMIN / 60)), 1).astype(np.int32)
    count = int(strips.sum())
    nights = (LAST_NIGHT - FIRST_NIGHT).astype(int)
    night = FIRST_NIGHT.astype("datetime64[D]").astype(int) + rng.integers(0, nights, count)
    scan = rng.integers(1, 200, count)
    julian_date = np.round(night + _JULIAN_DAY_OF_1970 + 0.1 + scan * 0.004, 4)
    first = np.concatenate([[0], np.cumsum(strips)[:-1]])
    return Tiles(first.astype(np.int32), strips, night.astype(np.int32), scan.astype(np.int16), julian_date)


def scatter(counts: Ints, first_bin: int, first_cell: int, rng: np.random.Generator) -> tuple[Floats, Floats, Ints]:
    """Draw right ascension, declination, and the index into `counts` [cell in the file's order, bin within] of as many sources.

    `first_bin` is the lowest bin of the first cell. In each cell, and so in each bin, sources stand in order of right ascension.
    """
    inner = counts.shape[1]
    cell = np.repeat(np.arange(counts.size, dtype=np.int32), counts.ravel())
    along = cell // inner + rng.random(len(cell))
    order = np.argsort(along)
    cell, along = cell[order], along[order] + first_cell
    ra = along % CELLS * (360 / CELLS)
    step = (along // CELLS) * inner + cell % inner + rng.random(len(cell))
    return _shortened(ra), _shortened(-90 + BIN_DEG * (first_bin + step)), cell


def _shortened(degrees: Floats) -> Floats:
    return np.asarray(np.floor(degrees * 1e6) / 1e6)


def designations(ra_deg: Floats, dec_deg: Floats) -> pa.Array:
    """Return ``hhmmssss+ddmmsss`` of each position, cut off as the names of the catalog are."""
    rows = len(ra_deg)
    text = np.empty((rows, 16), dtype=np.uint8)
    text[:, 8] = np.where(dec_deg < 0, ord("-"), ord("+"))
    _digits(text[:, :8], ra_deg / 15 * 360_000)
    _digits(text[:, 9:], np.abs(dec_deg) * 36_000)
    offsets = np.arange(0, 16 * (rows + 1), 16, dtype=np.int32)
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(text))


def _digits(text: npt.NDArray[np.uint8], parts: Floats) -> None:
    """Write `parts` (of a second, by powers of ten) as hours or degrees, minutes, seconds and decimals of seconds, right aligned."""
    rest = parts.astype(np.uint32)
    decimals = text.shape[1] - 6
    for place, base in zip(range(text.shape[1] - 1, -1, -1), [*[10] * (decimals + 1), 6, 10, 6, 10, 10], strict=True):
        rest, digit = np.divmod(rest, np.uint32(base))
        text[:, place] = digit + ord("0")
