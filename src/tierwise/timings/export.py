"""A complete run made small enough for git: its raw rows whole, since verdicts rest on them, and of single observations a seeded sample.

These lie beside the raw rows, a folder ``<table>/<study>/`` each, and are drawn where a table has more than `MOST_ROWS` of a study: of
recorded page sequences (`traces`) whole files, because half a sequence cannot be replayed, and before any is drawn those that somebody
rests on, up to `MOST_NEEDED` rows; of any other (transactions, single reads) the same share of each file's rows. The manifest says in
`samples` of which tables some rows are missing.

A copy is whole: rows that the run takes from others are copied in, as they are, and `copied` in the manifest says which run measured them.
"""

import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from tierwise.core.errors import InputError
from tierwise.core.files import make_folder, put, scratch_folder
from tierwise.timings.manifest import Manifest, Sample, load_manifest
from tierwise.timings.parts import TIMINGS, read_rows
from tierwise.timings.private import check_nothing_private
from tierwise.timings.references import taken
from tierwise.timings.traces import FOLDER as TRACES
from tierwise.timings.traces import TraceKey, trace_path

MOST_ROWS: Final = 20_000
"""The most single observations of a study in one table that an export takes whole; of more a sample goes."""
MOST_NEEDED: Final = 180_000
"""The most rows of recorded page sequences of a study that are kept because somebody rests on them: some 1.4 MB."""
FILE_BYTES: Final = 2_000_000
"""The largest file of an export: three runs of the profile `full` in one have less of raw rows."""
WHOLE_BYTES: Final = 6_000_000
"""The most that all files of an export have together."""
NO_TABLES: Final = ("notebooks", "parts")
LEVEL: Final = 19
"""The level of zstd's compression: an export is written once and kept for ever."""


def export(run: Path, raw: Path, *, needed: Sequence[tuple[str, str, str]] = (), seed: int = 1, replace: bool = False) -> Path:
    """Copy the complete run in the folder `run` below `raw`, whole or not at all; the new folder.

    Args:
        run: the run's folder.
        raw: gets a folder of the same name.
        needed: recorded page sequences (study, pair, trial) kept before any is drawn, the first first (`advisor.recorded.behind_advice`).
        seed: of what is drawn.
        replace: nothing else stays in `raw`.

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
        read_rows(run).write_parquet(made / TIMINGS, compression_level=LEVEL)
        samples = {
            **manifest.samples,
            **_copy_tables(run, made, manifest.samples, [trace_path(Path(), TraceKey(*key)) for key in needed], seed),
        }
        whole(manifest).model_copy(update={"samples": samples}).save(made, indent=0)
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


def _copy_tables(run: Path, made: Path, before: Mapping[str, Sample], needed: Sequence[Path], seed: int) -> dict[str, Sample]:
    """What lies beside the raw rows, table by table and study by study; of what is a sample `before` this one a sample of that."""
    samples = {}
    for name, files in tables(run).items():
        frames = {place: pl.read_parquet(path, hive_partitioning=False) for place, path in files.items()}
        of = sum(map(len, frames.values()))
        whole_files = name.partition("/")[0] == TRACES
        kept = frames if of <= MOST_ROWS else dict(_whole(frames, needed, seed) if whole_files else _share(frames, of, seed))
        for place, rows in kept.items():
            (made / place).parent.mkdir(parents=True, exist_ok=True)
            rows.write_parquet(made / place, compression_level=LEVEL)
        if of > MOST_ROWS:
            samples[name] = Sample(rows=sum(map(len, kept.values())), of=before[name].of if name in before else of, seed=seed)
    return samples


def _whole(frames: dict[Path, pl.DataFrame], needed: Sequence[Path], seed: int) -> Iterator[tuple[Path, pl.DataFrame]]:
    """Whole files: those that are `needed`, the first of them first, and others in an order that is drawn, while they fit."""
    drawn = random.Random(seed).sample(list(frames), len(frames))
    first = [path for path in needed if path in frames]
    taken_rows = 0
    for path, most in [*((path, MOST_NEEDED) for path in first), *((path, MOST_ROWS) for path in drawn if path not in first)]:
        if taken_rows + len(frames[path]) <= most:
            taken_rows += len(frames[path])
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
