"""Distil ``data/datasets/twomass.toml`` from real excerpts: ``PYTHONPATH=src .venv/bin/python scripts/distil_sky.py``.

Needs ../shared. Two fields at galactic latitude -20 tell magnitudes, colours, errors and flags; seven rows of an archive's answer tell how
the two kinds of error and the signal-to-noise ratio hang together. How densely sources stand on the sky is a model of six parameters,
fitted to the published size, to what the publishers say of its distribution, and to four fields. No row of an excerpt is kept.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from astropy.io import fits
from scipy.optimize import least_squares
from scipy.stats import spearmanr

from tierwise.core import paths
from tierwise.core.files import write_whole
from tierwise.datasets.sky.columns import ROWS
from tierwise.datasets.sky.positions import Density
from tierwise.datasets.sky_coordinates import NORTH_LON_DEG, POLE_DEC_DEG

Floats = npt.NDArray[np.float64]

EXCERPTS = paths.home().parent / "shared" / "realdata" / "twomass"
TARGET = paths.data() / "datasets" / "twomass.toml"
AT = (0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.995, 1.0)
EDGES = (*np.arange(4.0, 12.0, 1.0), *np.arange(12.0, 17.01, 0.25))
SUPPLEMENT = "https://www.ipac.caltech.edu/2mass/releases"
README = "https://irsa.ipac.caltech.edu/2MASS/download/allsky/README_ftp.html"
REFERENCE = f"{SUPPLEMENT}/second/doc/sec6_6.html: reference fields of 1 deg radius"
FIELDS = (  # galactic longitude and latitude, sources, square degrees, relative uncertainty that the fit allows, source
    (301.28, 77.87, 3701, np.pi, 0.03, REFERENCE),
    (217.58, 59.91, 4406, np.pi, 0.03, REFERENCE),
    (158.3, -20.3, 11_904, np.pi, 0.1, "realdata/twomass/ism_course_2mass_II246.csv: a circle of 1 deg radius"),
    (211.5, -19.4, 86_460, 20.3, 0.1, "realdata/twomass/Orion_A_2mass.fits: longitude 206.8 to 216.1, latitude -20.5 to -18.2"),
)
SHARES = (
    ("within 10 degrees of the galactic plane", 0.60, 0.02, f"{SUPPLEMENT}/allsky/doc/sec6_1n.html: approximately 60 %"),
    (
        "south of the equator",
        0.617,
        0.006,
        "57 of the 92 files of nearly equal length hold the south (README_ftp, as quoted in the source of the package Py2MASS); "
        "5,144,500 rows in the first"
        " file, counted by a third party: 56 to 57 such files of ROWS",
    ),
)
ASSUMED = (
    "magnitudes, colours, errors and flags depend on position only through the crowding of `crowding`; both fields lie at latitude -20 "
    "and hold"
    " dust, so that colours elsewhere are bluer than these",
    "`crowding`: what stands denser than 4,000 sources per square degree is brighter by up to 1 mag, in proportion to the log of its "
    "density"
    f" ({SUPPLEMENT.removeprefix('https://')}/spr99/doc/sec2_2: in a field of the plane, l = 55, b = 1, the counts turn over nearly 1 "
    f"mag brighter)",
    "density has the same two exponential discs at every longitude, scaled by exp(k cos l); neither bulge nor clouds nor the Magellanic "
    "Clouds",
    "given H, both colours are joined by a Gaussian copula; the three errors and the three upper limits of a source are independent of "
    "each other",
    "j_psfchi, h_psfchi, k_psfchi: log-normal, median 0.95, sigma 0.25; null without a profile fit",
    "standard aperture: magnitude within 1.5 errors of the default one, its error 1.5 times the default one; null for an upper limit",
    "optical counterpart (5 of 7 rows of the archive's answer have one): 65 % of the sources, 2 % of these from Tycho 2; distance "
    "Rayleigh with"
    " sigma 0.35 arcsec; B - J and R - J normal",
    "prox: distance to the nearest neighbour of randomly scattered sources at the local density; pxcntr: the row before or behind",
    "tiles of 6 deg by 8.5 arcmin, each observed at a random time of the survey, in the north above declination 12; pts_key counts in "
    "file order",
    "err_maj, err_min: from the signal-to-noise ratio of the brightest band, between those of the seven rows",
    "at a fraction below 1 the declination bins are wider by about 1/sqrt(fraction), so that a strip of right ascension stays many "
    "pages wide in"
    " each bin; counts by place are in exact proportion",
)


def read_fields() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Magnitudes and errors (null: an upper limit) of both fields, and the second one with its flags."""
    orion = fits.getdata(EXCERPTS / "Orion_A_2mass.fits", 1)
    names = {f"{band}{kind}": f"{prefix}{band.upper()}mag" for band in "jhk" for kind, prefix in (("", ""), ("_e", "e_"))}
    first = pl.DataFrame({ours: np.asarray(orion[theirs], dtype=np.float64) for ours, theirs in names.items()}).fill_nan(None)
    flags = ("Qflg", "Rflg", "Bflg", "Cflg")
    second = pl.read_csv(EXCERPTS / "ism_course_2mass_II246.csv", schema_overrides=dict.fromkeys(flags, pl.String))
    second = second.select(*(pl.col(theirs).alias(ours) for ours, theirs in names.items()), *flags, "Xflg", "Aflg")
    return first, second


def declination(lon_deg: Floats, lat_deg: Floats) -> Floats:
    lat, pole = np.radians(lat_deg), np.radians(POLE_DEC_DEG)
    sine = np.sin(pole) * np.sin(lat) + np.cos(pole) * np.cos(lat) * np.cos(np.radians(NORTH_LON_DEG - lon_deg))
    return np.asarray(np.degrees(np.arcsin(np.clip(sine, -1, 1))))


def fit_density() -> tuple[Density, list[tuple[str, float, float, str]]]:
    """Return the model, and what it was fitted on: (what, wanted, found, source)."""
    lons, lats = np.meshgrid(np.arange(2.0, 360.0, 4.0), np.arange(-89.9, 90.0, 0.2))
    area = np.cos(np.radians(lats)) * 4.0 * 0.2
    south = declination(lons, lats) < 0

    def found(density: Density) -> Floats:
        sources = density.per_deg2(lons, lats) * area
        total = sources.sum()
        shares = [sources[np.abs(lats) < 10].sum() / total, sources[south].sum() / total]
        return np.array([total, *shares, *(float(density.per_deg2(np.array(lon), np.array(lat))) for lon, lat, *_ in FIELDS)])

    wanted = np.array([ROWS, *(share for _, share, *_ in SHARES), *(count / deg2 for _, _, count, deg2, *_ in FIELDS)])
    tolerance = np.array([0.002, *(allowed / share for _, share, allowed, _ in SHARES), *(allowed for *_, allowed, _ in FIELDS)])

    def missed(logs: Floats) -> Floats:
        away: Floats = np.log(found(_density(logs)) / wanted) / tolerance
        return away

    fitted = least_squares(missed, [7.0, 10.0, 1.0, 9.0, 2.5, 0.0])
    density = Density(*(float(f"{value:.4g}") for value in np.exp(fitted.x)))
    names = ["sources", *(name for name, *_ in SHARES), *(f"sources per square degree at l = {lon}, b = {lat}" for lon, lat, *_ in FIELDS)]
    sources = [README, *(source for *_, source in SHARES), *(source for *_, source in FIELDS)]
    return density, list(zip(names, wanted.tolist(), found(density).tolist(), sources, strict=True))


def _density(logs: Floats) -> Density:
    return Density(*np.exp(logs))


def quantiles(values: Floats, decimals: int = 3) -> list[float]:
    """Return the quantiles of `values` at `AT`."""
    return [round(float(value), decimals) for value in np.quantile(values, AT)]


def by_magnitude(magnitude: Floats, *columns: Floats) -> tuple[list[float], list[list[list[float]]], list[npt.NDArray[np.bool_]]]:
    """Edges (the first and the last bin are open), quantiles of each column in each bin, and which rows are in which bin."""
    edges = [edge for edge in EDGES if 100 <= (magnitude < edge).sum() <= len(magnitude) - 100]
    bins = np.digitize(magnitude, edges)
    inside = [bins == number for number in range(len(edges) + 1)]
    return edges, [[quantiles(column[rows]) for rows in inside] for column in columns], inside


def distil_magnitudes(both: pl.DataFrame) -> dict[str, Any]:
    """H, and both colours given H."""
    j, h, k = (both[band].to_numpy() for band in "jhk")
    edges, (j_h, h_k), inside = by_magnitude(h, j - h, h - k)
    at = [0.0, 0.0002, 0.001, *np.linspace(0.004, 0.996, 63).round(4), 0.999, 0.9998, 1.0]
    correlation = [float(spearmanr((j - h)[rows], (h - k)[rows]).statistic) for rows in inside]
    within = (j > 16) & (h > 15.6) & (h < 15.8) & (k > 15.1) & (k < 15.3)
    return {
        "second_query_share": round(float(within.mean()), 5),
        "at": at,
        "h": np.quantile(h, at).round(3).tolist(),
        "edges": edges,
        "colour_at": list(AT),
        "j_h": j_h,
        "h_k": h_k,
        "correlation": np.round(2 * np.sin(np.pi / 6 * np.array(correlation)), 3).tolist(),
    }


def distil_band(band: str, place: int, both: pl.DataFrame, flagged: pl.DataFrame) -> dict[str, Any]:
    """Errors by magnitude, and by magnitude the share of upper limits."""
    valid = both.filter(pl.col(f"{band}_e").is_between(0, 1))
    edges, (errors,), _ = by_magnitude(valid[band].to_numpy(), valid[f"{band}_e"].to_numpy())
    letter = {flag: flagged[flag].str.slice(place, 1) for flag in ("Rflg", "Bflg")}
    limit = (flagged["Qflg"].str.slice(place, 1) == "U").to_numpy()
    bins = np.digitize(flagged[band].to_numpy(), edges)
    limits = [float(limit[bins == number].mean()) if (bins == number).any() else 0.0 for number in range(len(edges) + 1)]
    fitted = letter["Bflg"].is_in(["1", "2"])
    return {
        "edges": edges,
        "errors": errors,
        "limits": np.round(limits, 4).tolist(),
        "bright_limits": round(float((letter["Rflg"].to_numpy() == "6").sum() / limit.sum()), 3),  # rd_flg 6 among the upper limits, else 0
        "blended": round(float(np.mean(letter["Bflg"].filter(fitted).to_numpy() == "2")), 4),
    }


def distil_answer() -> dict[str, float]:
    """How the corrected error, the total one and the signal-to-noise ratio hang together in the archive's seven rows."""
    text = (EXCERPTS / "irsa_fp_psc_polygon.xml").read_text(encoding="utf-8")
    names = re.findall(r'<FIELD name="(\w+)"', text)
    rows = [re.findall(r"<TD>(.*?)</TD>", row) for row in re.findall(r"<TR>(.*?)</TR>", text)]
    column = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    corrected, total, snr = (
        np.array([float(value) for band in "jhk" for value in column[f"{band}_{what}"]]) for what in ("cmsig", "msigcom", "snr")
    )
    ratio = np.log(snr * corrected)
    return {
        "added_error_mag": round(float(np.sqrt(np.mean(np.maximum(total**2 - corrected**2, 0)))), 4),
        "snr_times_error": round(float(np.exp(ratio.mean())), 3),
        "snr_scatter": round(float(ratio.std(ddof=1)), 3),
    }


def shares(column: pl.Series, least: int = 10) -> dict[str, list[Any]]:
    """Values and their counts, the rare ones left out."""
    counted = column.value_counts().filter(pl.col("count") >= least).sort("count", column.name, descending=[True, False])
    return {"values": counted[column.name].to_list(), "counts": counted["count"].to_list()}


def text() -> str:
    """Return the whole file."""
    density, fitted_on = fit_density()
    orion, flagged = read_fields()
    both = pl.concat([orion, flagged.select(orion.columns)])
    tables: dict[str, dict[str, Any]] = {
        "size": {"rows": ROWS, "source": README},
        "order": {
            "bin_deg": 0.1,
            "source": "README_ftp, as quoted in the source of the package Py2MASS: bins of 0.1 deg from declination -90, in each by "
            "right ascension",
        },
        "density": {name: getattr(density, name) for name in Density.__dataclass_fields__},
        "crowding": {"from_per_deg2": 4000.0, "brighter_mag": 1.0, "at": [55.0, 1.0]},
        "magnitudes": {"rows": both.height, **distil_magnitudes(both)},
        **{f"bands.{band}": distil_band(band, place, both, flagged) for place, band in enumerate("jhk")},
        "answer": distil_answer(),
        "flags.cc_flg": shares(flagged["Cflg"]),
        "flags.gal_contam": shares(flagged["Xflg"], 1),
        "flags.mp_flg": shares(flagged["Aflg"], 1),
    }
    head = [
        "# What is known of the 2MASS Point Source Catalog, distilled by scripts/distil_sky.py, which says of what; no row of an "
        "excerpt is kept.",
        "# Quantiles of colours and errors are at `magnitudes.colour_at`, one line for each bin of magnitude between `edges`.",
        "",
        f"assumed = {_value(list(ASSUMED))}",
    ]
    for what, wanted, got, source in fitted_on:
        head += [
            "",
            "[[fitted_on]]",
            f"what = {_value(what)}",
            f"published = {wanted:.6g}",
            f"model = {got:.6g}",
            f"source = {_value(source)}",
        ]
    body = [
        line for name, table in tables.items() for line in ("", f"[{name}]", *(f"{key} = {_value(value)}" for key, value in table.items()))
    ]
    return "\n".join([*head, *body, ""])


def _value(value: Any) -> str:
    """Write a value as TOML; a list of lists or of sentences over several lines."""
    if isinstance(value, list) and value and (isinstance(value[0], list) or (isinstance(value[0], str) and len(value[0]) > 20)):
        return "[\n" + "".join(f"    {_value(entry)},\n" for entry in value) + "]"
    if isinstance(value, list):
        return "[" + ", ".join(_value(entry) for entry in value) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"{float(value):g}" + (".0" if float(value).is_integer() else "") if isinstance(value, float) else str(value)


if __name__ == "__main__":
    write_whole(TARGET, text())
    print(f"{paths.short(TARGET)}: {Path(TARGET).stat().st_size:,} bytes")
