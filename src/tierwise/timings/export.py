"""A complete run made small enough for git: what has many rows becomes a seeded sample, marked as one and used for no verdict.

Raw rows of a study with more than `MOST_ROWS` are drawn and flagged. Beside them lie tables of single observations, a folder
``<table>/<study>/`` each: recorded page sequences (`traces`), of which whole files are kept, because half a sequence cannot be
replayed; and any other (transactions, single reads), of whose files the same share of rows is kept. The manifest says in `samples`
of which tables some rows are missing.

A copy is whole: rows that the run takes from others are copied in, as they are, and `copied` in the manifest says which run measured them.
"""

import random
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import polars as pl

from tierwise.core.errors import InputError
from tierwise.core.files import make_folder, put, scratch_folder
from tierwise.timings.manifest import Manifest, Sample, load_manifest
from tierwise.timings.parts import TIMINGS, read_rows
from tierwise.timings.private import check_nothing_private
from tierwise.timings.references import taken

MOST_ROWS: Final = 20_000
"""The most rows of a study in one table that an export takes whole; of more a sample goes."""
FILE_BYTES: Final = 1_000_000
WHOLE_BYTES: Final = 6_000_000
SAMPLE: Final = "sample"
"""The flag of a sampled row: a flagged row gives no verdict."""
TRACES: Final = "traces"
NO_TABLES: Final = ("notebooks", "parts")
LEVEL: Final = 19
"""The level of zstd's compression: an export is written once and kept for ever."""


def export(run: Path, raw: Path, *, seed: int = 1, replace: bool = False) -> Path:
    """Copy the complete run in the folder `run` below `raw`, whole or not at all; the new folder. `replace`: nothing else stays there.

    Raises:
        InputError: the run is not complete, `raw` has it already, a file or the whole is too large for git, or names this machine.
    """
    manifest = load_manifest(run)
    if manifest.status != "complete":
        raise InputError(f"run {run.name}", rule="is not complete", remedy="make report with the same inputs continues it")
    target = raw / run.name
    if target.exists() and not replace:
        raise InputError(f"run {run.name}", rule=f"is already in {raw.name}", remedy="remove that folder first")
    make_folder(raw)
    with scratch_folder(".export-", within=raw) as scratch:
        made = scratch / run.name
        made.mkdir()
        samples = {**_copy_rows(run, made, seed), **_copy_tables(run, made, seed)}
        whole(manifest).model_copy(update={"samples": samples}).save(made)
        _check_size(made)
        check_nothing_private(made)
        for other in _runs(raw) if replace else ():
            shutil.rmtree(other)
        put(made, target)
    return target


def whole(manifest: Manifest) -> Manifest:
    """Return `manifest` of a copy that has all rows itself."""
    copied = {study: kept.run_id for study, kept in manifest.taken.items()}
    return manifest.model_copy(update={"taken": {}, "copied": {**manifest.copied, **copied}})


def tables(run: Path) -> dict[str, dict[Path, Path]]:
    """Return what lies beside the raw rows of `run`, with those that it takes from others: ``<table>/<study>`` -> place in the run ->
    file."""
    found: dict[str, dict[Path, Path]] = {}
    for folder in sorted(run.glob("*/*/")):
        if folder.parent.name not in NO_TABLES:
            files = {path.relative_to(run): path for path in sorted(folder.rglob("*.parquet"))}
            found[f"{folder.parent.name}/{folder.name}"] = files
    for held in taken(run):
        for folder in sorted(path for path in held.folder.glob(f"*/{held.study}/") if path.parent.name not in NO_TABLES):
            files = {
                path.relative_to(held.folder): path for path in sorted(folder.rglob("*.parquet")) if _counts(path, folder, held.blocks)
            }
            name = f"{folder.parent.name}/{folder.name}"
            found[name] = files | found.get(name, {})  # the run's own, where both have one
    return found


def _counts(path: Path, folder: Path, blocks: Mapping[str, int]) -> bool:
    """Whether a file of the table in `folder` is of a pair and block that is taken; a trace is of a trial, whatever the block."""
    pair = path.relative_to(folder).parts[0]
    return pair in blocks and (folder.parent.name == TRACES or int(path.stem) < blocks[pair])


def _runs(raw: Path) -> list[Path]:
    return [folder for folder in raw.iterdir() if folder.is_dir() and not folder.name.startswith(".")]


def _copy_rows(run: Path, made: Path, seed: int) -> dict[str, Sample]:
    """The raw rows: all of a study's, or `MOST_ROWS` of them in their order, flagged."""
    kept, samples = [], {}
    for rows in read_rows(run).partition_by("study", maintain_order=True):
        if len(rows) > MOST_ROWS:
            samples[f"timings/{rows['study'][0]}"] = Sample(rows=MOST_ROWS, of=len(rows), seed=seed)
            kept.append(_drawn(rows, MOST_ROWS, seed).with_columns(pl.col("flags").list.concat(pl.lit([SAMPLE]))))
        else:
            kept.append(rows)
    pl.concat(kept).write_parquet(made / TIMINGS, compression_level=LEVEL)
    return samples


def _copy_tables(run: Path, made: Path, seed: int) -> dict[str, Sample]:
    """What lies beside the raw rows, table by table and study by study."""
    samples = {}
    for name, files in tables(run).items():
        table = name.partition("/")[0]
        frames = {place: pl.read_parquet(path, hive_partitioning=False) for place, path in files.items()}
        of = sum(map(len, frames.values()))
        kept = frames if of <= MOST_ROWS else dict(_whole(frames, seed) if table == TRACES else _share(frames, of, seed))
        for place, rows in kept.items():
            (made / place).parent.mkdir(parents=True, exist_ok=True)
            rows.write_parquet(made / place, compression_level=LEVEL)
        if of > MOST_ROWS:
            samples[name] = Sample(rows=sum(map(len, kept.values())), of=of, seed=seed)
    return samples


def _whole(frames: dict[Path, pl.DataFrame], seed: int) -> Iterator[tuple[Path, pl.DataFrame]]:
    """Whole files, in an order that is drawn, while they fit."""
    left = MOST_ROWS
    for path in random.Random(seed).sample(list(frames), len(frames)):
        if len(frames[path]) <= left:
            left -= len(frames[path])
            yield path, frames[path]


def _share(frames: dict[Path, pl.DataFrame], of: int, seed: int) -> Iterator[tuple[Path, pl.DataFrame]]:
    """The same share of each file's rows."""
    for path, rows in frames.items():
        yield path, _drawn(rows, len(rows) * MOST_ROWS // of, seed)


def _drawn(rows: pl.DataFrame, n: int, seed: int) -> pl.DataFrame:
    """`n` of `rows` in their order."""
    return rows.with_row_index("at").sample(n, seed=seed).sort("at").drop("at")


def _check_size(folder: Path) -> None:
    sizes = {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    for path, size_bytes in sizes.items():
        if size_bytes > FILE_BYTES:
            raise InputError(str(path.relative_to(folder)), field="size_bytes", value=size_bytes, rule=f"must be at most {FILE_BYTES:,}")
    if sum(sizes.values()) > WHOLE_BYTES:
        raise InputError(folder.name, field="size_bytes", value=sum(sizes.values()), rule=f"must be at most {WHOLE_BYTES:,}")
