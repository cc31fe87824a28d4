"""How densely sources stand on the sky, and how many of a file stand in each cell of it."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tierwise.datasets.sky_coordinates import galactic

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.int64]

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
    """Return sources per square degree in each [bin, cell], at its middle."""
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
