"""The census study's rows of 1990: generated, fetched from the archive that keeps them, or from a file of the reader's."""

from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.toml import read_toml
from tierwise.datasets import dataset
from tierwise.datasets.census import raw_file, synthetic
from tierwise.datasets.census.facts import COUNTS, ROWS, SCHEMA, STATES, TYPES, ddl
from tierwise.datasets.dataset import Dataset
from tierwise.datasets.download import RemoteFile, fetch

__all__ = ["COUNTS", "ROWS", "SCHEMA", "STATES", "TYPES", "acquire", "ddl"]

OFFLINE: Final = (
    "CENSUS=download again, where the network is; or CENSUS=file:PATH of a copy that you have; or without CENSUS, synthetic rows"
)


def acquire(source: str, *, fraction: float, seed: int, folder: Path) -> Dataset:
    """Return the census as one Parquet file: ``synthetic`` (`fraction` of the published rows), ``download`` or ``file:PATH``."""
    if source == "synthetic":
        why = "with less, a state is too small to hold households"
        dataset.check_size("census", fraction, seed, least=synthetic.LEAST_FRACTION, why=why)
        write = partial(synthetic.write, fraction=fraction, seed=seed)
        return dataset.synthetic("census", folder, synthetic.VERSION, write, facts="census1990.json", fraction=fraction, seed=seed)
    if source == "download":
        return _downloaded(folder)
    return dataset.from_file("census", source, folder, raw_file.VERSION, raw_file.write, others="synthetic, download")


def _downloaded(folder: Path) -> Dataset:
    remote = read_toml(paths.data() / "datasets" / "census1990-raw.toml", RemoteFile)
    request = {"source": "download", "address": remote.address, "file_sha256": remote.sha256, "reader_version": raw_file.VERSION}

    def build(part: Path) -> dict[str, Any]:
        written = raw_file.write(fetch(remote, folder / remote.name, remedy=OFFLINE), part)
        rows = pq.read_metadata(part).num_rows
        if rows != remote.rows:
            raise InputError(remote.name, field="rows", value=rows, rule=f"{remote.rows} are needed", remedy=OFFLINE)
        return {**written, "sha256_recorded": f"{remote.recorded}: {remote.source}", "licence": remote.licence}

    return dataset.cached("census", folder / f"census-download-{str(remote.sha256)[:8]}.parquet", request, build)
