"""Positions on the sky: galactic coordinates, unit vectors, triangles of the hierarchical triangular mesh."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]

POLE_DEC_DEG: Final = 27.12825
POLE_RA_DEG: Final = 192.85948
NORTH_LON_DEG: Final = 122.93192  # the galactic north pole's position, and the celestial one's galactic longitude (J2000)


def galactic(ra_deg: Floats, dec_deg: Floats) -> tuple[Floats, Floats]:
    """Return longitude in [0, 360) and latitude, in degrees, of an equatorial position (J2000); as precise as the arguments' type."""
    ra, dec = np.radians(ra_deg - POLE_RA_DEG), np.radians(dec_deg)
    pole = np.radians(POLE_DEC_DEG)
    sin_dec, cos_dec, cos_ra = np.sin(dec), np.cos(dec), np.cos(ra)
    sin_pole, cos_pole = ra.dtype.type(np.sin(pole)), ra.dtype.type(np.cos(pole))
    lat = np.arcsin(np.clip(sin_dec * sin_pole + cos_dec * cos_pole * cos_ra, -1, 1))
    east = np.arctan2(cos_dec * np.sin(ra), sin_dec * cos_pole - cos_dec * sin_pole * cos_ra)
    return (ra.dtype.type(NORTH_LON_DEG) - np.degrees(east)) % 360, np.degrees(lat)


def unit_vectors(ra_deg: Floats, dec_deg: Floats) -> Floats:
    """Return the unit vectors of positions in degrees, as an array [axis, position]."""
    ra, dec = np.radians(ra_deg), np.radians(dec_deg)
    return np.stack([np.cos(ra) * np.cos(dec), np.sin(ra) * np.cos(dec), np.sin(dec)])


def htm_ids(vectors: Floats, depth: int = 20) -> npt.NDArray[np.int64]:
    """Return the triangle of the hierarchical triangular mesh (Kunszt, Szalay, Thakar 2001) of each unit vector [axis, position]."""
    axes = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [0, 0, -1]], dtype=np.float64)
    roots = np.array([[1, 5, 2], [2, 5, 3], [3, 5, 4], [4, 5, 1], [1, 0, 4], [4, 0, 3], [3, 0, 2], [2, 0, 1]])
    x, y, z = vectors
    quadrant = np.select([(x > 0) & (y >= 0), (x <= 0) & (y > 0), (x < 0) & (y <= 0)], [0, 1, 2], 3)
    root = np.where(z < 0, quadrant, 7 - quadrant)
    corners = axes[roots[root]].transpose(1, 2, 0)  # [corner, axis, position]
    found = root.astype(np.int64) + 8
    for _ in range(depth):
        a, b, c = corners
        middles = np.stack([b + c, a + c, a + b])
        middles /= np.linalg.norm(middles, axis=1, keepdims=True)
        p, q, r = middles
        child = np.select([_left(r, q, vectors), _left(p, r, vectors), _left(q, p, vectors)], [0, 1, 2], 3)
        corners = np.choose(child, [np.stack([a, r, q]), np.stack([b, p, r]), np.stack([c, q, p]), middles])
        found = found * 4 + child
    return found


def _left(start: Floats, end: Floats, vectors: Floats) -> npt.NDArray[np.bool_]:
    """Whether a vector lies on the outer side of the edge of the middle triangle, which runs from `start` to `end`."""
    return np.asarray(np.einsum("ij,ij->j", np.cross(start, end, axis=0), vectors) >= 0)
