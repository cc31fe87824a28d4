"""What is noted of a run while it is measured: its manifest. No number hangs on it, so those who measure know it as a type alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tierwise.bench.study import Turn
from tierwise.bench.testbed import DatasetLike
from tierwise.core.pairs import Calibrations
from tierwise.core.toml import validate
from tierwise.timings.manifest import DatasetRecord, Manifest, Stage, StudyRecord, load_manifest


def update(manifest: Manifest, **changes: object) -> Manifest:
    return validate({**manifest.model_dump(), **changes}, Manifest, where=f"run {manifest.run_id}")


def record_stage(folder: Path, stage: Stage) -> None:
    manifest = load_manifest(folder)
    update(manifest, stages=(*manifest.stages, stage)).save(folder)


@dataclass(frozen=True)
class RunRecord:
    folder: Path

    @property
    def calibrations(self) -> Calibrations:
        return load_manifest(self.folder).calibrations

    def keep_calibrations(self, figures: Mapping[str, Mapping[str, float]]) -> None:
        manifest = load_manifest(self.folder)
        update(manifest, calibrations={**manifest.calibrations, **figures}).save(self.folder)

    def replicates_added(self, study: str, pair: str) -> int:
        return load_manifest(self.folder).replicates_added(study, pair)

    def of(self, study: str, pair: str) -> StudyRecord | None:
        """Return what is kept of `study` on `pair`, whole or begun; None before its first replicate is whole."""
        manifest = load_manifest(self.folder)
        return next((known for known in (*manifest.studies, *manifest.begun) if (known.name, known.pair) == (study, pair)), None)

    def record(
        self,
        study: str,
        pair: str,
        turns: Sequence[Turn],
        *,
        testbeds: int,
        facts: Mapping[str, Any],
        settings: Mapping[str, str],
        server_version: str,
        datasets: Iterable[DatasetLike],
    ) -> None:
        """Record that the turns of the first `testbeds` among `turns` were executed, in place of an older record of `study` on `pair`."""
        manifest = load_manifest(self.folder)
        used = [
            DatasetRecord(name=data.name, rows=data.rows, sha256=data.sha256, provenance=data.provenance, studies=(study,))
            for data in datasets
        ]
        whole = testbeds >= len({turn.testbed for turn in turns})
        record = StudyRecord(
            name=study,
            pair=pair,
            trials=tuple(sorted({turn.trial.key for turn in turns if not turn.trial.real_time})),
            not_replicated=tuple(sorted({turn.trial.key for turn in turns if not turn.trial.replicated})),
            real_time=tuple(sorted({turn.trial.key for turn in turns if turn.trial.real_time})),
            replicates=len({turn.replicate for turn in turns}) if whole else testbeds,
            settings=dict(settings),
            server_version=server_version,
            facts=dict(facts),
        )
        kept = {
            name: [known for known in getattr(manifest, name) if (known.name, known.pair) != (study, pair)] for name in ("studies", "begun")
        }
        kept["studies" if whole else "begun"].append(record)
        update(manifest, **kept, datasets=manifest.with_data(used)).save(self.folder)
