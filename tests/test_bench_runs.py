"""Which run a command works on: the newest of the same fingerprints, or a new one that takes from older ones what nothing has changed."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from rows import make_rows
from tierwise.bench.inputs import Inputs
from tierwise.bench.loop import gather_inputs
from tierwise.bench.run_record import update
from tierwise.bench.runs import begin_run, complete, finish, lacking, look_ahead, origins, shown_source
from tierwise.bench.study_registry import fingerprint, fingerprints, load_study, pairs_of
from tierwise.core import paths, studies
from tierwise.core.errors import InputError
from tierwise.timings.manifest import DatasetRecord, Manifest, StudyRecord, load_manifest
from tierwise.timings.parts import read_rows, write_part

EVERY = set(studies.names())
WITHOUT_SERVER = {"ram_or_ssd"}
Changed = Callable[[Inputs], Inputs]


@pytest.fixture
def inputs(tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Inputs:
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path / "raw"))
    monkeypatch.setenv("TIERWISE_WORK", str(workspace))
    return gather_inputs(profile="smoke", tiers="", seed=1, census="synthetic")


def measured(run: Manifest, inputs: Inputs, *names: str) -> Manifest:
    """`run` as it is once the studies `names` (none: those that it lacks) were measured on each of their pairs, a row a replicate."""
    folder = paths.raw() / run.run_id
    for name in names or lacking(run, inputs):
        for pair in pairs_of(load_study(name), inputs.pairs, inputs.reader_pair):
            rows = make_rows(run_id=run.run_id, replicates=2, pair=pair.name).filter(pl.col("trial").str.contains("start=FL/table=hdd"))
            rows = rows.with_columns(study=pl.lit(name))
            for _, part in rows.group_by("trial", "replicate"):
                write_part(folder, part)
            trials = tuple(sorted(rows["trial"].unique()))
            known = load_manifest(folder)
            record = StudyRecord(name=name, pair=pair.name, trials=trials, replicates=2, settings={}, server_version="", facts={})
            used = [
                DatasetRecord(name=data, rows=1, sha256="0" * 64, provenance={}, studies=(name,)) for data in (f"of {name}", "of everybody")
            ]
            update(known, studies=[*known.studies, record], datasets=known.with_data(used)).save(folder)
    return finish(run.run_id, inputs)


def other_table(study: str) -> Changed:

    def changed(inputs: Inputs) -> Inputs:
        tables = inputs.profile.studies
        table = {**tables.get(study, {}), "replicates": 6}
        return replace(inputs, profile=inputs.profile.model_copy(update={"studies": {**tables, study: table}}))

    return changed


def with_profile(**changes: object) -> Changed:
    return lambda inputs: replace(inputs, profile=inputs.profile.model_copy(update=changes))


def test_the_same_inputs_go_on_with_the_same_run(inputs: Inputs) -> None:
    assert begin_run(inputs, fresh=False).run_id == begin_run(inputs, fresh=False).run_id


def test_fresh_measures_anew_and_keeps_the_old_run(inputs: Inputs) -> None:
    first = measured(begin_run(inputs, fresh=False), inputs)
    runs = [begin_run(inputs, fresh=True) for _ in range(2)]
    assert [(run.taken, run.studies) for run in runs] == [({}, ())] * 2
    assert sorted(path.name for path in paths.raw().iterdir()) == sorted({first.run_id, *(run.run_id for run in runs)})
    assert len(runs) == len({run.run_id for run in runs})


@pytest.mark.parametrize(
    ("changed", "anew"),
    [
        (lambda inputs: replace(inputs, seed=2), EVERY),
        (lambda inputs: replace(inputs, server_version="15.1"), EVERY - WITHOUT_SERVER),
        (lambda inputs: replace(inputs, reader_pair="source-m"), EVERY - WITHOUT_SERVER - {"index_placement"}),
        (lambda inputs: replace(inputs, sources={"sky": "download"}), {"survey_arrays"}),
        (lambda inputs: replace(inputs, pairs=tuple(pair for pair in inputs.pairs if pair.name != "source-r-live")), {"ram_or_ssd"}),
        (with_profile(name="other"), EVERY),
        (with_profile(replicates=6), EVERY),
        (with_profile(description="Said otherwise", free_space_bytes=7), set()),
        (other_table("survey_arrays"), {"survey_arrays"}),
        (other_table("ram_or_ssd"), {"ram_or_ssd"}),
    ],
)
def test_an_input_measures_those_studies_anew_whose_it_is(inputs: Inputs, changed: Changed, anew: set[str]) -> None:
    before, after = fingerprints(inputs), fingerprints(changed(inputs))
    assert {name for name in EVERY if after[name] != before[name]} == anew


def test_where_something_is_said_of_a_device_is_no_input(inputs: Inputs, tmp_path: Path) -> None:
    """The pair's own text; a figure is another device."""
    (pair,) = (pair for pair in inputs.pairs if pair.name == "source-l")
    others = tuple(one for one in inputs.pairs if one != pair)

    def of(**changes: object) -> str:
        return fingerprint("read_latency", replace(inputs, pairs=(*others, pair.model_copy(update=changes)))).sha256

    assert of(description="Said otherwise") == of()
    assert of(tiers={**pair.tiers, "hdd": pair.tiers["aux"]}) != of()


def test_a_new_run_takes_the_rows_of_what_nothing_has_changed(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    first = measured(begin_run(inputs, fresh=False), inputs)
    assert first.status == "complete"
    assert begin_run(inputs, fresh=False) == first
    rows = read_rows(paths.raw() / first.run_id)
    other = other_table("survey_arrays")(inputs)
    outlook = look_ahead(other)
    assert outlook.run is None
    assert outlook.lacking == ["survey_arrays"]
    second = begin_run(other, fresh=False)
    assert {name: taken.run_id for name, taken in second.taken.items()} == dict.fromkeys(EVERY - {"survey_arrays"}, first.run_id)
    assert second.why == {"survey_arrays": f"profile of the study changed since run {first.run_id}"}
    assert set(origins(outlook)) == {f"survey_arrays: measured anew, because {second.why['survey_arrays']}"} | {
        f"{name}: rows of run {first.run_id}" for name in second.taken
    }
    assert all(line in capsys.readouterr().err for line in origins(outlook)[:1])
    assert {data.name: data.studies for data in second.datasets} == {
        "of everybody": tuple(sorted(second.taken)),
        **{f"of {name}": (name,) for name in second.taken},
    }
    assert lacking(second, other) == ["survey_arrays"]

    assert measured(second, other).status == "complete"
    own = pl.read_parquet(paths.raw() / second.run_id / "timings.parquet")
    assert set(own["study"]) == {"survey_arrays"}, "no row was copied"
    assert read_rows(paths.raw() / first.run_id).equals(rows), "and none was changed"
    whole = read_rows(paths.raw() / second.run_id)
    assert dict(whole.group_by("study").agg(pl.col("run_id").unique().first()).rows()) == {
        name: second.run_id if name == "survey_arrays" else first.run_id for name in EVERY
    }


def test_rows_are_taken_from_the_run_that_measured_them_and_an_edit_taken_back_measures_nothing(inputs: Inputs) -> None:
    first = measured(begin_run(inputs, fresh=False), inputs)
    arrays = other_table("survey_arrays")(inputs)
    second = measured(begin_run(arrays, fresh=False), arrays)
    both = other_table("read_latency")(arrays)
    third = begin_run(both, fresh=False)
    assert {name: taken.run_id for name, taken in third.taken.items()} == {
        name: second.run_id if name == "survey_arrays" else first.run_id for name in EVERY - {"read_latency"}
    }
    third = measured(third, both)
    back = other_table("read_latency")(inputs)
    fourth = begin_run(back, fresh=False)
    assert lacking(fourth, back) == []
    assert {fourth.taken[name].run_id for name in ("read_latency", "survey_arrays")} == {third.run_id, first.run_id}
    assert complete(fourth.run_id).status == "complete"
    assert set(read_rows(paths.raw() / fourth.run_id)["study"]) == EVERY
    assert not (paths.raw() / fourth.run_id / "timings.parquet").exists()


def test_what_an_interrupted_run_has_measured_wholly_is_taken(inputs: Inputs) -> None:
    first = begin_run(inputs, fresh=False)
    measured(first, inputs, "index_placement")
    update(load_manifest(paths.raw() / first.run_id), status="running", finished_at=None).save(paths.raw() / first.run_id)
    other = other_table("survey_arrays")(inputs)
    second = begin_run(other, fresh=False)
    assert list(second.taken) == ["index_placement"]
    assert second.why["read_latency"] == f"run {first.run_id} has not all of it"


def test_another_seed_or_profile_refers_to_nothing(inputs: Inputs) -> None:
    measured(begin_run(inputs, fresh=False), inputs)
    for other in (replace(inputs, seed=2), with_profile(name="other")(inputs)):
        run = begin_run(other, fresh=False)
        assert (run.taken, run.why, run.studies) == ({}, {}, ())


def test_a_partial_run_goes_on_and_stands_back_behind_a_whole_one(inputs: Inputs) -> None:
    partial = measured(begin_run(inputs, fresh=False), inputs, "read_latency")
    assert partial.status == "partial"
    assert [record.name for record in partial.studies] == ["read_latency"]
    assert set(lacking(partial, inputs)) == EVERY - {"read_latency"}
    assert begin_run(inputs, fresh=False).run_id == partial.run_id
    whole = measured(begin_run(inputs, fresh=True), inputs)
    later = update(load_manifest(paths.raw() / partial.run_id), started_at=whole.started_at + timedelta(hours=1))
    later.save(paths.raw() / partial.run_id)
    assert begin_run(inputs, fresh=False).run_id == whole.run_id


def test_a_file_is_known_by_its_content_and_shown_by_its_name(inputs: Inputs, tmp_path: Path) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    for path in (first, second):
        path.write_text("rows", encoding="utf-8")

    def of(path: Path) -> str:
        return fingerprint("index_placement", replace(inputs, sources={"census": f"file:{path}"})).sha256

    assert of(first) == of(second)
    second.write_text("other rows", encoding="utf-8")
    assert of(first) != of(second)
    assert shown_source(f"file:{first}") == "file:first.csv"


def test_a_file_that_is_not_there_is_named(inputs: Inputs) -> None:
    with pytest.raises(InputError, match=r"CENSUS is 'file:/nonesuch': must name a readable file"):
        fingerprints(replace(inputs, sources={"census": "file:/nonesuch"}))
