"""Which run a command works on: the newest of the same inputs, or a new one."""

from dataclasses import replace
from pathlib import Path

import pytest

from tierwise.bench.inputs import Inputs
from tierwise.bench.loop import gather_inputs
from tierwise.bench.runs import open_run, shown_source
from tierwise.core import paths
from tierwise.core.errors import InputError


@pytest.fixture
def inputs(tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Inputs:
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path / "raw"))
    monkeypatch.setenv("TIERWISE_WORK", str(workspace))
    return gather_inputs(profile="smoke", tiers="", seed=1, census="synthetic")


def test_the_same_inputs_go_on_with_the_same_run(inputs: Inputs) -> None:
    assert open_run(inputs, fresh=False).run_id == open_run(inputs, fresh=False).run_id


def test_fresh_measures_anew_and_keeps_the_old_run(inputs: Inputs) -> None:
    runs = [open_run(inputs, fresh=True).run_id for _ in range(3)]
    assert len(set(runs)) == 3
    assert sorted(path.name for path in paths.raw().iterdir()) == sorted(runs)


def test_another_input_is_another_run(inputs: Inputs, tmp_path: Path) -> None:
    sample = tmp_path / "sample.csv"
    sample.write_text("rows", encoding="utf-8")
    others = [
        replace(inputs, seed=2),
        replace(inputs, reader_pair="local"),
        replace(inputs, server_version="15.1"),
        replace(inputs, profile=inputs.profile.model_copy(update={"blocks": 6})),
        replace(inputs, sources={"census": f"file:{sample}"}),
    ]
    assert len({each.sha256() for each in (inputs, *others)}) == 6


def test_a_file_is_known_by_its_content_and_shown_by_its_name(inputs: Inputs, tmp_path: Path) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    for path in (first, second):
        path.write_text("rows", encoding="utf-8")
    assert replace(inputs, sources={"census": f"file:{first}"}).sha256() == replace(inputs, sources={"census": f"file:{second}"}).sha256()
    second.write_text("other rows", encoding="utf-8")
    assert replace(inputs, sources={"census": f"file:{first}"}).sha256() != replace(inputs, sources={"census": f"file:{second}"}).sha256()
    assert shown_source(f"file:{first}") == "file:first.csv"


def test_a_file_that_is_not_there_is_named(inputs: Inputs) -> None:
    with pytest.raises(InputError, match=r"CENSUS is 'file:/nonesuch': must name a readable file"):
        replace(inputs, sources={"census": "file:/nonesuch"}).sha256()
