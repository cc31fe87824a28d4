"""The sky of the survey's first battery: 2MASS point sources, synthetic, from their archive, or from a file of the reader's."""

import hashlib
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from tierwise.core.errors import InputError
from tierwise.datasets.dataset import Dataset, cached, from_file, sha256_of
from tierwise.datasets.sky import reader, remote, synthetic
from tierwise.datasets.sky.columns import PROFILE_SHARE, PSC, ROWS
from tierwise.datasets.sky.facts import facts_sha256
from tierwise.datasets.sky.queries import NAMES, Queries, load_queries

__all__ = ["NAMES", "PROFILE_SHARE", "PSC", "ROWS", "Queries", "acquire", "load_queries"]

_SOURCES: Final = "synthetic, download, download:RA_MIN,RA_MAX,DEC_MIN,DEC_MAX, download:psc_aaa,..., file:PATH"


def acquire(source: str, *, fraction: float, seed: int, folder: Path) -> Dataset:
    """Return the catalog as one Parquet file in `folder`; one that is there, whole and of the same request is used again.

    `source` is ``synthetic`` (`fraction` of the published rows, drawn with `seed`), ``download`` (a region, by default a small one, or
    files of the release: `remote.parse`) or ``file:PATH`` (all rows of that file; a relative path starts at the checkout). Real rows come
    whole, whatever `fraction` and `seed`.

    Raises:
        InputError: an unknown source, a fraction out of range, a file that is absent, malformed or cannot be fetched.
    """
    kind, _, named = source.partition(":")
    if source == "synthetic":
        return _synthetic(fraction, seed, folder)
    if kind == "download":
        return _downloaded(remote.parse(named), folder)
    if kind == "file" and named:
        return from_file("sky", named, folder, reader.VERSION, lambda path, part: reader.write([path], part))
    raise InputError("sky", field="source", value=source, rule="not a source of sky rows", remedy=f"name one of: {_SOURCES}")


def _synthetic(fraction: float, seed: int, folder: Path) -> Dataset:
    sky = synthetic.plan(fraction, seed)
    request = {
        "source": "synthetic",
        "fraction": fraction,
        "seed": seed,
        "generator_version": synthetic.VERSION,
        "facts_sha256": facts_sha256(),
    }
    return cached("sky", folder / f"sky-synthetic-{fraction:g}-seed{seed}.parquet", request, lambda part: synthetic.write(part, sky))


def _downloaded(wanted: remote.Region | list[str], folder: Path) -> Dataset:
    known = remote.release()
    if isinstance(wanted, remote.Region):
        request = {"source": f"download:{wanted.name}", "service": known.tap, "reader_version": reader.VERSION}
        parquet = folder / f"sky-region-{wanted.name}.parquet"
        return cached("sky", parquet, request, lambda part: remote.write_region(wanted, folder, part))
    request = {"source": f"download:{','.join(wanted)}", "address": known.files, "reader_version": reader.VERSION}

    def build(part: Path) -> dict[str, Any]:
        files = remote.fetch_files(wanted, folder)
        read, rows, needed = reader.write(files, part), pq.read_metadata(part).num_rows, known.rows(wanted)
        if needed not in (None, rows):
            raise InputError("sky", field="rows", value=rows, rule=f"{needed} are needed of {', '.join(wanted)}", remedy=remote.OFFLINE)
        return {**read, "files_sha256": {file.name: sha256_of(file) for file in files}, "licence": known.licence}

    label = hashlib.sha256(",".join(wanted).encode()).hexdigest()[:8]
    return cached("sky", folder / f"sky-files-{label}.parquet", request, build)
