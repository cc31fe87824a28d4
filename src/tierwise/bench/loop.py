"""Measure one study: on its source's pair and on the reader's, in the run of these inputs."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from tierwise.bench.inputs import Inputs
from tierwise.bench.live import measure_on_pair, turns_of
from tierwise.bench.run_record import RunRecord
from tierwise.bench.runs import begin_run, finish, shown_source
from tierwise.bench.simulation import SimulatedStudy, simulate_on_pair
from tierwise.bench.study import Study, Trial, interleave, no_check
from tierwise.bench.study_registry import fingerprint, load_study, pairs_of
from tierwise.bench.workspace import discard_runs, exclusive_workspace, run_folder
from tierwise.core import data_sets, paths, session_group, studies
from tierwise.core.data_sets import chosen as chosen_sources
from tierwise.core.errors import InputError, MissingError
from tierwise.core.pairs import TODAY, Pair, load_pair
from tierwise.core.profiles import Profile, load_profile
from tierwise.core.renamed import refuse_old_parameters
from tierwise.core.toml import validate
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.postgres.binaries import Binaries, find_binaries
from tierwise.recorders import strace
from tierwise.tiers.mounting import require_fuse
from tierwise.timings.manifest import Manifest, load_manifest

AnyStudy = Study[Any, Any] | SimulatedStudy[Any]
Measure = Callable[[str, Inputs, Path], Manifest]
"""Measures what the run in a folder lacks of a study, by name, and returns the run's manifest."""


def gather_inputs(*, profile: str, tiers: str, seed: int, **sources: str) -> Inputs:
    """Read what a run is to measure; `tiers` names the reader's own pair, or is empty; `sources`: data set -> where its rows come from."""
    binaries = find_binaries()
    letters = {load_study(name).source for name in studies.names()}
    files = sorted(path.stem for path in (paths.data() / "tiers").glob("*.toml"))
    pairs = [pair for pair in map(load_pair, files) if pair.source in letters]
    chosen = load_profile(profile)
    for name in chosen.today:
        if load_pair(name).source != TODAY:
            where = f"data/profiles/{profile}.toml"
            raise InputError(where, field="today", value=name, rule=f'must be a pair of data/tiers with source = "{TODAY}"')
    chosen = chosen.model_copy(update={"today": tuple(name for name in chosen.today if name != tiers)})  # one's own pair has every cell
    there = {pair.name for pair in pairs}
    pairs += [load_pair(name) for name in (tiers, *chosen.today) if name and name not in there]
    possible = possible_pairs(pairs)
    simulated = any(tier.evidence is Evidence.SIMULATED for pair in possible for tier in pair.tiers.values())
    return Inputs(
        profile=chosen.model_copy(update={"io_modes": possible_io_modes(chosen, binaries, simulated=simulated)}),
        pairs=possible,
        reader_pair=tiers or None,
        seed=validate(seed, int, where="SEED"),
        server_version=".".join(map(str, binaries.version)),
        sources=chosen_sources(sources),
        needs_real_time=session_group.obstacle(),
    )


def inputs_of(run: Manifest) -> Inputs:
    """Return the inputs of `run`, read anew; the path of a file comes from the environment (``CENSUS=file:PATH``)."""
    named, sources = named_sources(), dict[str, str]()
    for data_set, shown in run.sources.items():
        sources[data_set] = named.get(data_set, "") if shown.startswith("file:") else shown
        if shown_source(sources[data_set]) != shown:
            option = data_set.upper()
            rule, remedy = f"run {run.run_id} has {shown}", f"{option}=file:PATH of that file"
            raise InputError(option, value=sources[data_set], rule=rule, remedy=remedy)
    return gather_inputs(profile=run.profile["name"], tiers=run.reader_pair or "", seed=run.seed, **sources)


def requested_inputs(run_id: str = "", *, profile: str, tiers: str = "", seed: int = 1) -> Inputs:
    """Return the inputs of run `run_id`, if it is not empty, else those of the other arguments and the environment's data sets."""
    refuse_old_parameters()
    if run_id:
        return inputs_of(load_manifest(paths.raw() / run_id))
    return gather_inputs(profile=profile, tiers=tiers, seed=seed, **named_sources())


def named_sources() -> dict[str, str]:
    """Return data set -> the source that the environment names for it (``CENSUS``, ``SKY``), if it names one."""
    return {name: source for name in data_sets.with_choice() if (source := os.environ.get(name.upper()))}


def possible_pairs(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Return `pairs` as this machine can have them: where nothing can be mounted, what would be emulated is simulated."""
    try:
        require_fuse()
    except MissingError as no_fuse:
        simulated = tuple(pair.simulated() for pair in pairs)
        obstacle = None if simulated == tuple(pairs) else strace.obstacle()
        if obstacle:
            why = f"disks are emulated through the one ({no_fuse}), or simulated from what the other records ({obstacle})"
            raise MissingError("FUSE, and strace in its place,", why=why, remedy="apt-get install strace") from no_fuse
        return simulated
    return tuple(pairs)


def possible_io_modes(profile: Profile, binaries: Binaries, *, simulated: bool) -> tuple[IoMode, ...]:
    """Return the profile's I/O modes that this machine can do: buffered where the server has no direct I/O, asynchronous with `io_method`.

    On a simulated tier the server's own reads are replayed; what the kernel's page cache makes of buffered ones is not modelled.
    """
    if simulated:
        return (IoMode.DIRECT,)
    if not binaries.supports_direct_io:
        return (IoMode.BUFFERED,)
    return tuple(io_mode for io_mode in profile.io_modes if binaries.supports_io_method or io_mode is not IoMode.ASYNCHRONOUS)


def trials_of(name: str, *, run_id: str = "", profile: str, tiers: str = "", seed: int = 1, trials: str = "") -> pl.DataFrame:
    """Return the trials that `run_study` would measure with the same arguments: a row each, with pair and coordinates."""
    inputs = requested_inputs(run_id, profile=profile, tiers=tiers, seed=seed)
    chosen = load_manifest(paths.raw() / run_id).chosen.get(name, "") if run_id else trials
    study = with_trials(load_study(name), inputs, chosen)
    cells = ((pair, trial) for pair in pairs_of(study, inputs.pairs, inputs.reader_pair) for trial in study.trials(inputs.profile, pair))
    return pl.DataFrame([{"pair": pair.name, **trial.coordinates} for pair, trial in cells], infer_schema_length=None)


def run_study(
    name: str, *, run_id: str = "", profile: str, tiers: str = "", seed: int = 1, trials: str = "", measure: Measure | None = None
) -> Manifest:
    """Measure what is still missing of study `name`, and return the run's manifest.

    The inputs are those of run `run_id`, if it is not empty, else the other arguments. `trials`: parts of a trial's key with spaces between
    them (``start=FL table=hdd``), to measure only trials that have all of them, in a separate run, which stays partial.
    """
    measuring: Measure = measure or measure_study
    inputs = requested_inputs(run_id, profile=profile, tiers=tiers, seed=seed)
    if run_id:
        run = load_manifest(paths.raw() / run_id)
        if trials and trials != run.chosen.get(name):
            raise InputError("TRIALS", value=trials, rule="chosen trials are measured in a separate run", remedy="leave RUN_ID empty")
        _need_unchanged(name, inputs, run)
        return measuring(name, inputs, paths.raw() / run_id)
    with_trials(load_study(name), inputs, trials)  # refuses before a run is begun
    run = begin_run(inputs, fresh=False, chosen={name: trials} if trials else None)
    measuring(name, inputs, paths.raw() / run.run_id)
    return finish(run.run_id, inputs)


def _need_unchanged(name: str, inputs: Inputs, run: Manifest) -> None:
    before = run.fingerprints.get(name)
    changed = before.model_copy(update={"code": {}}).differing(fingerprint(name, inputs).model_copy(update={"code": {}})) if before else []
    if changed:
        raise InputError("RUN_ID", value=run.run_id, rule=f"{', '.join(changed)} changed since it began", remedy="leave RUN_ID empty")


def measure_study(name: str, inputs: Inputs, folder: Path) -> Manifest:
    run = load_manifest(folder)
    study = with_trials(load_study(name), inputs, run.chosen.get(name, ""))
    if run.status != "complete":
        with exclusive_workspace() as workspace:
            discard_runs(workspace, but=folder.name)
            for pair in measured_pairs(study, inputs, run):
                measure_pair(study, pair, inputs, RunRecord(folder), run_folder(workspace, folder.name) / f"{name}-{pair.name}")
    return load_manifest(folder)


def measured_pairs(study: AnyStudy, inputs: Inputs, run: Manifest) -> list[Pair]:
    return [pair for pair in pairs_of(study, inputs.pairs, inputs.reader_pair) if not run.chosen or study.trials(inputs.profile, pair)]


def measure_pair(study: AnyStudy, pair: Pair, inputs: Inputs, record: RunRecord, work: Path, *, replicate: int | None = None) -> None:
    if isinstance(study, SimulatedStudy):
        simulate_on_pair(study, pair, inputs, record, work, replicate=replicate)
    else:
        measure_on_pair(study, pair, inputs, record, work, replicate=replicate)


def replicates_in(study: AnyStudy, inputs: Inputs, run: Manifest) -> int:
    wanted = inputs.profile.replicates_of(study.name)
    turns = [
        turn
        for pair in measured_pairs(study, inputs, run)
        for turn in (
            interleave(study.trials(inputs.profile, pair), replicates=wanted, seed=inputs.seed)
            if isinstance(study, SimulatedStudy)
            else turns_of(study, pair, inputs, wanted)
        )
    ]
    return 1 + max(turn.testbed for turn in turns)


def with_trials(study: AnyStudy, inputs: Inputs, chosen: str) -> AnyStudy:
    """Return `study` with those of its trials alone whose keys have every part of `chosen`. The check of complete rows is left out."""
    if not chosen:
        return study
    parts = set(validate(chosen, str, where="TRIALS").split())

    def trials(profile: Profile, pair: Pair) -> tuple[Trial[Any], ...]:
        return tuple(trial for trial in study.trials(profile, pair) if parts <= set(trial.key.split("/")))

    pairs = pairs_of(study, inputs.pairs, inputs.reader_pair)
    if not any(trials(inputs.profile, pair) for pair in pairs):
        known = {part for pair in pairs for trial in study.trials(inputs.profile, pair) for part in trial.key.split("/")}
        raise InputError("TRIALS", value=chosen, rule="no trial has all of these", remedy=f"some of: {' '.join(sorted(known))}")
    return replace(study, trials=trials, check=no_check)
