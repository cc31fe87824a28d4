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
from tierwise.core.errors import InputError
from tierwise.core.progress import Progress, say
from tierwise.core.toml import Strict, read_toml, validate
from tierwise.datasets import download
from tierwise.datasets.dataset import cached
from tierwise.datasets.sky.columns import ROWS
from tierwise.datasets.sky.reader import VERSION, write_tables
from tierwise.datasets.sky.tables import columns_of

OFFLINE: Final = "SKY=download again, where the network is; or SKY=file:PATH of a copy that you have; or without SKY, synthetic sources"
MOST_ROWS: Final = 2_000_000  # the limit of rows that a query names; the service may have a lower one. A strip of more rows is halved.
_LEAST_STRIP_DEG: Final = 1e-4


class Region(Strict):
    ra_min_deg: float = Field(ge=0, lt=360)
    ra_max_deg: float = Field(gt=0, le=360)
    dec_min_deg: float = Field(ge=-90, lt=90)
    dec_max_deg: float = Field(gt=-90, le=90)

    @property
    def name(self) -> str:
        return ",".join(f"{bound:.10g}" for bound in (self.ra_min_deg, self.ra_max_deg, self.dec_min_deg, self.dec_max_deg))


class Known(Strict):
    size_bytes: int
    sha256: str
    rows: int
    source: str


class Release(Strict):
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
        letters = ["".join(ends) for ends in product(ascii_lowercase, repeat=2)]
        south = [f"psc_a{end}" for end in letters if end <= self.last_south[-2:]]
        return south + [f"psc_b{end}" for end in letters if end <= self.last_north[-2:]]

    def rows(self, names: list[str]) -> int | None:
        if names == self.names:
            return ROWS
        return sum(self.known[name].rows for name in names) if all(name in self.known for name in names) else None


@cache
def _release(path: Path) -> Release:
    return read_toml(path, Release)


def release() -> Release:
    return _release(paths.data() / "datasets" / "twomass-release.toml")


def parse(wanted: str) -> Region | list[str]:
    """Return what stands behind ``download:``: nothing (the default region), four bounds in degrees, or names of files (``psc``: all)."""
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


def write_region(region: Region, folder: Path, parquet: Path) -> dict[str, Any]:
    """Query `region` strip by strip, and write it; a strip that an earlier attempt brought, whole, is in `folder` and not fetched again."""
    known = release()
    steps = max(1, int(np.ceil((region.dec_max_deg - region.dec_min_deg) / known.strip_deg - 1e-9)))
    bounds = np.linspace(region.dec_min_deg, region.dec_max_deg, steps + 1).round(6).tolist()
    progress, strips = Progress(f"sky: fetching {region.name}", steps), []
    for lower, upper in pairwise(bounds):
        strips.append(_strip(region, lower, upper, folder))
        progress.step()
    written = write_tables(known.tap, (pq.read_table(strip) for strip in strips), parquet)
    for strip in strips:
        strip.unlink()
        strip.with_suffix(".json").unlink()
    return {"what": f"every source of the region {region.name}, by strips of declination", **written, "licence": known.licence}


def _strip(region: Region, lower: float, upper: float, folder: Path) -> Path:
    known = release()
    request = {"service": known.tap, "table": known.tap_table, "region": region.name, "dec_deg": [lower, upper], "reader_version": VERSION}

    def build(part: Path) -> dict[str, Any]:
        pq.write_table(_sources(region, lower, upper), part)
        return {}

    return cached("strip", folder / f".strip-{region.name}-{lower:.6f}-{upper:.6f}.parquet", request, build).parquet


def _sources(region: Region, lower: float, upper: float) -> pa.Table:
    known = release()
    bounds = f"ra >= {region.ra_min_deg:.10g} AND ra < {region.ra_max_deg:.10g} AND dec >= {lower:.6f} AND dec < {upper:.6f}"
    if (found := _query(f"SELECT * FROM {known.tap_table} WHERE {bounds} ORDER BY ra")) is not None:
        return found
    middle = round((lower + upper) / 2, 6)
    if middle - lower < _LEAST_STRIP_DEG:
        raise InputError("download", field="region", value=region.name, rule="too dense for the service's limit of rows", remedy=OFFLINE)
    return pa.concat_tables([_sources(region, lower, middle), _sources(region, middle, upper)])


def _query(query: str, retries: int | None = None) -> pa.Table | None:
    import requests  # noqa: PLC0415  these take two seconds, and few need them
    from pyvo.dal import DALQueryError, DALServiceError, TAPService  # noqa: PLC0415
    from pyvo.dal.exceptions import DALFormatError, DALOverflowWarning  # noqa: PLC0415

    left = download.RETRIES if retries is None else retries
    with requests.Session() as session, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what an archive's VOTable does not quite conform in
        warnings.simplefilter("error", DALOverflowWarning)
        session.request = partial(session.request, timeout=download.SILENCE_S)  # type: ignore[method-assign]  # a session has none itself
        try:
            return columns_of(TAPService(release().tap, session=session).run_sync(query, maxrec=MOST_ROWS).resultstable)
        except DALOverflowWarning:
            return None
        except DALQueryError as error:
            raise _refused(f"the service refuses: {error.reason}") from error
        except (DALServiceError, DALFormatError) as error:
            if download.is_permanent_refusal(code := getattr(error, "code", None)):
                raise _refused(f"the server answers {code}") from error
            reason = f"no whole answer: {error.reason}"
            if not left:
                raise _refused(f"{reason}; strips that are whole are kept, and the next attempt goes on from there") from error
    say(f"download: {reason}, trying again")
    time.sleep(download.RETRIES + 1 - left)
    return _query(query, left - 1)


def _refused(rule: str) -> InputError:
    return InputError("download", field="address", value=release().tap, rule=rule, remedy=OFFLINE)


def fetch_files(names: list[str], folder: Path) -> list[Path]:
    return [download.fetch(_remote(name), folder / f"{name}.gz", remedy=OFFLINE) for name in names]


def _remote(name: str) -> download.RemoteFile:
    facts = release()
    known = facts.known.get(name)
    return download.RemoteFile(
        address=f"{facts.files}{name}.gz",
        recorded=facts.recorded,
        licence=facts.licence,
        **(known.model_dump() if known else {"source": "the server: nobody is known to have recorded this file"}),
    )
