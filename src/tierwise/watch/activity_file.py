"""The file of a watch: Parquet, written in segments of one window each, which a kill leaves whole, and merged into one file at the end."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tierwise.core.activity import ANSWER
from tierwise.core.errors import InputError
from tierwise.core.files import make_folder, replacing
from tierwise.timings.parquet import keep_whole, read_whole
from tierwise.watch.statements import RELATION, counters

FORMAT: Final = 2
VERSION: Final = "tierwise.activity"
SCHEMA: Final[dict[str, Any]] = {
    "window": pl.Int32,  # from 0 on; a gap lies between two windows where an event says so
    "view": pl.String,  # of ``columns.toml``, or one of those below
    "database": pl.Int64,
    "relation": pl.Int64,
    "entity": pl.String,
    "counter": pl.String,
    "value": pl.Float64,
    "text": pl.String,
    "pages": pl.Int64,  # of a relation, by the planner's count
    **dict.fromkeys(counters(RELATION), pl.Int64),
}
SPAN, EVENT, SERVER, NAME, SIZE, WAIT, SAMPLES = "span", "event", "server", "name", "size", "wait", "samples"
"""Seconds of each view in a window; what happened; facts of the server; names, sizes of relations; samples by wait event, and in all."""


class Segments:
    """The segments of an activity file that is being written: ``FILE.parts/000001.parquet``."""

    def __init__(self, path: Path):
        self.path, self.folder = path, path.with_name(f"{path.name}.parts")

    def begin(self) -> int:
        """Return how many windows are there already, of a watch that was killed."""
        if self.path.exists():
            remedy = f"tierwise watch --show {self.path}, or choose another file"
            raise InputError("--out", value=str(self.path), rule="is there already", remedy=remedy)
        if not self.path.parent.is_dir():
            raise InputError("--out", value=str(self.path), rule="its folder does not exist", remedy=f"mkdir -p {self.path.parent}")
        make_folder(self.folder)
        self.folder.chmod(0o700)
        return self.count()

    def count(self) -> int:
        return len(self._parts())

    def write(self, window: int, rows: pl.DataFrame) -> None:
        keep_whole(rows, self.folder / f"{window:06d}.parquet")

    def rows(self, *views: str) -> pl.DataFrame:
        return pl.concat([_whole(part).filter(pl.col("view").is_in(views)) for part in self._parts()])

    def merge(self, answer: str) -> Path:
        """Write one file of all segments, one at a time in memory, with the `answer` as JSON, and remove them."""
        parts = self._parts()
        schema = pl.DataFrame(schema=SCHEMA).to_arrow().schema.with_metadata({VERSION: json.dumps(FORMAT), ANSWER: answer})
        with replacing(self.path) as part, pq.ParquetWriter(part, schema, compression="zstd") as writer:
            part.chmod(0o600)
            for path in parts:
                writer.write_table(_whole(path).to_arrow().cast(schema))
        shutil.rmtree(self.folder)
        return self.path

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("[0-9]*.parquet"))


def rows_of(view: str, rows: pl.DataFrame, **others: Any) -> pl.DataFrame:
    """Return `rows` with every column of `SCHEMA`."""
    known = rows.with_columns(view=pl.lit(view), **{name: pl.lit(value) for name, value in others.items()})
    missing = [pl.lit(None, kind).alias(name) for name, kind in SCHEMA.items() if name not in known.columns]
    return known.with_columns(missing).select(SCHEMA.keys()).cast(pl.Schema(SCHEMA))


def facts(view: str, values: Iterator[tuple[str, str | None, float | None, str | None]], window: int) -> pl.DataFrame:
    """Return rows of (entity, counter, value, text)."""
    schema = {"entity": pl.String, "counter": pl.String, "value": pl.Float64, "text": pl.String}
    return rows_of(view, pl.DataFrame(list(values), schema=schema, orient="row"), window=window)


def read_activity(path: Path) -> pl.LazyFrame:
    """Open an activity file, or the segments of one that is being written; refuse what is none, cut short or of another format."""
    segments = Segments(path)
    if not path.exists() and segments.folder.is_dir():
        return pl.concat([pl.scan_parquet(part, schema=pl.Schema(SCHEMA)) for part in segments._parts()])
    remedy = "tierwise watch writes such files"
    if not path.is_file():
        raise InputError("activity file", value=str(path), rule="does not exist", remedy=remedy)
    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        rule = "must be a whole Parquet file, and this one is cut short or is none"
        raise InputError("activity file", value=str(path), rule=rule) from error
    found = json.loads((schema.metadata or {}).get(VERSION.encode(), b"0"))
    if found != FORMAT:
        rule = f"must be an activity file of format {FORMAT}"
        raise InputError(str(path), field="format", value=found or "none", rule=rule, remedy="use the version of tierwise that wrote it")
    return pl.scan_parquet(path)


def _whole(path: Path) -> pl.DataFrame:
    return read_whole(path, str(path), remedy="remove this segment, whose window is then lost")
