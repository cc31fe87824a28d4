"""The tables of a survey archive (UKIDSS, VISTA, VST), and the rows of each, field by field or frame by frame."""

from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tierwise.core import paths
from tierwise.core.toml import Strict, read_table, read_toml, validate
from tierwise.datasets.archive_table import Declared, Table
from tierwise.datasets.sky_coordinates import galactic
from tierwise.datasets.survey import fields
from tierwise.datasets.survey.fields import Field, Floats, Frames, Ints, Place


class _Columns(Declared):
    source: str


class _Table(Strict):
    key: tuple[str, ...]
    indexed: tuple[tuple[str, ...], ...] = ()
    constants: dict[str, int | float | str]


class _Tables(Strict):
    assumed: tuple[str, ...]
    tables: dict[str, _Table]


TABLES: Final = read_toml(Path(__file__).with_name("tables.toml"), _Tables)
NAMES: Final = tuple(TABLES.tables)  # in the order in which they can be loaded


@cache
def load_tables() -> dict[str, Table]:
    path = paths.data() / "datasets" / "survey.toml"
    read = {name: validate(entry, _Columns, where=f"{paths.short(path)}: {name}") for name, entry in read_table(path).items()}
    return {name: Table(name, read[name].types, table.key, table.indexed) for name, table in TABLES.tables.items()}


PIXEL_ARCSEC: Final = 0.21
APERTURES: Final = 13
UNCORRECTED_APERTURES: Final = 7
SOURCE_MAGNITUDES: Final = {"PetroMag": -0.02, "PsfMag": 0.0, "SerMag2D": 0.01, "AperMag3": 0.0, "AperMag4": -0.01, "AperMag6": -0.02}
"""Each by how much it is fainter than the detection's own."""
LEAST_EPOCHS: Final = 5
VARIABLE_RATIO: Final = 3.0
"""variableClass is 1 where the intrinsic scatter over the expected one, weighted by observations over bands with at least five, exceeds
this (glossary of the WSA, UKIDSSDR7: variableClass)."""


def filled(name: str, rows: int, values: Mapping[str, Any]) -> pa.RecordBatch:
    """Return rows of table `name`: `values` and the table's constants by column, else the archives' default for a missing value."""
    schema, values = load_tables()[name].schema, {**TABLES.tables[name].constants, **values}
    assert values.keys() <= set(schema.names), values.keys() - set(schema.names)
    return pa.RecordBatch.from_arrays([_column(field, rows, values) for field in schema], schema=schema)


def _column(field: pa.Field, rows: int, values: Mapping[str, Any]) -> pa.Array:
    if field.name in values:
        value = values[field.name]
        given = np.full(rows, value) if np.ndim(value) == 0 else value
        return pa.array(given).cast(field.type, safe=False)
    if pa.types.is_string(field.type):
        return pa.repeat(fields.NO_TEXT, rows)
    if pa.types.is_floating(field.type):
        return pa.array(np.full(rows, fields.NO_REAL, dtype=field.type.to_pandas_dtype()))
    return pa.array(np.full(rows, max(fields.NO_INTEGER, np.iinfo(field.type.to_pandas_dtype()).min), dtype=field.type.to_pandas_dtype()))


def position(at: Place) -> dict[str, Any]:
    vectors = dict(zip(("cx", "cy", "cz"), at.vectors, strict=True))
    return {"ra": at.ra, "dec": at.dec, **vectors, "htmID": at.htm_id}


def both_positions(at: Place) -> dict[str, Any]:
    lon, lat = galactic(at.ra, at.dec)
    return {**position(at), "l": lon, "b": lat}


def frame_set_ids(field: int, ext_num: Ints) -> Ints:
    return 433_000_000 + np.int64(field) * fields.DETECTORS**2 + ext_num - 2


def multiframe(frames: Frames) -> pa.RecordBatch:
    rows = len(frames.field)
    date = (np.datetime64("1858-11-17") + frames.mjd.astype(np.int64)).astype(str)
    names = np.array([f"survey{number:08d}" for number in range(rows)])
    filters = np.array(list(fields.BANDS))[frames.band]
    values = {
        "multiframeID": frames.ids,
        "filterName": filters,
        "filterID": frames.band + 1,
        "mjdObs": frames.mjd,
        "mjdEnd": frames.mjd + 0.002,
        "utDate": date,
        "dateObs": date,
        "fileName": names,
        "catName": np.char.add(names, "_cat"),
    }
    return filled("Multiframe", rows, values)


def merge_log(field: Field, frames: Frames) -> pa.RecordBatch:
    detector = np.arange(fields.DETECTORS**2, dtype=np.int16) + 2
    middle = (np.arange(fields.DETECTORS) + 0.5) / fields.DETECTORS
    first = frames.ids[field.frames[fields.references(frames.band[field.frames])]]
    middles = position(fields.place(field.number, np.tile(middle, fields.DETECTORS), np.repeat(middle, fields.DETECTORS)))
    values = {"frameSetID": frame_set_ids(field.number, detector), **middles}
    for band, identifier in zip(fields.BANDS, first.tolist(), strict=True):
        values |= {f"{band}mfID": identifier, f"{band}eNum": detector}
    return filled("MergeLog", len(detector), values)


def source(field: Field, frames: Frames) -> pa.RecordBatch:
    values: dict[str, Any] = {
        "sourceID": field.source_ids,
        "frameSetID": frame_set_ids(field.number, field.ext_num),
        **both_positions(fields.place(field.number, field.x, field.y)),
    }
    found: dict[str, tuple[Floats, Any]] = {}
    for band, exposure in zip(fields.BANDS, fields.references(frames.band[field.frames]), strict=True):
        detected, magnitude = field.detected[:, exposure], field.magnitude[:, exposure]
        found[band] = magnitude, detected
        error = fields.error_mag(magnitude)
        for name, offset in SOURCE_MAGNITUDES.items():
            values[f"{band}{name}"] = np.where(detected, magnitude + offset, fields.NO_REAL)
            values[f"{band}{name}Err"] = np.where(detected, error, fields.NO_REAL)
        for aperture in (3, 4, 6):
            values[f"{band}AperMagNoAperCorr{aperture}"] = np.where(detected, magnitude + 0.1, fields.NO_REAL)
        values |= {f"{band}SeqNum": field.seq_num[:, exposure], f"{band}Class": np.where(detected, -1, fields.NO_INTEGER)}
        values |= {f"{band}ppErrBits": np.where(detected, 0, fields.NO_INTEGER), f"{band}ErrBits": np.where(detected, 0, fields.NO_INTEGER)}
    for blue, red in pairwise(fields.BANDS):
        (first, in_first), (second, in_second) = found[blue], found[red]
        error = np.hypot(fields.error_mag(first), fields.error_mag(second))
        values[f"{blue}m{red}Pnt"] = np.where(in_first & in_second, first - second, fields.NO_REAL)
        values[f"{blue}m{red}PntErr"] = np.where(in_first & in_second, error, fields.NO_REAL)
    return filled("Source", len(field.x), values)


def detection(field: Field, frames: Frames, exposure: int, at: Place) -> pa.RecordBatch:
    """Return what one exposure of `field` detected, in its own order; `at` are the field's sources, then what is spurious, by exposure."""
    found, extra = np.flatnonzero(field.detected[:, exposure]), field.spurious[exposure]
    x, y = np.concatenate([field.x[found], extra.x]), np.concatenate([field.y[found], extra.y])
    order, numbers = fields.frame_order(x, y)
    before = len(field.x) + sum(len(one.x) for one in field.spurious[:exposure])
    where = at.of(np.concatenate([found, before + np.arange(len(extra.x))])[order])
    frame = int(field.frames[exposure])
    magnitude = np.concatenate([field.magnitude[found, exposure], extra.magnitude])[order]
    values = {
        "multiframeID": int(frames.ids[frame]),
        "extNum": fields.ext_num(x, y)[order],
        "seqNum": numbers[order],
        "filterID": int(frames.band[frame]) + 1,
        "x": x[order] * fields.FIELD_DEG * 3600 / PIXEL_ARCSEC,
        "y": y[order] * fields.FIELD_DEG * 3600 / PIXEL_ARCSEC,
        "mjd": float(frames.mjd[frame]),
        **both_positions(where),
        **_measures(magnitude),
        "class": np.where(order < len(found), -1, 0),
        "objID": np.int64(frame) * 10_000_000 + np.arange(len(order)),
    }
    return filled("Detection", len(order), values)


def _measures(magnitude: Floats) -> dict[str, Any]:
    counts, error = 10 ** (-0.4 * (magnitude - 25)), fields.error_mag(magnitude)  # with a zero point of 25 mag
    values: dict[str, Any] = {"isoMag": magnitude, "isoFlux": counts, "pHeight": counts / 12, "pHeightErr": counts / 12 * error}
    for aperture in range(1, APERTURES + 1):
        share = np.float32(1 - 0.8**aperture)
        values |= {f"aperFlux{aperture}": counts * share, f"aperFlux{aperture}err": counts * error * share}
        values |= {f"aperMag{aperture}": magnitude, f"aperMag{aperture}err": error}
        if aperture <= UNCORRECTED_APERTURES:
            values[f"aperMagNoAperCorr{aperture}"] = magnitude - np.float32(2.5) * np.log10(share)
    for profile in ("petro", "kron", "half", "psf"):
        values |= {f"{profile}Flux": counts, f"{profile}FluxErr": counts * error, f"{profile}Mag": magnitude, f"{profile}MagErr": error}
    return values


def best_match(field: Field, frames: Frames) -> pa.RecordBatch:
    """Return each source in each exposure of its field, in this order; without a detection, the archive's defaults."""
    sources, exposures = field.seq_num.shape
    seq_num = field.seq_num.ravel()
    values = {
        "sourceID": np.repeat(field.source_ids, exposures),
        "multiframeID": np.tile(frames.ids[field.frames], sources),
        "extNum": np.repeat(field.ext_num, exposures),
        "seqNum": seq_num,
        "modelDistSecs": np.where(seq_num == fields.NO_INTEGER, fields.NO_REAL, 0.05 * (1 + seq_num % 3)),
    }
    return filled("BestMatch", len(seq_num), values)


def variability(field: Field, frames: Frames) -> pa.RecordBatch:
    rows = len(field.x)
    values: dict[str, Any] = {
        "sourceID": field.source_ids,
        "frameSetID": frame_set_ids(field.number, field.ext_num),
        "variableClass": 0,
    }
    for number, band in enumerate(fields.BANDS):
        mine = frames.band[field.frames] == number
        found = _statistics(field.magnitude[:, mine].astype(np.float64), field.detected[:, mine])
        values |= {f"{band}{what}": value for what, value in found.items()}
        if number == fields.EPOCH_BAND:  # the only one with five observations
            values["variableClass"] = found["VarClass"]
    return filled("Variability", rows, values)


def _statistics(magnitude: Floats, good: Any) -> dict[str, Any]:
    count = good.sum(axis=1)
    some = np.maximum(count, 1)
    mean = np.where(good, magnitude, 0).sum(axis=1) / some
    away = np.where(good, magnitude - mean[:, None], 0)
    rms = np.sqrt((away**2).sum(axis=1) / np.maximum(count - 1, 1))
    median = _middle(magnitude, good)
    expected = fields.error_mag(mean)
    intrinsic = np.sqrt(np.maximum(rms**2 - expected**2, 0))
    ratio = np.where(count >= LEAST_EPOCHS, intrinsic / expected, 0)
    several = count >= LEAST_EPOCHS
    measured = {
        "MeanMag": np.where(count > 0, mean, fields.NO_REAL),
        "MedianMag": np.where(count > 0, median, fields.NO_REAL),
        "minMag": np.where(count > 0, np.where(good, magnitude, np.inf).min(axis=1), fields.NO_REAL),
        "maxMag": np.where(count > 0, np.where(good, magnitude, -np.inf).max(axis=1), fields.NO_REAL),
        "MagMAD": np.where(several, _middle(np.abs(magnitude - median[:, None]), good), fields.NO_REAL),
        "MagRms": np.where(several, rms, fields.NO_REAL),
        "skewness": np.where(several, (away**3).sum(axis=1) / some / np.maximum(rms, 1e-6) ** 3, fields.NO_REAL),
        "ExpRms": np.where(several, expected, fields.NO_REAL),
        "IntRms": np.where(several, intrinsic, fields.NO_REAL),
        "ChiSqPd": np.where(several, (rms / expected) ** 2, fields.NO_REAL),
        "ProbVar": np.where(several, np.clip(ratio / VARIABLE_RATIO, 0, 1), fields.NO_REAL),
    }
    return {
        "nGoodObs": count,
        "nFlagObs": np.zeros_like(count),
        "nMissingObs": (~good).sum(axis=1),
        **measured,
        "VarClass": (ratio > VARIABLE_RATIO).astype(np.int32),
    }


def _middle(values: Floats, good: Any) -> Floats:
    ordered, count = np.sort(np.where(good, values, np.inf), axis=1), good.sum(axis=1)
    rows = np.arange(len(count))
    low, high = ordered[rows, np.maximum(count - 1, 0) // 2], ordered[rows, count // 2 if ordered.shape[1] > 1 else np.zeros_like(count)]
    return np.where(count > 0, np.where(count % 2 == 1, low, (low + np.where(np.isfinite(high), high, low)) / 2), 0.0)
