"""``tierwise run STUDY``: one study by its notebooks, in a run that is found by whoever reads and that a report goes on with."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from checkout import Home, new_home
from tierwise.bench.loop import gather_inputs, run_study, trials_of
from tierwise.bench.runs import look_ahead
from tierwise.core import studies
from tierwise.core.errors import InputError
from tierwise.core.pairs import load_pair
from tierwise.report.run import open_run
from tierwise.studies.ram_or_ssd.measuring.trials import NAME, STUDY
from tierwise.timings.manifest import Manifest
from tierwise.timings.parts import rows_so_far

PROFILE = """name = "tiny"
description = "As little as shows that a study is run."
free_space_bytes = 1_000_000
fraction = 0.001
replicates = 2
io_modes = ["direct"]
memory_fraction = 0.25
sweep = "sample"

[studies.ram_or_ssd]
dataset_gib = [2, 8]
scale = 4096
disk_scale = 4096
"""


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    with new_home() as made, pytest.MonkeyPatch.context() as patch:
        checkout = made.lay_out("tiny", PROFILE, without=("source-r-live.toml",))
        for name, place in {"TIERWISE_HOME": checkout, "TIERWISE_RAW": made.folder / "raw", "TIERWISE_SITE": made.folder / "site"}.items():
            patch.setenv(name, str(place))
        patch.setenv("TIERWISE_WORK", str(made.folder / "work"))
        yield made


def command(home: Home, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(home.folder / "tmp"), "PROFILE": "tiny"}
    line = [sys.executable, "-m", "tierwise", *arguments]
    return subprocess.run(line, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def run(home: Home) -> Manifest:
    answer = command(home, "run", NAME)
    assert answer.returncode == 0, answer.stderr
    (made,) = home.runs().values()
    assert f"run {made.run_id} is partial; it has {NAME}" in answer.stderr
    return made


def test_the_study_is_whole_and_the_manifest_says_that_it_is_alone(home: Home, run: Manifest) -> None:
    assert run.status == "partial"
    assert [(record.name, record.pair) for record in run.studies] == [(NAME, "source-r")]
    assert set(run.fingerprints) == set(studies.names())
    rows = rows_so_far(home.folder / "raw" / run.run_id)
    assert set(rows["study"]) == {NAME}
    trials = {trial.key for trial in STUDY.trials(gather_inputs(profile="tiny", tiers="", seed=1).profile, load_pair("source-r"))}
    executed = {path.stem for path in (home.folder / "raw" / run.run_id / "notebooks").glob("*.ipynb")}
    assert executed == {f"run-{NAME}"}, "no other notebook, and it is measured on no data set"
    assert set(rows.select("trial", "replicate").rows()) == {(trial, replicate) for trial in trials for replicate in range(2)}


def test_chapters_and_claims_find_the_run(home: Home, run: Manifest) -> None:
    found = open_run()
    assert found.run_id == run.run_id
    assert found.record(NAME, "source-r") is not None
    answer = command(home, "claims", "--format", "json")
    assert answer.returncode == 0, answer.stderr
    verdicts = {claim["id"]: claim["verdict"] for claim in json.loads(answer.stdout)["claims"]}
    assert {verdict for name, verdict in verdicts.items() if name.startswith("M")} == {"not measured", "reported"}


def test_a_report_would_go_on_with_it_and_measure_the_others(run: Manifest) -> None:
    outlook = look_ahead(gather_inputs(profile="tiny", tiers="", seed=1))
    assert outlook.run is not None
    assert outlook.run.run_id == run.run_id
    assert outlook.lacking == [name for name in studies.names() if name != NAME]


def test_called_again_it_measures_nothing(home: Home, run: Manifest) -> None:
    answer = command(home, "run", NAME)
    assert answer.returncode == 0, answer.stderr
    assert f"run {run.run_id} has {NAME} already" in answer.stderr
    assert [one.stages for one in home.runs().values()] == [run.stages]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nonesuch",), f"no such study; there are: {', '.join(studies.names())}"),
        ((NAME, "--trials", "tier=tape"), "no trial has all of these"),
    ],
)
def test_what_is_not_there_is_named_and_begins_no_run(home: Home, run: Manifest, arguments: tuple[str, ...], said: str) -> None:
    answer = command(home, "run", *arguments)
    assert (answer.returncode, said in answer.stderr, list(home.runs())) == (2, True, [run.run_id]), answer.stderr


def test_chosen_trials_are_a_run_of_their_own_that_is_no_newest_and_whose_rows_no_later_run_takes(home: Home, run: Manifest) -> None:
    chosen = "tier=ssd dataset_gib=8"
    assert trials_of(NAME, profile="tiny", trials=chosen).height == 1
    run_study(NAME, profile="tiny", trials=chosen)
    (made,) = (one for one in home.runs().values() if one.run_id != run.run_id)
    assert (made.status, made.chosen) == ("partial", {NAME: chosen})
    assert {key for record in made.studies for key in record.trials} == {"dataset_gib=8/scale=4096/tier=ssd"}
    assert open_run().run_id == run.run_id
    inputs = gather_inputs(profile="tiny", tiers="", seed=1)
    going_on = look_ahead(inputs, chosen=made.chosen).run
    assert going_on is not None
    assert going_on.run_id == made.run_id
    with pytest.raises(InputError, match="in a separate run"):
        run_study(NAME, profile="tiny", run_id=made.run_id, trials="tier=ssd")
