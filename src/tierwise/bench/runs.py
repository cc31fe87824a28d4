"""Runs: opened, found again after a kill, completed."""

from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from tierwise.bench.inputs import Inputs, code_version, packages
from tierwise.bench.method import method_sha256
from tierwise.core import host, paths
from tierwise.core.toml import validate
from tierwise.timings.manifest import Manifest, Stage, StudyRecord, load_manifest
from tierwise.timings.store import manifests, merge_parts


def open_run(inputs: Inputs, *, fresh: bool) -> Manifest:
    """The newest run of the same inputs, complete or not; a new one where there is none, or with `fresh`."""
    sha256 = inputs.sha256()
    if not fresh:
        same = [run for run in manifests(paths.raw()).values() if run.inputs_sha256 == sha256]
        if same:
            return max(same, key=lambda run: run.started_at)
    now = datetime.now(UTC)
    run_id = _new_id(f"{now:%Y%m%d-%H%M%S}-{inputs.profile.name}-{sha256[:6]}")
    manifest = Manifest(
        run_id=run_id,
        status="running",
        inputs_sha256=sha256,
        profile=inputs.profile.model_dump(mode="json"),
        pairs=inputs.pair_files(),
        reader_pair=inputs.reader_pair,
        seed=inputs.seed,
        clocks=inputs.counting.told(),
        sources={name: shown_source(source) for name, source in inputs.sources.items()},
        code_version=code_version(),
        method_sha256=method_sha256(),
        host=host.fingerprint(),
        packages=packages(),
        started_at=now,
    )
    manifest.save(paths.raw() / run_id)
    return manifest


def _new_id(wanted: str) -> str:
    """`wanted`, numbered where a run of this very second has it already."""
    names = chain([wanted], (f"{wanted}-{number}" for number in count(2)))
    return next(name for name in names if not (paths.raw() / name).exists())


def complete(run_id: str) -> Manifest:
    """Merge the parts of a run into its one file of rows and mark it complete."""
    folder = paths.raw() / run_id
    manifest = load_manifest(folder)
    if manifest.status == "complete":
        return manifest
    merge_parts(folder)
    done = update(manifest, status="complete", finished_at=datetime.now(UTC))
    done.save(folder)
    return done


def record_study(folder: Path, record: StudyRecord, **changes: object) -> None:
    """Add `record` to the manifest of the run in `folder`, in place of an older one of that study and pair."""
    manifest = load_manifest(folder)
    others = [known for known in manifest.studies if (known.name, known.pair) != (record.name, record.pair)]
    update(manifest, studies=[*others, record], **changes).save(folder)


def record_stage(folder: Path, stage: Stage) -> None:
    """Add how the machine was while a notebook measured."""
    manifest = load_manifest(folder)
    update(manifest, stages=(*manifest.stages, stage)).save(folder)


def update(manifest: Manifest, **changes: object) -> Manifest:
    """`manifest` with `changes`, validated."""
    return validate({**manifest.model_dump(), **changes}, Manifest, where=f"run {manifest.run_id}")


def shown_source(source: str) -> str:
    """`source` without the folders of a file's path: a manifest names no home."""
    return f"file:{Path(source).name}" if source.startswith("file:") else source
