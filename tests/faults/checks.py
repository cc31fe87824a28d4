"""What must hold after a fault: at once, and once the run was resumed to its end."""

import re
from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean
from typing import Final

import polars as pl
import psutil

from faults.place import Life, Place
from tierwise.core.errors import TierwiseError
from tierwise.timings.manifest import load_manifest
from tierwise.timings.parts import ROW, read_rows, validate_rows

KEY: Final = list(ROW)
KEPT: Final = {"answers", "rates", "verdicts"}
"""What stays in ``report/_build`` on purpose, so that the same is not reckoned twice."""
CELL: Final = 2.0
MEAN: Final = 1.3
"""The factors that counted device time of one row, and of all rows together, may lie off: where platters stand hangs on the processor
time between two reads (`tests/test_pipeline.py` holds two machines to the same)."""
TURNS_S: Final = 0.1
"""Device time from which on a row is held to its own factor: a dozen turns of a disk, of which one or two alone are no mean."""
CLOSING: Final = re.compile(r'Traceback \(most recent call last\):\n  File "[^"]*zmq/eventloop')
"""How what a kernel's own loop says begins, where it is shut down while it answers: no code of ours is in it."""


def at_once(place: Place, life: Life, *, struck_down: bool) -> Iterator[str]:
    """What is wrong just after a life has ended: torn rows, or words that help nobody."""
    for path in place.parts():
        try:
            validate_rows(pl.read_parquet(path), where=path.name)
        except (TierwiseError, pl.exceptions.PolarsError, OSError) as error:
            yield f"torn part {path.name}: {error}"
    said = CLOSING.sub("", life.said())
    if "Traceback" in said:
        yield f"a traceback: {said[said.index('Traceback') :][:2000]}"
    code = life.report.returncode
    last = life.last()
    if code and not struck_down and not ("tierwise: " in last and re.search(r"Remedy|Linux|resume", last)):
        yield f"ended with {code}, without cause and remedy: {last[:600]}"


def strays(place: Place, seen: set[int], sockets: set[str]) -> Iterator[str]:
    """What a run that has ended left behind: processes, mounts, control groups, sockets, temporary files."""
    yield from (f"process: {words}" for words in place.processes())
    yield from (f"mount: {line}" for line in place.mounts() if line not in place.own_mounts)
    yield from (f"socket folder: {socket}" for socket in sockets if Path(socket).exists())
    for group in Path("/sys/fs/cgroup").glob("**/tierwise-*-*"):
        number = group.name.rpartition("-")[2]
        if number.isdigit() and int(number) in seen and not psutil.pid_exists(int(number)):
            yield f"control group: {group}"
    for folder in ("raw", "site", "_build"):
        for path in (place.folder / folder).rglob("*"):
            forgotten = path.parent == place.folder / "_build" and path.name not in KEPT
            if re.search(r"\.part(-|$)|^\.(latest|export)", path.name) or forgotten:
                yield f"temporary file: {path.relative_to(place.folder)}"
    yield from (f"temporary file: {path}" for path in (place.folder / "tmp").iterdir())


def differences(there: Path, here: Path) -> Iterator[str]:
    """How the rows of the run in the folder `here` differ from those of the undisturbed one in `there`, where they may not."""
    expected, found = read_rows(there), read_rows(here)
    twice = found.group_by(KEY).len().filter(pl.col("len") > 1)
    if len(twice):
        yield f"{len(twice)} rows are there twice, the first: {twice.row(0)}"
    ours, theirs = set(found.select(KEY).rows()), set(expected.select(KEY).rows())
    if ours != theirs:
        yield f"{len(theirs - ours)} rows are missing, {len(ours - theirs)} were not asked for: {sorted(theirs ^ ours)[:3]}"
    both = expected.join(found, on=KEY, suffix="_here")
    calibrated = {name.partition("/")[0] for run in (there, here) for name in load_manifest(run).calibrations}  # measured, in each run anew
    simulated = both.filter(pl.col("substrate") == "simulated", ~pl.col("pair").is_in(calibrated))
    for column in ("elapsed_s", "result_rows", "relation_io", "tier_io"):
        other = simulated.filter(pl.col(column).ne_missing(pl.col(f"{column}_here")))
        if len(other):
            yield f"{len(other)} simulated rows have another {column}: {other.select(KEY).row(0)}"
    alone = both.filter((pl.col("clock") == "counted-one") & (pl.col("clock_here") == "counted-one"))
    ratios = []
    for row in alone.iter_rows(named=True):
        key = tuple(row[name] for name in KEY)
        for name, counted in (("relation_io", "reads"), ("tier_io", "reads")):
            was, now = ({io[name.partition("_")[0]]: io[counted] for io in row[column]} for column in (name, f"{name}_here"))
            if was != now:
                yield f"{key} read {now}, undisturbed {was}"
        was_s, now_s = (sum(io["intended_s"] or 0.0 for io in row[column]) for column in ("tier_io", "tier_io_here"))
        if sum(io["reads"] or 0 for io in row["tier_io"]) >= 10 and was_s > 0 and now_s > 0:
            ratios.append(now_s / was_s)
            if was_s >= TURNS_S and not 1 / CELL < ratios[-1] < CELL:
                yield f"{key} has {now_s:.4f} s of device time, undisturbed {was_s:.4f} s"
    if ratios and not 1 / MEAN < geometric_mean(ratios) < MEAN:
        yield f"device time is {geometric_mean(ratios):.2f} times that of the undisturbed run"
