"""The smoke run of the tests: whole, of every study; what it has of models is frozen, and comes out again."""

from pathlib import Path

import polars as pl
import pytest

from support import SMOKE_RUN
from tierwise.bench.replaying import predicted
from tierwise.bench.simulation import SimulatedStudy
from tierwise.bench.study import Study
from tierwise.bench.study_registry import load_study
from tierwise.bench.testbed import Testbed
from tierwise.core import studies
from tierwise.core.data_sets import whole_rows
from tierwise.core.host import fingerprint
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import Profile
from tierwise.core.vocabulary import Evidence
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.workspace import server_account
from tierwise.timings.manifest import StudyRecord, load_manifest
from tierwise.timings.parts import read_rows
from tierwise.timings.replicates import REPLICATES
from tierwise.timings.schema import Origin, frame

RUN = load_manifest(SMOKE_RUN)
TIMES = ("predicted_s", "devices_s")
ROWS = read_rows(SMOKE_RUN)
SIMULATED = [record for record in RUN.studies if set(ROWS.filter(study=record.name, pair=record.pair)["evidence"]) == {Evidence.SIMULATED}]
PREDICTED = [record for record in RUN.studies if record.facts.get("predictions")]
STALE = "the models, or their inputs, give other results than the kept run has: say so under Method, and scripts/keep_smoke.py"


def tolerance() -> float:
    """Return how far a time may be off, as a share: not at all on the processor that made it; others may round a power otherwise."""
    return 0.0 if fingerprint().cpu == RUN.host.cpu else 1e-6


def test_it_is_a_whole_smoke_run_of_every_study() -> None:
    assert (RUN.run_id, RUN.status, RUN.profile["name"], RUN.reader_pair) == (SMOKE_RUN.name, "complete", "smoke", None)
    assert {record.name for record in RUN.studies} == set(ROWS["study"]) == set(studies.names()), "scripts/keep_smoke.py"
    assert len([path for path in SMOKE_RUN.rglob("*") if path.is_file()]) <= 20


@pytest.mark.parametrize("record", SIMULATED, ids=lambda record: record.name)
def test_what_it_simulated_comes_out_again(record: StudyRecord) -> None:
    """The first seed of every trial, row by row: what is counted on any processor, times to the last digit on the one that made it."""
    study, pair = load_study(record.name), load_pair(record.pair)
    assert isinstance(study, SimulatedStudy)
    frozen = read_rows(SMOKE_RUN).filter(study=study.name, pair=pair.name, replicate=0)
    for trial in study.trials(Profile.model_validate(RUN.profile), pair):
        rows = frozen.filter(trial=trial.key).sort("step")
        origin = Origin(RUN.run_id, study.name, pair.name, Evidence.SIMULATED, trial.io_mode, trial.key, 0, rows["sequence"][0])
        again = frame(origin, list(study.simulate(trial, pair, RUN.seed)))
        assert counts(again) == counts(rows), STALE
        assert again["elapsed_s"].to_list() == pytest.approx(rows["elapsed_s"].to_list(), rel=tolerance(), abs=0), STALE


def counts(rows: pl.DataFrame) -> dict[str, list[int]]:
    misses, device_reads = (rows[name].list.eval(pl.element().struct.field("reads")).list.sum() for name in ("relation_io", "tier_io"))
    return {"misses": misses.to_list(), "device_reads": device_reads.to_list(), "result_rows": rows["result_rows"].to_list()}


@pytest.mark.parametrize("record", PREDICTED, ids=lambda record: record.name)
def test_what_it_predicted_from_its_traces_comes_out_again(record: StudyRecord, tmp_path: Path) -> None:
    """Every page sequence of the first replicate replayed through the device models; those of other replicates went with their data."""
    study = load_study(record.name)
    assert isinstance(study, Study)
    profile = Profile.model_validate(RUN.profile)
    share = next(data.rows / whole_rows("census") for data in RUN.datasets if data.name == "census")
    no_server = Cluster(tmp_path, find_binaries(), server_account())
    testbed = Testbed(profile, load_pair(record.pair), RUN.seed, tmp_path, no_server, stretch=1 / share)
    rows = read_rows(SMOKE_RUN).filter(study=study.name, pair=record.pair, replicate=0)
    found = predicted(study, study.trials(profile, testbed.pair), testbed, rows, SMOKE_RUN)
    again, frozen = (
        {(one["trial"], one["step"]): one | {name: one[name][:1] for name in (REPLICATES, *TIMES)} for one in predictions}
        for predictions in (found, record.facts["predictions"])
    )
    assert again.keys() == frozen.keys(), STALE
    for one, other in ((again[key], frozen[key]) for key in frozen):
        assert (one["requests"], one["replicates"]) == (other["requests"], other["replicates"]), STALE
        for times in TIMES:
            assert one[times] == pytest.approx(other[times], rel=1e-9), STALE  # sums of floats, in another order at most
