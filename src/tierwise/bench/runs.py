"""Runs: begun, found again after a kill, completed; what an older run measured and nothing has changed is taken by reference."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Final

import polars as pl

from tierwise.bench.inputs import Inputs, code_version, packages, pair_file
from tierwise.bench.run_record import update
from tierwise.bench.study_registry import fingerprints, load_study, pairs_of
from tierwise.core import host, paths
from tierwise.core.files import make_folder, put, scratch_folder
from tierwise.core.progress import say
from tierwise.core.rule_history import load_rules
from tierwise.core.vocabulary import Evidence
from tierwise.timings.manifest import DatasetRecord, Fingerprint, Manifest, Retry, StudyRecord, load_manifest, manifests
from tierwise.timings.parts import merge_parts, rows_so_far, without_real_time_rows
from tierwise.timings.references import Taken

MOST_NAMED: Final = 3  # how many changed modules or inputs are named for each study before the rest is only counted


@dataclass(frozen=True)
class Outlook:
    """What a command would work on."""

    fingerprints: Mapping[str, Fingerprint]
    run: Manifest | None  # of the same fingerprints, which is used or goes on; None: a new one would begin
    rows: Mapping[str, str]  # study -> id of the run in which all its rows lie already: `run`, or one that a new run would refer to
    why: Mapping[str, str]  # of the others, study -> why it would be measured anew, as far as an older run had it

    @property
    def lacking(self) -> list[str]:
        return [name for name in self.fingerprints if name not in self.rows]


def look_ahead(inputs: Inputs, *, fresh: bool = False, chosen: Mapping[str, str] | None = None) -> Outlook:
    """Return what `begin_run` would do; nothing is written.

    The run of equal fingerprints that began last is taken, a partial one only where there is no other. A new run refers to the newest
    run that measured a study with the same fingerprint. A run of `chosen` trials goes on with one of the same trials alone; it refers to
    no other run, and none refers to it.
    """
    now = fingerprints(inputs)
    if fresh:
        return Outlook(now, None, {}, {})
    alike = (run for run in manifests(paths.raw()).values() if run.fingerprints and run.chosen == (chosen or {}))
    known = sorted(alike, key=lambda run: run.started_at, reverse=True)
    same = sorted((run for run in known if run.fingerprints == now), key=lambda run: run.status == "partial")
    if same:
        run = same[0]
        whole = [name for name in now if not lacking_pairs(run, name, inputs)]
        return Outlook(now, run, {name: run.taken[name].run_id if name in run.taken else run.run_id for name in whole}, {})
    if chosen:
        return Outlook(now, None, {}, {})
    holders = {name: _measured_in(known, name, one, inputs) for name, one in now.items()}
    rows = {name: run.run_id for name, run in holders.items() if run is not None}
    before = next((run for run in known if (run.profile.get("name"), run.seed) == (inputs.profile.name, inputs.seed)), None)
    why = {} if before is None else {name: _why(name, one, before) for name, one in now.items() if name not in rows}
    return Outlook(now, None, rows, why)


def begin_run(inputs: Inputs, *, fresh: bool, chosen: Mapping[str, str] | None = None) -> Manifest:
    """Begin the run of `look_ahead`. A new one is written, and the terminal shows what it takes from other runs or measures anew."""
    outlook = look_ahead(inputs, fresh=fresh, chosen=chosen)
    if outlook.run is not None:
        return outlook.run
    now = datetime.now(UTC)
    digest = hashlib.sha256("".join(one.sha256 for _, one in sorted(outlook.fingerprints.items())).encode()).hexdigest()
    run_id = _new_id(f"{now:%Y%m%d-%H%M%S}-{inputs.profile.name}-{digest[:6]}")
    older = {name: load_manifest(paths.raw() / held) for name, held in outlook.rows.items()}
    manifest = Manifest(
        run_id=run_id,
        status="running",
        profile=inputs.profile.model_dump(mode="json"),
        pairs={pair.name: pair_file(pair) for pair in inputs.pairs},
        reader_pair=inputs.reader_pair,
        seed=inputs.seed,
        chosen=dict(chosen or {}),
        clocks=inputs.clocks,
        sources={name: shown_source(source) for name, source in inputs.sources.items()},
        code_version=code_version(),
        fingerprints=dict(outlook.fingerprints),
        taken={
            name: Taken(run_id=run.run_id, replicates={kept.pair: kept.replicates for kept in run.of(name)}) for name, run in older.items()
        },
        rules=load_rules().version,
        why=dict(outlook.why),
        host=host.fingerprint(),
        packages=packages(),
        started_at=now,
    )
    manifest = _with_taken(manifest, older)
    make_folder(paths.raw())
    with scratch_folder(".begun-", within=paths.raw()) as begun:  # a run's folder has its manifest from the first moment on
        manifest.save(begun / run_id)
        put(begun / run_id, paths.raw() / run_id)
    for line in origins(outlook):
        say(line)
    return manifest


def origins(outlook: Outlook) -> list[str]:
    if outlook.run is not None:
        return []
    taken = [f"{name}: rows of run {run_id}" for name, run_id in outlook.rows.items()]
    return [*taken, *(f"{name}: measured anew, because {why}" for name, why in outlook.why.items())]


def lacking_pairs(run: Manifest, name: str, inputs: Inputs) -> list[str]:
    there = {record.pair for record in run.of(name)} if name not in run.lacking else set[str]()
    return [pair.name for pair in pairs_of(load_study(name), inputs.pairs, inputs.reader_pair) if pair.name not in there]


def lacking(run: Manifest, inputs: Inputs) -> list[str]:
    return [name for name in run.fingerprints if lacking_pairs(run, name, inputs)]


def finish(run_id: str, inputs: Inputs) -> Manifest:
    """Complete the run if it has every study; else it is partial, and a later report goes on with it unless its trials were chosen."""
    folder = paths.raw() / run_id
    manifest = load_manifest(folder)
    if manifest.status == "complete" or not (manifest.chosen or lacking(manifest, inputs)):
        return complete(run_id)
    return update(manifest, status="partial", finished_at=datetime.now(UTC)).save(folder)


def reopen(run: Manifest) -> Manifest:
    """Have a complete run that a budget cut short go on: its shortened studies are begun again, with what they have."""
    whole, cut = ([one for one in run.studies if (one.name in run.lacking) is short] for short in (False, True))
    reopened = update(run, studies=whole, begun=[*run.begun, *cut], lacking={}, status="running", finished_at=None)
    return reopened.save(paths.raw() / run.run_id)


def complete(run_id: str) -> Manifest:
    """Merge the parts of a run into its one file of rows and mark it complete."""
    folder = paths.raw() / run_id
    manifest = load_manifest(folder)
    if manifest.status == "complete":
        return manifest
    merge_parts(folder)
    return update(manifest, status="complete", finished_at=datetime.now(UTC)).save(folder)


def _new_id(wanted: str) -> str:
    names = chain([wanted], (f"{wanted}-{number}" for number in count(2)))
    return next(name for name in names if not (paths.raw() / name).exists())


def _measured_in(known: Iterable[Manifest], name: str, fingerprint: Fingerprint, inputs: Inputs) -> Manifest | None:
    own = (run for run in known if name not in run.taken and name not in run.copied and not run.samples)
    return next((run for run in own if run.fingerprints.get(name) == fingerprint and not lacking_pairs(run, name, inputs)), None)


def _why(name: str, fingerprint: Fingerprint, before: Manifest) -> str:
    if name not in before.fingerprints:
        return f"run {before.run_id} had no such study"
    changed = fingerprint.differing(before.fingerprints[name])
    if not changed:
        return f"run {before.run_id} has not all of it"
    more = f" and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
    return f"{', '.join(changed[:MOST_NAMED])}{more} changed since run {before.run_id}"


def _with_taken(manifest: Manifest, older: Mapping[str, Manifest]) -> Manifest:
    studies: list[StudyRecord] = []
    datasets: list[DatasetRecord] = []
    calibrations: dict[str, dict[str, float]] = {}
    for name, run in older.items():
        records = run.of(name)
        pairs = {record.pair for record in records}
        studies += records
        datasets += [data.model_copy(update={"studies": (name,)}) for data in run.datasets if name in data.studies]
        calibrations |= {place: figures for place, figures in run.calibrations.items() if place.partition("/")[0] in pairs}
    return update(manifest, studies=tuple(studies), datasets=manifest.with_data(datasets), calibrations=calibrations)


def shown_source(source: str) -> str:
    """Return `source` without the folders of a file's path: a manifest names no home."""
    return f"file:{Path(source).name}" if source.startswith("file:") else source


def plan_retry(rows: pl.DataFrame) -> Retry:
    """Plan for each study and pair as many whole replicates as the trial with the most rejected rows has lost; none for simulated rows."""
    flagged = rows.filter(pl.col("flags").list.len() > 0, pl.col("evidence") != Evidence.SIMULATED)
    lost = flagged.group_by("study", "pair", "trial").agg(pl.col("replicate").n_unique())
    replicates = lost.group_by("study", "pair").agg(pl.col("replicate").max()).sort("study", "pair")
    rejected = flagged.group_by("study", "pair").len().sort("study", "pair")
    return Retry(
        replicates={f"{study}/{pair}": int(number) for study, pair, number in replicates.rows()},
        rejected={f"{study}/{pair}": int(number) for study, pair, number in rejected.rows()},
    )


def begin_retry(folder: Path) -> Manifest:
    """Return the manifest of the run in `folder`, with replicates added for what was rejected, unless that was done once already."""
    manifest = load_manifest(folder)
    if manifest.retry is not None:
        say("RETRY: this run already got its additional replicates, and gets no more (FRESH=1 measures a new run)")
        return manifest
    retry = plan_retry(without_real_time_rows(rows_so_far(folder)))
    if not retry.replicates:
        say("RETRY: no row of this run was rejected")
        return manifest
    added = ", ".join(f"{number} of {name} ({retry.rejected[name]} rows rejected)" for name, number in retry.replicates.items())
    say(f"RETRY: adding whole replicates: {added}. The earlier rows stay.")
    whole, begun = (
        [record for record in manifest.studies if (f"{record.name}/{record.pair}" in retry.replicates) is added] for added in (False, True)
    )
    return update(manifest, retry=retry, studies=whole, begun=begun, status="running", finished_at=None).save(folder)
