"""A dataset on disk: one Parquet file, and beside it a sidecar that says where its rows come from."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tierwise.core import paths
from tierwise.core.errors import InputError, suggesting
from tierwise.core.files import digest, replacing, write_whole
from tierwise.core.packed_content import DAMAGED
from tierwise.core.units import MIB


@dataclass(frozen=True)
class Dataset:
    """`rows` rows in `parquet` (its SHA-256 is `sha256`); `provenance` is fit for a report: no machine path in it."""

    name: str
    parquet: Path
    rows: int
    sha256: str
    provenance: dict[str, Any]


def check_size(name: str, fraction: float, seed: int, *, least: float, why: str) -> None:
    """Refuse a fraction outside [`least`, 1] and a negative seed, of which there is no synthetic file."""
    if not least <= fraction <= 1:
        raise InputError(name, field="fraction", value=fraction, rule=f"from {least} to 1 ({why})")
    if seed < 0:
        raise InputError(name, field="seed", value=seed, rule="a whole number from 0")


@dataclass
class Reading:
    """A file of the reader's as it is read: `tables` yields its rows; `format` and `columns` (our name: the file's) are known then."""

    source: Path
    format: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    skipped_lines: int | None = None  # lines before the first row; None: rows are not lines
    most_rows: int | None = None  # a reader need not read much more; None: all are wanted
    tables: Iterator[pa.Table | pa.RecordBatch] = field(default_factory=lambda: iter(()))

    @property
    def block_bytes(self) -> int:
        return 8 * MIB if self.most_rows is None else 2 * MIB

    def at(self, row: int) -> str:
        """Return how a person finds row number `row`, from 0."""
        if self.skipped_lines is None:
            return f"{paths.short(self.source)} row {row + 1}"
        return f"{paths.short(self.source)} line {row + self.skipped_lines + 1}"


sha256_of = digest


def cached(name: str, parquet: Path, request: dict[str, Any], build: Callable[[Path], dict[str, Any]]) -> Dataset:
    """Return the dataset at `parquet` if its sidecar answers `request` and the file is whole, else the one that `build` writes.

    `build` writes the Parquet file at the path that it is given and returns what provenance has to say beyond the request.
    The sidecar (`parquet` with ``.json``) is written last: without one, a file counts as half written.
    """
    sidecar = parquet.with_suffix(".json")
    with suppress(OSError, ValueError, KeyError, TypeError):
        record = json.loads(sidecar.read_text(encoding="utf-8"))
        if record["request"] == request and record["sha256"] == sha256_of(parquet):
            return Dataset(name, parquet, record["rows"], record["sha256"], record["provenance"])
    sidecar.unlink(missing_ok=True)
    with replacing(parquet) as part:
        built = build(part)
        rows, digest = pq.read_metadata(part).num_rows, sha256_of(part)
    provenance = {**request, **built, "rows": rows, "sha256": digest, "pyarrow": pa.__version__}
    record = {"request": request, "rows": rows, "sha256": digest, "provenance": provenance}
    write_whole(sidecar, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    return Dataset(name, parquet, rows, digest, provenance)


def synthetic(
    name: str, folder: Path, version: int, write: Callable[[Path], dict[str, Any]], *, facts: str, fraction: float, seed: int
) -> Dataset:
    """Return what `write` draws from the `facts`, a file of ``data/datasets``; `version` is raised whenever a seed gives other rows."""
    digest = sha256_of(paths.data() / "datasets" / facts)
    request = {"source": "synthetic", "fraction": fraction, "seed": seed, "generator_version": version, "facts_sha256": digest}
    return cached(name, folder / f"{name}-synthetic-{fraction:g}-seed{seed}.parquet", request, write)


def from_file(name: str, source: str, folder: Path, version: int, write: Callable[[Path, Path], dict[str, Any]], *, others: str) -> Dataset:
    """Return what `write` makes of the file that `source` names; `version` is raised whenever the same file gives other rows."""
    kind, _, named = source.partition(":")
    if kind != "file" or not named:
        rule = f"not a source of {name} rows"
        remedy = suggesting(source, ["synthetic", "download"], f"name one of: {others}, file:PATH")
        raise InputError(name, field="source", value=source, rule=rule, remedy=remedy)
    path = located(named)
    with readable(name, path):
        content = sha256_of(path)
    request = {"source": f"file:{paths.short(path)}", "file_sha256": content, "reader_version": version}
    return cached(name, folder / f"{name}-file-{content[:8]}.parquet", request, partial(write, path))


def located(named: str) -> Path:
    """Return the path that stands behind ``file:``; a relative one starts at the checkout."""
    return paths.home() / Path(named).expanduser()


def write_rows(
    where: str, tables: Iterable[pa.Table | pa.RecordBatch], schema: pa.Schema, parquet: Path, row_group: int | None = None
) -> None:
    """Write every row of `tables`, which come from `where`; none at all is refused."""
    rows = 0
    with pq.ParquetWriter(parquet, schema, compression="zstd") as writer:
        for table in tables:
            writer.write(table, row_group)
            rows += table.num_rows
    if not rows:
        raise InputError(where, field="rows", value=0, rule="at least one is needed")


@contextmanager
def readable(name: str, path: Path) -> Iterator[None]:
    """Make what the system, an unpacker or astropy finds wrong in the file at `path` an `InputError`, while open."""
    try:
        yield
    except (*DAMAGED, OSError, ValueError, SyntaxError, NotImplementedError) as error:
        rule = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        remedy = f"tierwise check-data --{name} file:PATH shows what is read of a file"
        raise InputError(paths.short(path), rule=rule, remedy=remedy) from error
