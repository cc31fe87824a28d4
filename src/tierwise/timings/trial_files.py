"""Tables beside the raw rows, with a file for each trial: page sequences, transactions, and single reads (`reads`).

A run that measures has ``<folder>/<study>/<pair>/<trial>.parquet``, the trial's key being folders; where each repetition has a file,
``.../<trial>/<replicate>.parquet``. A run that ships has one file for each study and pair, ``<folder>/<study>/<pair>.parquet``. Both have
the same columns, so that packing is concatenation.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from tierwise.core.errors import InputError
from tierwise.timings.parquet import keep_whole, named, read_whole
from tierwise.timings.references import places, taken

LEVEL: Final = 19  # the level of zstd's compression of packed files: they are written once and kept for ever


class TrialKey(NamedTuple):
    study: str
    pair: str
    trial: str


Piece = tuple[str, str, str, int | None]  # study, pair, trial and, where each repetition has a file, its replicate


@dataclass(frozen=True)
class TrialFiles:
    """One table, and whether each repetition of a trial has a file."""

    folder: str
    columns: Mapping[str, Any]
    by_replicate: bool

    @property
    def keys(self) -> dict[str, Any]:
        return dict.fromkeys(TrialKey._fields, pl.String) | ({"replicate": pl.Int32} if self.by_replicate else {})

    def path(self, run_folder: Path, key: TrialKey, replicate: int | None = None) -> Path:
        folder = run_folder / self.folder / key.study / key.pair
        return folder / f"{key.trial}.parquet" if replicate is None else folder / key.trial / f"{replicate}.parquet"

    def write(self, run_folder: Path, key: TrialKey, rows: pl.DataFrame, replicate: int | None = None) -> None:
        """Write the rows of a trial, whole or not at all; those of a killed attempt are replaced."""
        path = self.path(run_folder, key, replicate)
        _check(rows, self.columns, path, run_folder)
        values = {**key._asdict(), "replicate": replicate}
        keys = (pl.lit(values[name], dtype=kind).alias(name) for name, kind in self.keys.items())
        keep_whole(rows.select(*keys, *self.columns), path)

    def read(self, run_folder: Path, key: TrialKey, replicate: int | None = None) -> pl.DataFrame | None:
        """Return the rows of a trial, from this run or from the one that it takes them from; `None` where neither has them."""
        for folder in places(run_folder, key.study, key.pair, replicate or 0):
            for path in (self.path(folder, key, replicate), _packed(folder / self.folder, key.study, key.pair)):
                if path.is_file():
                    rows = self.load(path, folder).filter(trial=key.trial, **({} if replicate is None else {"replicate": replicate}))
                    if not rows.is_empty():
                        return rows.select(*self.columns)
        return None

    def files(self, run_folder: Path, study: str = "") -> list[Path]:
        return sorted((run_folder / self.folder / study).rglob("[!.]*.parquet"))

    def studies(self, run_folder: Path) -> list[str]:
        return sorted({path.name for path in (run_folder / self.folder).glob("*/")} | {held.study for held in taken(run_folder)})

    def pieces(self, run_folder: Path, study: str) -> Iterator[tuple[Piece, pl.DataFrame]]:
        """Yield the rows of `study` trial by trial, repetition by repetition: a run's own, then those that it takes."""
        seen = set()
        held = [(one.folder, one.replicates) for one in taken(run_folder) if one.study == study]
        for folder, replicates in [(run_folder, None), *held]:
            for path in self.files(folder, study):
                for rows in self.load(path, folder).partition_by(*self.keys, maintain_order=True):
                    _, pair, trial, *replicate = rows.select(*self.keys).row(0)
                    piece = (study, pair, trial, replicate[0] if replicate else None)
                    if piece not in seen and (replicates is None or (piece[3] or 0) < replicates.get(pair, 0)):
                        seen.add(piece)
                        yield piece, rows

    def pack(self, run_folder: Path, pieces: Iterable[pl.DataFrame]) -> None:
        rows = pl.concat([pl.DataFrame(schema=self.keys | dict(self.columns)), *pieces])
        for (study, pair), part in rows.partition_by("study", "pair", as_dict=True, maintain_order=True).items():
            path = _packed(run_folder / self.folder, study, pair)
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_parquet(path, compression_level=LEVEL)

    def load(self, path: Path, run_folder: Path) -> pl.DataFrame:
        rows = read_whole(path, named(path, run_folder), remedy="remove it")
        _check(rows, self.keys | dict(self.columns), path, run_folder)
        return rows


def _packed(folder: Path, study: str, pair: str) -> Path:
    return folder / study / f"{pair}.parquet"


def _check(rows: pl.DataFrame, columns: Mapping[str, Any], path: Path, run_folder: Path) -> None:
    if (there := dict(rows.schema)) != columns:
        raise InputError(named(path, run_folder), field="columns", value=str(there), rule=f"must be {columns}", remedy="remove it")


END: Final = "end"
TRACE: Final[dict[str, Any]] = {  # what each query requested, in the order of issue; the last row, `end`, closes it
    "step": pl.Int32,  # of the trial, as in the raw rows
    "cache": pl.String,  # cold, hot, cross, none
    "operation": pl.String,  # read, write, flush; end: the query's last row
    "relation": pl.String,  # name as in pg_class, with its fork where that is not the main one; null at the end
    "tier": pl.String,  # where it lay while this was recorded; null at the end
    "relation_pages": pl.Int64,  # of 8 KiB, in the whole relation
    "page": pl.Int64,  # in the relation, over all its segments
    "size_bytes": pl.Int64,
    "address_bytes": pl.Int64,  # on the emulated device; null where none was
    "after": pl.Int32,  # number (from 0, within the query) of the request whose completion this one follows; null: the query's start
    "think_s": pl.Float64,  # from that completion to this issue: the host's time
    "intended_s": pl.Float32,  # service time of the device model; null where there was none
    "actual_s": pl.Float32,  # what it took, from issue to completion; null where the recorder disturbs times
    "traced_s": pl.Float32,  # what it took under strace, whose stops are in it; null where nothing was traced
}
TRACES: Final = TrialFiles("traces", TRACE, by_replicate=False)
write_trace: Final = TRACES.write
read_trace: Final = TRACES.read

TRANSACTION: Final[dict[str, Any]] = {  # of a load; some rows lie before and after the phases of the window
    "client": pl.Int32,
    "ended_s": pl.Float64,  # seconds of the Unix epoch
    "latency_s": pl.Float64,  # from its first statement to its end
}
TRANSACTIONS: Final = TrialFiles("transactions", TRANSACTION, by_replicate=True)
