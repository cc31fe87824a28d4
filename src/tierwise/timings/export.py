"""A complete run made small enough for git: its raw rows whole, since verdicts rest on them, and a seeded sample of single observations.

Where a table has more than `MOST_ROWS` of a study, a sample is packed (`trial_files`), and `samples` in the manifest says so. Of page
sequences whole ones are drawn, because half of one cannot be replayed; those that advice rests on come first, up to `MOST_NEEDED` rows.
Of transactions and single reads the same share of each trial and replicate is drawn. Rows that the run takes from others are copied in.
"""

import os
import platform
import random
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import polars as pl

from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.files import make_folder, put, scratch_folder
from tierwise.timings.manifest import Manifest, Sample, load_manifest
from tierwise.timings.parts import TIMINGS, read_rows
from tierwise.timings.reads import FILES as READS
from tierwise.timings.trial_files import LEVEL, TRACES, TRANSACTIONS, Piece, TrialKey

MOST_ROWS: Final = 20_000  # the most single observations of a study in one table that an export takes whole; of more a sample goes
MOST_NEEDED: Final = 180_000
"""The most rows of recorded page sequences of a study that are kept because somebody rests on them: some 1.4 MB."""
FILE_BYTES: Final = 4_000_000  # the largest file of an export: three runs of the profile `full` in one have less of raw rows
WHOLE_BYTES: Final = 10_000_000  # the most that all files of an export have together
TABLES: Final = (READS, TRACES, TRANSACTIONS)  # what lies beside the raw rows


def export(run: Path, raw: Path, *, needed: Sequence[tuple[str, str, str]] = (), seed: int = 1, replace: bool = False) -> Path:
    """Copy the complete run in the folder `run` below `raw`, whole or not at all, with the page sequences `needed` first; return the
    folder. With `replace` nothing else stays in `raw`.
    """
    manifest = load_manifest(run)
    if manifest.status != "complete":
        raise InputError(f"run {run.name}", rule="is not complete", remedy="make report with the same inputs continues it")
    target = raw / run.name
    if target.exists() and not replace:
        raise InputError(f"run {run.name}", rule=f"is already in {raw.name}", remedy="remove this folder first")
    make_folder(raw)
    with scratch_folder(".export-", within=raw) as scratch:
        made = scratch / run.name
        made.mkdir()
        read_rows(run).write_parquet(made / TIMINGS, compression_level=LEVEL)
        samples = manifest.samples | _pack_samples(run, made, manifest.samples, [TrialKey(*key) for key in needed], seed)
        whole(manifest).model_copy(update={"samples": samples}).save(made, indent=0)
        _check_size(made)
        check_nothing_private(made)
        for other in raw.glob("[!.]*/") if replace else ():
            shutil.rmtree(other)
        put(made, target)
    return target


def whole(manifest: Manifest) -> Manifest:
    copied = {study: kept.run_id for study, kept in manifest.taken.items()}
    return manifest.model_copy(update={"taken": {}, "copied": {**manifest.copied, **copied}})


def pack_tables(run: Path, target: Path) -> None:
    """Write what lies beside the raw rows of `run`, with what it takes from others, packed and whole, to the run folder `target`."""
    for table in TABLES:
        for study in table.studies(run):
            table.pack(target, [rows for _, rows in table.pieces(run, study)])


def _pack_samples(run: Path, made: Path, before: Mapping[str, Sample], needed: Sequence[TrialKey], seed: int) -> dict[str, Sample]:
    samples = {}
    for table in TABLES:
        for study in table.studies(run):
            pieces = dict(table.pieces(run, study))
            of = sum(map(len, pieces.values()))
            kept = list(pieces.values())
            if of > MOST_ROWS:
                name = f"{table.folder}/{study}"
                shares = (share(rows, MOST_ROWS, of, seed) for rows in pieces.values())
                kept = list(shares if table.by_replicate else _whole(pieces, needed, seed))
                samples[name] = Sample(rows=sum(map(len, kept)), of=before[name].of if name in before else of, seed=seed)
            table.pack(made, kept)
    return samples


def _whole(pieces: Mapping[Piece, pl.DataFrame], needed: Sequence[TrialKey], seed: int) -> Iterator[pl.DataFrame]:
    """Whole sequences: those that are `needed`, the first of them first, and others in an order that is drawn, while they fit."""
    drawn = random.Random(seed).sample(list(pieces), len(pieces))
    first: list[Piece] = [(*key, None) for key in needed if (*key, None) in pieces]
    taken_rows = 0
    for piece, most in [*((piece, MOST_NEEDED) for piece in first), *((piece, MOST_ROWS) for piece in drawn if piece not in first)]:
        if taken_rows + len(pieces[piece]) <= most:
            taken_rows += len(pieces[piece])
            yield pieces[piece]


def share(rows: pl.DataFrame, number: int, of: int, seed: int) -> pl.DataFrame:
    """Return `number` of each `of` rows, drawn, in their order."""
    return rows.with_row_index("at").sample(len(rows) * number // of, seed=seed).sort("at").drop("at")


def _check_size(folder: Path) -> None:
    sizes = {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    for path, size_bytes in sizes.items():
        if size_bytes > FILE_BYTES:
            raise InputError(str(path.relative_to(folder)), field="size_bytes", value=size_bytes, rule=f"must be at most {FILE_BYTES:,}")
    if sum(sizes.values()) > WHOLE_BYTES:
        raise InputError(folder.name, field="size_bytes", value=sum(sizes.values()), rule=f"must be at most {WHOLE_BYTES:,}")


COMMON: Final = frozenset({"localhost", "linux", "debian", "ubuntu"})  # host names that say nothing and stand in texts by chance


def check_nothing_private(folder: Path) -> None:
    """Raise `InputError` for a file below `folder` that names this machine, its user's home or a folder, or is a symbolic link."""
    private = re.compile("|".join(rf"(?<![\w.-]){re.escape(word)}(?![\w-])" for word in _private()).encode())
    for path in folder.rglob("*"):
        where = str(path.relative_to(folder))
        if path.is_symlink():
            raise InputError(where, rule="is a symbolic link, and a published folder holds none")
        if path.is_file() and (found := private.search(_content(path))):
            rule = "stands in a file that would be published: a report names no host, no user and no folder"
            raise InputError(where, value=found[0].decode(), rule=rule, remedy="report this as a bug")


def _private() -> Iterator[str]:
    host = platform.node().split(".")[0]
    if len(host) >= 4 and host.lower() not in COMMON:
        yield host
    homes = [paths.home(), paths.raw(), paths.site()]
    with suppress(RuntimeError):  # a user without one
        homes.append(Path.home())
    yield from {str(path) for path in homes} - {"/"}
    if work := os.environ.get("TIERWISE_WORK"):
        yield str(Path(work).resolve())


def _content(path: Path) -> bytes:
    if path.suffix != ".parquet":
        return path.read_bytes()
    texts = pl.read_parquet(path, hive_partitioning=False).select(pl.col(pl.String)).unique()
    return texts.write_csv().encode()
