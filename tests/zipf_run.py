"""A real run of the study `ram_or_ssd` alone, at a four-thousandth of the size."""

from pathlib import Path
from typing import Any, Final

import pytest

from tierwise.bench.inputs import Inputs
from tierwise.bench.run_record import RunRecord
from tierwise.bench.runs import begin_run, complete
from tierwise.bench.simulation import SimulatedStudy, simulate_on_pair
from tierwise.core import paths
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import load_profile
from tierwise.studies.ram_or_ssd.measuring.trials import STUDY

SIZES_GIB: Final = (2, 8, 16, 24, 32, 64)
SCALE: Final = 4096


def inputs(*, replicates: int = 5, seed: int = 1) -> Inputs:
    grid = {"dataset_gib": SIZES_GIB, "scale": SCALE, "disk_scale": SCALE}
    profile = load_profile("smoke").model_copy(update={"replicates": replicates, "studies": {STUDY.name: grid}})
    return Inputs(profile, (load_pair("source-r"),), None, seed, "18.0")


def zipf_run(raw: Path, monkeypatch: pytest.MonkeyPatch, *, replicates: int = 5, study: SimulatedStudy[Any] = STUDY) -> str:
    monkeypatch.setenv("TIERWISE_RAW", str(raw))
    requested = inputs(replicates=replicates)
    run = begin_run(requested, fresh=True)
    simulate_on_pair(study, requested.pairs[0], requested, RunRecord(paths.raw() / run.run_id), raw / "work")
    return complete(run.run_id).run_id
