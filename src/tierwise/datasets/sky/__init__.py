"""The sky of the survey's first battery: 2MASS point sources, synthetic, from their archive, or from a file of the reader's."""

import hashlib
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from tierwise.core.errors import InputError
from tierwise.datasets import dataset
from tierwise.datasets.dataset import Dataset, cached, sha256_of
from tierwise.datasets.sky import reader, remote, synthetic
from tierwise.datasets.sky.columns import PROFILE_SHARE, PSC, QUERY_NAMES, ROWS, Queries, load_queries

__all__ = ["PROFILE_SHARE", "PSC", "QUERY_NAMES", "ROWS", "Queries", "acquire", "load_queries"]

_OTHERS: Final = "synthetic, download, download:RA_MIN,RA_MAX,DEC_MIN,DEC_MAX, download:psc_aaa,..."


def acquire(source: str, *, fraction: float, seed: int, folder: Path) -> Dataset:
    """Return the catalog as one Parquet file in `folder`.

    `source` is ``synthetic`` (`fraction` of the published rows), ``download`` (a region or files of the release: `remote.parse`) or
    ``file:PATH``.
    """
    if source == "synthetic":
        write = partial(synthetic.write, sky=synthetic.plan(fraction, seed))
        return dataset.synthetic("sky", folder, synthetic.VERSION, write, facts="twomass.toml", fraction=fraction, seed=seed)
    kind, _, named = source.partition(":")
    if kind == "download":
        return _downloaded(remote.parse(named), folder)
    return dataset.from_file("sky", source, folder, reader.VERSION, lambda path, part: reader.write([path], part), others=_OTHERS)


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
