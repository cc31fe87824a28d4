"""Runs put together: one run of several, of other seeds or machines. The replicates of the first run keep their numbers, those of the next
begin at `RUN_REPLICATES`, and so on (`run_number`). The first may be merged already, and a sample: then the next runs extend it.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from tierwise.core.errors import InputError
from tierwise.core.files import flush_all
from tierwise.core.toml import validate
from tierwise.timings.export import TABLES, share
from tierwise.timings.manifest import Manifest, Merged, Sample, StudyRecord, load_manifest
from tierwise.timings.parquet import keep_whole
from tierwise.timings.parts import TIMINGS, rows_so_far, without_real_time_rows
from tierwise.timings.replicates import REPLICATES, RUN_REPLICATES, Facts, by_replicate, joined
from tierwise.timings.trial_files import TrialKey

SEED: Final = "seed"

Summarise = Callable[[str, pl.DataFrame], Facts]  # study, its rows on one pair (no checks) -> the facts that it finds in complete rows


def merge_runs(folders: Sequence[Path], raw: Path, summarise: Summarise = lambda _study, _rows: {}) -> Manifest:
    """Write a run below `raw` that has the rows of the runs in `folders`, and return its manifest; those stay as they are.

    Facts with values by replicate have those of every run; `summarise` finds facts in the rows of all. Other facts (sizes, plans, pages)
    are the first run's. Runs that are no replicates of each other are refused with an `InputError`.
    """
    runs = [load_manifest(folder) for folder in folders]
    _check(runs)
    now = datetime.now(UTC)
    behind = max(len(runs[0].merged), 1)  # replicates of the next runs get numbers behind those that the first was merged of
    numbers = [0, *range(behind, behind + len(runs) - 1)]
    digest = hashlib.sha256("".join(run.run_id for run in runs).encode()).hexdigest()
    run_id = f"{now:%Y%m%d-%H%M%S}-{runs[0].profile['name']}-merged-{digest[:6]}"
    folder = raw / run_id
    rows = [
        rows_so_far(one).with_columns(run_id=pl.lit(run_id), replicate=pl.col("replicate") + number * RUN_REPLICATES)
        for number, one in zip(numbers, folders, strict=True)
    ]
    samples = dict(runs[0].samples)
    for number, one in zip(numbers, folders, strict=True):
        samples = _copy(one, folder, number, samples)
    every = pl.concat(rows)
    keep_whole(every, folder / TIMINGS)
    flush_all(folder)
    merged, timed = _manifest(runs, numbers, run_id, now, samples), without_real_time_rows(every)
    records = [
        record.model_copy(update={"facts": {**record.facts, **summarise(record.name, timed.filter(study=record.name, pair=record.pair))}})
        for record in merged.studies
    ]
    merged = merged.model_copy(update={"studies": tuple(records)})
    merged.save(folder)  # last: without one, the folder is no run
    return merged


def _check(runs: Sequence[Manifest]) -> None:
    if len(runs) < 2:
        named = " ".join(run.run_id for run in runs)
        raise InputError("RUN", value=named, rule="a merge needs at least two runs", remedy="name another run")
    for run in runs:
        if why := _unfit(run, first=run is runs[0]):
            raise InputError("RUN", value=run.run_id, rule=f"only whole runs can be merged; this run {why}", remedy="name whole runs")
    first, *others = runs
    for run in others:
        if (theirs := _inputs(run)) != (ours := _inputs(first)):
            different = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
            rule = f"did not measure what {first.run_id} did: {', '.join(different)}"
            remedy = "merge runs with the same code, profile, pairs and devices (tierwise diff lists what changed)"
            raise InputError("RUN", value=run.run_id, rule=rule, remedy=remedy)
    seeds = [one.seed for run in runs for one in run.merged or (run,)]
    if len(set(seeds)) < len(seeds):
        rule = "runs with the same seed have the same random data and layout, so they are no replicates"
        named = ", ".join(f"{run.run_id} (seed {run.seed})" for run in runs)
        raise InputError("RUN", value=named, rule=rule, remedy="measure a run with another seed: make report SEED=N")


def _unfit(run: Manifest, *, first: bool) -> str:
    if run.status != "complete":
        return f"is {run.status}"
    if first:
        return ""
    if run.merged:
        return "is merged already, and only the first run may be"
    return "is a sample of one" if run.samples else ""


def _inputs(run: Manifest) -> dict[str, Any]:
    return {name: (one.inputs | {SEED: ""}, one.code) for name, one in run.fingerprints.items()}  # whatever the seed is


def _copy(run: Path, merged: Path, number: int, samples: Mapping[str, Sample]) -> dict[str, Sample]:
    """Copy what lies beside the raw rows, and return `samples` with it; to a sample, the same share of the rows is added."""
    found = dict(samples)
    for table in TABLES if number == 0 else (table for table in TABLES if table.by_replicate):
        for study in table.studies(run):
            name = f"{table.folder}/{study}"
            sample = samples.get(name) if number else None
            for (_, pair, trial, replicate), whole in table.pieces(run, study):
                moved = None if replicate is None else replicate + number * RUN_REPLICATES
                rows = whole if sample is None else share(whole, sample.rows, sample.of, sample.seed)
                table.write(merged, TrialKey(study, pair, trial), rows.select(*table.columns), moved)
                if sample is not None:
                    found[name] = Sample(rows=found[name].rows + len(rows), of=found[name].of + len(whole), seed=sample.seed)
    return found


def _manifest(runs: Sequence[Manifest], numbers: Sequence[int], run_id: str, now: datetime, samples: Mapping[str, Sample]) -> Manifest:
    first = runs[0]
    changes: dict[str, Any] = {
        "run_id": run_id,
        "merged": [one.model_dump(include=set(Merged.model_fields)) for run in runs for one in run.merged or (run,)],
        "samples": dict(samples),
        "attempts": [
            one.model_copy(update={"replicate": one.replicate + number * RUN_REPLICATES})
            for number, run in zip(numbers, runs, strict=True)
            for one in run.attempts
        ],
        "taken": {},
        "retry": None,
        "datasets": first.with_data(data for run in runs[1:] for data in run.datasets),
        "studies": [_record([run.of(record.name) for run in runs], numbers, record) for record in first.studies],
        "stages": [stage for run in runs for stage in run.stages],
        "rules": min((run.rules for run in runs), key=lambda rules: rules.version if rules else 0),
        "started_at": min(run.started_at for run in runs),
        "finished_at": now,
    }
    return validate({**first.model_dump(), **changes}, Manifest, where=f"run {run_id}")


def _record(found: Sequence[Sequence[StudyRecord]], numbers: Sequence[int], record: StudyRecord) -> StudyRecord:
    same = [next(one for one in records if one.pair == record.pair) for records in found]
    facts = dict(record.facts)
    for number, one in zip(numbers[1:], same[1:], strict=True):
        for name, fact in one.facts.items():
            if by_replicate(fact):
                first = number * RUN_REPLICATES
                numbered = [entry | {REPLICATES: [first + replicate for replicate in entry[REPLICATES]]} for entry in fact]
                facts[name] = joined(facts.get(name) or (), numbered)
    return record.model_copy(update={"replicates": sum(one.replicates for one in same), "facts": facts})
