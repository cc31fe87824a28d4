"""The real catalog from its archive: a region by TAP, in strips of declination; or files of the release."""

import time
import warnings
from datetime import date
from functools import cache, partial
from itertools import pairwise, product
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from tierwise.core import paths
from tierwise.core.errors import InputError, MissingError
from tierwise.core.progress import Progress, say
from tierwise.core.toml import Strict, read_toml, validate
from tierwise.datasets.dataset import cached
from tierwise.datasets.download import PASSING, Patience, Remote, announced_bytes, fetch
from tierwise.datasets.sky.columns import ROWS
from tierwise.datasets.sky.reader import VERSION, columns_of, write_tables

OFFLINE: Final = "SKY=download again, where the network is; or SKY=file:PATH of a copy that you have; or without SKY, synthetic sources"
MOST_ROWS: Final = 2_000_000
"""Asked of the service for each strip, which it may have a lower limit for: then the strip is halved."""
_LEAST_STRIP_DEG: Final = 1e-4


class Region(Strict):
    """A box on the sky: from the lower bounds to below the upper ones."""

    ra_min_deg: float = Field(ge=0, lt=360)
    ra_max_deg: float = Field(gt=0, le=360)
    dec_min_deg: float = Field(ge=-90, lt=90)
    dec_max_deg: float = Field(gt=-90, le=90)

    @property
    def name(self) -> str:
        """Return the region's bounds as they are typed, in degrees, with commas between them."""
        return ",".join(f"{bound:.10g}" for bound in (self.ra_min_deg, self.ra_max_deg, self.dec_min_deg, self.dec_max_deg))


class Known(Strict):
    """What somebody wrote down of one file of the release."""

    size_bytes: int
    sha256: str
    rows: int
    source: str


class Release(Strict):
    """What ``data/datasets/twomass-release.toml`` says of the release and of where it is fetched."""

    tap: str
    tap_table: str
    tap_source: str
    strip_deg: float = Field(gt=0)
    files: str
    files_source: str
    first_south: str
    last_south: str
    first_north: str
    last_north: str
    licence: str
    recorded: date
    default_region: Region
    known: dict[str, Known]

    @property
    def names(self) -> list[str]:
        """Return the names of the files, in the catalog's order."""
        letters = ["".join(ends) for ends in product(ascii_lowercase, repeat=2)]
        south = [f"psc_a{end}" for end in letters if end <= self.last_south[-2:]]
        return south + [f"psc_b{end}" for end in letters if end <= self.last_north[-2:]]

    def rows(self, names: list[str]) -> int | None:
        """Return how many rows the files of `names` have together, if that is known of each, or of the whole catalog."""
        if names == self.names:
            return ROWS
        return sum(self.known[name].rows for name in names) if all(name in self.known for name in names) else None


@cache
def _release(path: Path) -> Release:
    return read_toml(path, Release)


def release() -> Release:
    """Return what this checkout knows of it."""
    return _release(paths.data() / "datasets" / "twomass-release.toml")


def parse(wanted: str) -> Region | list[str]:
    """Return what stands behind ``download:``: nothing (the default region), four bounds in degrees, or names of files (``psc``: all).

    Raises:
        InputError: anything else.
    """
    known, words = release(), [word for word in wanted.split(",") if word]
    if not words:
        return known.default_region
    if words == ["psc"]:
        return known.names
    if all(word in known.names for word in words):
        return [name for name in known.names if name in words]
    try:
        bounds = dict(zip(Region.model_fields, map(float, words), strict=True))
    except ValueError as error:
        rule = "four bounds in degrees (RA_MIN,RA_MAX,DEC_MIN,DEC_MAX), names of the release's files (psc_aaa,...), or psc for all of them"
        raise InputError("sky", field="download", value=wanted, rule=rule) from error
    region = validate(bounds, Region, where=f"sky: download {wanted}")
    if region.ra_min_deg >= region.ra_max_deg or region.dec_min_deg >= region.dec_max_deg:
        raise InputError("sky", field="download", value=wanted, rule="each lower bound must be below its upper one")
    return region


def write_region(region: Region, folder: Path, parquet: Path, patience: Patience | None = None) -> dict[str, Any]:
    """Ask for `region` strip by strip, and write it; strips that an earlier attempt brought, whole, are in `folder` and not asked for
    again.

    Raises:
        InputError: the service refuses, or cannot be reached; says what is kept.
        MissingError: pyvo is not installed.
    """
    known = release()
    steps = max(1, int(np.ceil((region.dec_max_deg - region.dec_min_deg) / known.strip_deg - 1e-9)))
    bounds = np.linspace(region.dec_min_deg, region.dec_max_deg, steps + 1).round(6).tolist()
    progress, strips = Progress(f"sky: asking for {region.name}", steps), []
    for lower, upper in pairwise(bounds):
        strips.append(_strip(region, lower, upper, folder, patience or Patience()))
        progress.step()
    told = write_tables(known.tap, (pq.read_table(strip) for strip in strips), parquet)
    for strip in strips:
        strip.unlink()
        strip.with_suffix(".json").unlink()
    return {"what": f"every source of the region {region.name}, by strips of declination", **told, "licence": known.licence}


def _strip(region: Region, lower: float, upper: float, folder: Path, patience: Patience) -> Path:
    known = release()
    request = {"service": known.tap, "table": known.tap_table, "region": region.name, "dec_deg": [lower, upper], "reader_version": VERSION}

    def build(part: Path) -> dict[str, Any]:
        pq.write_table(_answer(region, lower, upper, patience), part)
        return {}

    return cached("strip", folder / f".strip-{region.name}-{lower:.6f}-{upper:.6f}.parquet", request, build).parquet


def _answer(region: Region, lower: float, upper: float, patience: Patience) -> pa.Table:
    """What the service has of a strip, by right ascension; in halves, the lower one first, where it gives no more rows at once."""
    known = release()
    bounds = f"ra >= {region.ra_min_deg:.10g} AND ra < {region.ra_max_deg:.10g} AND dec >= {lower:.6f} AND dec < {upper:.6f}"
    found = _patiently(f"SELECT * FROM {known.tap_table} WHERE {bounds} ORDER BY ra", patience)
    if found is not None:
        return found
    middle = round((lower + upper) / 2, 6)
    if middle - lower < _LEAST_STRIP_DEG:
        raise InputError("download", field="region", value=region.name, rule="too dense for the service's limit of rows", remedy=OFFLINE)
    return pa.concat_tables([_answer(region, lower, middle, patience), _answer(region, middle, upper, patience)])


class _PassingError(Exception):
    """A fault of the service or of the way to it, that may pass."""


def _patiently(query: str, patience: Patience) -> pa.Table | None:
    """The answer, None if there are more rows than the service gives; asked again after a pause where a fault may pass."""
    pauses = list(patience.pauses_s)
    while True:
        try:
            return _asked(query, patience.silence_s)
        except _PassingError as error:
            if not pauses:
                rule = f"{error}; strips that are whole are kept, and the next attempt goes on from there"
                raise InputError("download", field="address", value=release().tap, rule=rule, remedy=OFFLINE) from error
            say(f"download: {error}, trying again")
            time.sleep(pauses.pop(0))


def _asked(query: str, silence_s: float) -> pa.Table | None:
    try:
        import requests  # noqa: PLC0415  these take two seconds, and few need them
        from pyvo.dal import DALQueryError, DALServiceError, TAPService  # noqa: PLC0415
        from pyvo.dal.exceptions import DALFormatError, DALOverflowWarning  # noqa: PLC0415
    except ImportError as error:
        raise MissingError("pyvo", why=f"it asks the archive ({error})", remedy="pip install pyvo, or SKY=file:PATH") from error
    with requests.Session() as session, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what an archive's VOTable does not quite conform in
        warnings.simplefilter("error", DALOverflowWarning)
        session.request = partial(session.request, timeout=silence_s)  # type: ignore[method-assign]  # a session has no timeout of its own
        try:
            return columns_of(TAPService(release().tap, session=session).run_sync(query, maxrec=MOST_ROWS).resultstable)
        except DALOverflowWarning:
            return None
        except DALQueryError as error:
            rule = f"the service refuses: {error.reason}"
            raise InputError("download", field="address", value=release().tap, rule=rule, remedy=OFFLINE) from error
        except (DALServiceError, DALFormatError) as error:
            code = getattr(error, "code", None)
            if code is not None and 400 <= code < 500 and code not in PASSING:
                rule = f"the server answers {code}"
                raise InputError("download", field="address", value=release().tap, rule=rule, remedy=OFFLINE) from error
            raise _PassingError(f"no whole answer: {error.reason}") from error


def fetch_files(names: list[str], folder: Path, patience: Patience | None = None) -> list[Path]:
    """Return the release's files of `names` in `folder`, each whole; one that is there is not fetched again.

    Raises:
        InputError: one cannot be had, or is not what is known of it.
    """
    return [fetch(_remote(name, patience), folder / f"{name}.gz", remedy=OFFLINE, patience=patience) for name in names]


def _remote(name: str, patience: Patience | None) -> Remote:
    told, address = release(), f"{release().files}{name}.gz"
    known = told.known.get(name)
    return Remote(
        address=address,
        size_bytes=known.size_bytes if known else announced_bytes(address, remedy=OFFLINE, patience=patience),
        sha256=known.sha256 if known else None,
        rows=known.rows if known else None,
        recorded=told.recorded,
        source=known.source if known else "the server: nobody is known to have recorded this file",
        licence=told.licence,
    )
