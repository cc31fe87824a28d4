"""A dataset on disk: one Parquet file, and beside it a sidecar that says where its rows come from."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from tierwise.core.files import replacing, write_whole

ColumnType = Literal["boolean", "integer", "text"]


@dataclass(frozen=True)
class Column:
    """One column, by the source's name for it."""

    name: str
    type: ColumnType


@dataclass(frozen=True)
class Dataset:
    """`rows` rows in `parquet` (its SHA-256 is `sha256`); `provenance` is fit for a report: no machine path in it."""

    name: str
    parquet: Path
    rows: int
    sha256: str
    provenance: dict[str, Any]


def sha256_of(path: Path) -> str:
    """Return digest of the whole file, in hexadecimal."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def cached(name: str, parquet: Path, request: dict[str, Any], build: Callable[[Path], dict[str, Any]]) -> Dataset:
    """Return the dataset at `parquet` if its sidecar answers `request` and the file is whole, else the one that `build` writes.

    `build` writes the Parquet file at the path that it is given and returns what provenance has to say beyond the request.
    The sidecar (`parquet` with ``.json``) is written last: without one, a file counts as half written.
    """
    return _read(name, parquet, request) or _build(name, parquet, request, build)


def _sidecar(parquet: Path) -> Path:
    return parquet.with_suffix(".json")


def _read(name: str, parquet: Path, request: dict[str, Any]) -> Dataset | None:
    try:
        record = json.loads(_sidecar(parquet).read_text(encoding="utf-8"))
        if record["request"] != request or record["sha256"] != sha256_of(parquet):
            return None
        return Dataset(name, parquet, record["rows"], record["sha256"], record["provenance"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _build(name: str, parquet: Path, request: dict[str, Any], build: Callable[[Path], dict[str, Any]]) -> Dataset:
    _sidecar(parquet).unlink(missing_ok=True)
    with replacing(parquet) as part:
        told = build(part)
        rows, digest = pq.read_metadata(part).num_rows, sha256_of(part)
    provenance = {**request, **told, "rows": rows, "sha256": digest, "pyarrow": pa.__version__}
    record = {"request": request, "rows": rows, "sha256": digest, "provenance": provenance}
    write_whole(_sidecar(parquet), json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    return Dataset(name, parquet, rows, digest, provenance)
