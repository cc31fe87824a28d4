"""A run on this machine, collected from its attempts in a store."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

import polars as pl

from tierwise.cluster.attempts import ROWS, Attempt, Survey, Surveyor
from tierwise.cluster.store import CAMPAIGN, Store, open_store, write_patiently
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.files import make_folder, put, scratch_folder
from tierwise.core.progress import say
from tierwise.core.toml import Strict, validate
from tierwise.timings.export import TABLES
from tierwise.timings.manifest import Manifest, StudyRecord, UsedAttempt, load_manifest
from tierwise.timings.merging import Summarise
from tierwise.timings.parquet import read_whole
from tierwise.timings.parts import done_parts, rows_so_far, without_real_time_rows, write_part
from tierwise.timings.references import MANIFEST
from tierwise.timings.replicates import PREDICTIONS, joined
from tierwise.timings.trial_files import TrialKey

MOST_NAMED: Final = 10  # how many ignored objects are named before the rest is only counted

CUT: Final = "cut"  # the folder of objects in a run that say that a budget ended: the run is what the store has

Completes = Callable[[str], Manifest]  # merges the parts of the run with this id and marks the run complete


class Campaign(Strict):
    """What a run in a store is to have: its manifest as the run began, and the number of replicates of each study."""

    run: Manifest
    replicates: dict[str, int]


def begin_campaign(store: Store, run: Manifest, replicates: Mapping[str, int]) -> Campaign:
    """Return the campaign that the store has of `run`, which is written if there is none."""
    name = f"{run.run_id}/{CAMPAIGN}"
    if name in store.sizes(run.run_id):
        return read_campaign(store, run.run_id)
    campaign = Campaign(run=run, replicates=dict(replicates))
    write_patiently(store, name, campaign.model_dump_json(indent=2).encode())
    return campaign


def read_campaign(store: Store, run_id: str) -> Campaign:
    name = f"{run_id}/{CAMPAIGN}"
    try:
        content = store.read(name)
    except FileNotFoundError as error:
        raise InputError("run", value=run_id, rule=f"{store.url} has no such run", remedy="name a run of this store") from error
    try:
        return Campaign.model_validate_json(content)
    except ValueError as error:
        raise InputError(name, rule=f"must describe a run ({error})") from error


def named_run(address: str) -> tuple[Store, str]:
    """Return the store and the id of the run at `address`, which is the store's followed by the run's id."""
    place, _, run_id = address.rstrip("/").rpartition("/")
    return open_store(place), run_id


def fetch_run(address: str, summarise: Summarise, complete: Completes) -> Path:
    """Collect the run at `address` (`named_run`) below ``data/raw``, and return its folder."""
    store, run_id = named_run(address)
    folder = paths.raw() / run_id
    if (folder / MANIFEST).is_file() and load_manifest(folder).status == "complete":
        return folder
    campaign = read_campaign(store, run_id)
    if campaign.run.run_id != run_id:
        raise InputError(address, field="run_id", value=campaign.run.run_id, rule="must be the name of its folder")
    if campaign.run.chosen:
        raise InputError("run", value=run_id, rule="has chosen trials only, and never becomes complete", remedy="name another run")
    found = Surveyor(store, run_id).survey()
    report_leftovers(found)
    wanted = {(study, number) for study, replicates in campaign.replicates.items() for number in range(replicates)}
    cut = bool(store.sizes(f"{run_id}/{CUT}"))
    if (missing := sorted(wanted - found.counting.keys())) and not cut:
        study, number = missing[0]
        rule = f"is not complete: {len(missing)} of {len(wanted)} replicates have no whole attempt, such as {study} {number}"
        raise InputError("run", value=run_id, rule=rule, remedy="make report with the same inputs, SCHEDULER and STORE continues the run")
    if not folder.exists():
        make_folder(paths.raw())
        with scratch_folder(".begun-", within=paths.raw()) as begun:
            campaign.run.save(begun / run_id)
            put(begun / run_id, folder)
    collect_there(store, found, campaign.replicates, folder, summarise)
    complete(run_id)
    return folder


def collect_there(store: Store, found: Survey, replicates: Mapping[str, int], folder: Path, summarise: Summarise) -> Manifest:
    """Collect every study whose first replicate is there, which has what is found out once; the manifest says what is lacking."""
    lacking = dict[str, int]()
    for study, wanted in replicates.items():
        there = [found.counting[study, number] for number in range(wanted) if (study, number) in found.counting]
        if there and there[0].replicate == 0:
            collect_study(store, there, folder, summarise)
            lacking[study] = wanted - len(there)
        else:
            lacking[study] = wanted
    done = load_manifest(folder).model_copy(update={"lacking": {study: number for study, number in lacking.items() if number}})
    done.save(folder)
    return done


def report_leftovers(found: Survey) -> None:
    for attempt in found.late:
        say(f"not used, because another whole attempt counts: {attempt.name}")
    for attempt in found.failed:
        say(f"failed: {attempt.name}: {attempt.error}")
    for name, why in sorted(found.ignored.items())[:MOST_NAMED]:
        say(f"ignored: {name}: {why}")
    if len(found.ignored) > MOST_NAMED:
        say(f"ignored: {len(found.ignored) - MOST_NAMED} more objects")


def collect_study(store: Store, attempts: Sequence[Attempt], folder: Path, summarise: Summarise) -> Manifest:
    """Write the rows of `attempts`, one for each replicate of a study, into the run in `folder`, then the study's records."""
    manifest, study = load_manifest(folder), attempts[0].study
    if study in {record.name for record in manifest.studies}:
        return manifest
    for attempt in attempts:
        if attempt.fingerprint != manifest.fingerprints[study].sha256:
            rule = f"measured other code or inputs than run {folder.name}"
            raise InputError(attempt.name, field="fingerprint", value=attempt.fingerprint[:12], rule=rule, remedy="use the same commit")
        _copy(store, attempt, folder)
    rows = without_real_time_rows(rows_so_far(folder, study))
    pairs = {record.pair: None for attempt in attempts for record in attempt.records}
    records = [
        _joined([record for attempt in attempts for record in attempt.records if record.pair == pair], rows.filter(pair=pair), summarise)
        for pair in pairs
    ]
    calibrations = {place: figures for attempt in reversed(attempts) for place, figures in attempt.calibrations.items()}
    used = [one.model_dump(include=set(UsedAttempt.model_fields)) for one in attempts]
    changes: dict[str, Any] = {
        "studies": [*manifest.studies, *records],
        "begun": [record for record in manifest.begun if record.name != study],
        "datasets": manifest.with_data(data for attempt in attempts for data in attempt.datasets),
        "calibrations": {**manifest.calibrations, **calibrations},
        "attempts": [*(one for one in manifest.attempts if one.study != study), *used],
    }
    done = validate({**manifest.model_dump(), **changes}, Manifest, where=f"run {folder.name}")
    done.save(folder)
    return done


def _copy(store: Store, attempt: Attempt, folder: Path) -> None:
    done = done_parts(folder, attempt.study)
    for rows in _table(store, attempt, ROWS).partition_by("study", "pair", "trial", "replicate", maintain_order=True):
        key = rows.select("study", "pair", "trial", "replicate").row(0)
        if key not in done:
            write_part(folder, rows)
        elif not (there := rows_so_far(folder, attempt.study).filter(pair=key[1], trial=key[2], replicate=key[3])).equals(rows):
            rule = f"has {len(there)} rows that another attempt measured"
            raise InputError(f"run {folder.name}", field="/".join(map(str, key)), rule=rule, remedy="make report FRESH=1 begins a new run")
    for table in TABLES:
        if table.folder in attempt.objects:
            for piece in _table(store, attempt, table.folder).partition_by(*table.keys, maintain_order=True):
                study, pair, trial, *replicate = piece.select(*table.keys).row(0)
                table.write(folder, TrialKey(study, pair, trial), piece.select(*table.columns), replicate[0] if replicate else None)


def _table(store: Store, attempt: Attempt, table: str) -> pl.DataFrame:
    name = attempt.name_of(table)
    with scratch_folder("tierwise-attempt-") as scratch:
        path = scratch / PurePosixPath(name).name
        path.write_bytes(store.read(name))
        return read_whole(path, name)


def _joined(records: Sequence[StudyRecord], rows: pl.DataFrame, summarise: Summarise) -> StudyRecord:
    """Return the record of a study on a pair from those of its replicates: the first one's facts, and what all rows show."""
    first, predictions = records[0], list[dict[str, Any]]()
    for record in records:
        predictions = joined(predictions, record.facts.get(PREDICTIONS, ()))
    facts = {**first.facts, **summarise(first.name, rows), **({PREDICTIONS: predictions} if predictions else {})}
    lists = ("trials", "not_replicated", "real_time")
    together = {name: sorted({trial for record in records for trial in getattr(record, name)}) for name in lists}
    changes = {**together, "replicates": rows["replicate"].n_unique(), "facts": facts}
    return validate({**first.model_dump(), **changes}, StudyRecord, where=f"{first.name} on {first.pair}")
