"""The census study's rows of 1990: generated, fetched from the archive that keeps them, or from a file of the reader's."""

from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.toml import read_toml
from tierwise.datasets.census import raw_file, synthetic
from tierwise.datasets.census.columns import COLUMNS, COUNTS, ROWS, SCHEMA, STATES, ddl
from tierwise.datasets.census.facts import load_facts
from tierwise.datasets.dataset import Dataset, cached, check_size, from_file
from tierwise.datasets.download import RemoteFile, fetch

__all__ = ["COLUMNS", "COUNTS", "ROWS", "SCHEMA", "STATES", "acquire", "ddl"]

OFFLINE: Final = (
    "CENSUS=download again, where the network is; or CENSUS=file:PATH of a copy that you have; or without CENSUS, synthetic rows"
)


def acquire(source: str, *, fraction: float, seed: int, folder: Path) -> Dataset:
    """Return the census as one Parquet file in `folder`; one that is there, whole and of the same request is used again.

    `source` is ``synthetic`` (`fraction` of the published rows, drawn with `seed`), ``download`` (the real rows, fetched once) or
    ``file:PATH`` (all rows of that file; a relative path starts at the checkout). The real rows come whole, whatever `fraction` and `seed`.

    Raises:
        InputError: an unknown source, a fraction out of range, a file that is absent, malformed or cannot be fetched.
    """
    if source == "synthetic":
        return _synthetic(fraction, seed, folder)
    if source == "download":
        return _downloaded(folder)
    kind, _, path = source.partition(":")
    if kind == "file" and path:
        return from_file("census", path, folder, raw_file.VERSION, raw_file.write)
    raise InputError(
        "census", field="source", value=source, rule="not a source of census rows", remedy="name one of: synthetic, download, file:PATH"
    )


def _synthetic(fraction: float, seed: int, folder: Path) -> Dataset:
    check_size("census", fraction, seed, least=synthetic.LEAST_FRACTION, why="with less, a state is too small to hold households")
    request = {
        "source": "synthetic",
        "fraction": fraction,
        "seed": seed,
        "generator_version": synthetic.VERSION,
        "facts_sha256": load_facts().sha256,
    }
    write = partial(synthetic.write, fraction=fraction, seed=seed)
    return cached("census", folder / f"census-synthetic-{fraction:g}-seed{seed}.parquet", request, write)


def _downloaded(folder: Path) -> Dataset:
    remote = read_toml(paths.data() / "datasets" / "census1990-raw.toml", RemoteFile)
    request = {"source": "download", "address": remote.address, "file_sha256": remote.sha256, "reader_version": raw_file.VERSION}

    def build(part: Path) -> dict[str, Any]:
        written = raw_file.write(fetch(remote, folder / remote.name, remedy=OFFLINE), part)
        rows = pq.read_metadata(part).num_rows
        if rows != remote.rows:
            raise InputError(remote.name, field="rows", value=rows, rule=f"{remote.rows} are needed", remedy=OFFLINE)
        return {**written, "sha256_recorded": f"{remote.recorded}: {remote.source}", "licence": remote.licence}

    return cached("census", folder / f"census-download-{str(remote.sha256)[:8]}.parquet", request, build)
