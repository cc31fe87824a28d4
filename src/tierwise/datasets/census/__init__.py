"""The 1990 census rows of source M: generated, or from a file of the reader's."""

from pathlib import Path
from typing import Any

from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.datasets.census import raw_file, synthetic
from tierwise.datasets.census.columns import COLUMNS, COUNTS, ROWS, SCHEMA, STATES, ddl
from tierwise.datasets.census.facts import load_facts
from tierwise.datasets.dataset import Dataset, cached, sha256_of

__all__ = ["COLUMNS", "COUNTS", "ROWS", "SCHEMA", "STATES", "acquire", "ddl"]


def acquire(source: str, *, fraction: float, seed: int, folder: Path) -> Dataset:
    """The census as one Parquet file in `folder`; one that is there, whole and of the same request is used again.

    `source` is ``synthetic`` (`fraction` of the published rows, drawn with `seed`) or ``file:PATH`` (all rows of that file, whatever
    `fraction` and `seed`; a relative path starts at the checkout).

    Raises:
        InputError: an unknown source, a fraction out of range, a file that is absent or malformed (nothing is written then).
    """
    if source == "synthetic":
        return _synthetic(fraction, seed, folder)
    kind, _, path = source.partition(":")
    if kind == "file" and path:
        return _file(paths.home() / Path(path).expanduser(), folder)
    raise InputError("census", field="source", value=source, rule="not a source of census rows", remedy="name one of: synthetic, file:PATH")


def _synthetic(fraction: float, seed: int, folder: Path) -> Dataset:
    synthetic.check(fraction, seed)
    request = {
        "source": "synthetic",
        "fraction": fraction,
        "seed": seed,
        "generator_version": synthetic.VERSION,
        "facts_sha256": load_facts().sha256,
    }

    def build(part: Path) -> dict[str, Any]:
        return synthetic.write(part, fraction=fraction, seed=seed)

    return cached("census", folder / f"census-synthetic-{fraction:g}-seed{seed}.parquet", request, build)


def _file(path: Path, folder: Path) -> Dataset:
    try:
        digest = sha256_of(path)
    except OSError as error:
        rule = f"cannot be read: {error.strerror}"
        raise InputError("census", field="file", value=str(path), rule=rule, remedy="name a file: CENSUS=file:PATH") from error
    request = {"source": f"file:{paths.short(path)}", "file_sha256": digest, "reader_version": raw_file.VERSION}

    def build(part: Path) -> dict[str, Any]:
        return raw_file.write(path, part)

    return cached("census", folder / f"census-file-{digest[:8]}.parquet", request, build)
