"""Which run a command works on, what a new one takes from older ones, and runs put together."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from rows import STARTED, make_rows, make_run
from support import read_transactions
from tierwise import pipeline
from tierwise.analysis.runs import newest_run
from tierwise.analysis.statistics import RANDOM_FROM, Scope, geometric_estimate, scope_of
from tierwise.analysis.views import open_views
from tierwise.bench.inputs import Inputs
from tierwise.bench.loop import gather_inputs
from tierwise.bench.run_record import update
from tierwise.bench.runs import begin_run, complete, finish, lacking, look_ahead, origins, shown_source
from tierwise.bench.study_registry import fingerprint, fingerprints, load_study, pairs_of
from tierwise.core import paths, studies
from tierwise.core.errors import InputError
from tierwise.timings.export import export
from tierwise.timings.manifest import DatasetRecord, Fingerprint, Manifest, StudyRecord, load_manifest
from tierwise.timings.merging import merge_runs
from tierwise.timings.parts import read_rows, without_real_time_rows, write_part
from tierwise.timings.replicates import RUN_REPLICATES
from tierwise.timings.trial_files import TRANSACTION, TRANSACTIONS, TrialKey

EVERY = set(studies.names())
WITHOUT_SERVER = {"ram_or_ssd"}
Changed = Callable[[Inputs], Inputs]


@pytest.fixture
def inputs(own_folders: None) -> Inputs:
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


STUDY = "index_placement"
KEY = TrialKey(STUDY, "source-m", "index=hdd/io_mode=direct/start=FL/table=hdd")
REPLICATES = 5


def runs(raw: Path, *seeds: int, code: str = "c") -> list[Path]:
    found = []
    for number, seed in enumerate(seeds):
        ratios = {("cold", state): 0.9 * 1.1**number for state in ("FL", "PR", "NV")}
        folder = make_run(raw, run_id=f"2026010{number + 1}-030405-quick-abcdef", ratios=ratios, seed=number, sigma=0.001)
        fingerprint = Fingerprint(inputs={"profile": "a", "seed": str(seed)}, code={"tierwise.bench.loop": code})
        changes = {"seed": seed, "fingerprints": {STUDY: fingerprint}, "finished_at": STARTED + timedelta(minutes=number)}
        load_manifest(folder).model_copy(update=changes).save(folder)
        found.append(folder)
    return found


def test_a_merged_run_has_every_row_and_of_each_run_its_own_replicates(tmp_path: Path) -> None:
    found = runs(tmp_path, 1, 2, 3)
    merged = merge_runs(found, tmp_path)
    rows = read_rows(tmp_path / merged.run_id)
    assert rows.height == sum(read_rows(one).height for one in found)
    assert sorted(rows["replicate"].unique()) == [
        number * RUN_REPLICATES + replicate for number in range(3) for replicate in range(REPLICATES)
    ]
    assert [(one.run_id, one.seed) for one in merged.merged] == [(one.name, seed) for seed, one in enumerate(found, start=1)]
    assert [one.replicates for one in merged.studies] == [3 * REPLICATES]
    assert newest_run(tmp_path) == merged.run_id, "commands that name no run take it"


def test_a_reference_of_several_runs_measures_what_is_not_complete_and_merges_once(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_seed = {seed: load_manifest(folder) for seed, folder in enumerate(runs(raw, 1, 2, 3), start=1)}
    requested = []

    def measured(request: pipeline.ReportRequest) -> tuple[Manifest, bool]:
        requested.append(request.seed)
        return by_seed[request.seed], False

    monkeypatch.setattr(pipeline, "_measured", measured)
    found = [pipeline.merged_run(pipeline.ReportRequest("quick"), 3) for _ in range(2)]
    assert requested == [1, 2, 3] * 2
    assert found[0] == found[1], "an interrupted command goes on with what is there"
    assert [one.seed for one in load_manifest(raw / found[0]).merged] == [1, 2, 3]


def test_what_pairs_times_by_replicate_reads_it_as_any_run(tmp_path: Path) -> None:
    merged = merge_runs(runs(tmp_path, 1, 2, 3), tmp_path)
    found = open_views(tmp_path, merged.run_id).execute(
        f"select replicate, ratio from {STUDY} where cache = 'cold' and state = 'NV' and not flagged order by replicate"
    )
    ratios = dict(found.fetchall())
    assert len(ratios) == 3 * REPLICATES
    estimate = geometric_estimate(ratios)
    assert estimate.runs == 3
    assert estimate.value == pytest.approx(0.9 * 1.1, rel=0.01)
    low, high = estimate.interval or (0.0, 0.0)
    assert low < 0.85, "a tenth between runs is in the interval"
    assert high > 1.15
    assert geometric_estimate(list(ratios.values())).interval != (low, high), "as replicates of one run they would seem much surer"


def test_transactions_of_every_run_are_found_under_the_numbers_of_their_replicates(tmp_path: Path) -> None:
    found = runs(tmp_path, 1, 2)
    for number, one in enumerate(found):
        rows = pl.DataFrame({"client": [number], "ended_s": [1.0], "latency_s": [0.5]}, schema=TRANSACTION)
        TRANSACTIONS.write(one, KEY, rows, 4)
    merged = tmp_path / merge_runs(found, tmp_path).run_id
    assert [read_transactions(merged, KEY, replicate)["client"][0] for replicate in (4, RUN_REPLICATES + 4)] == [0, 1]


def test_a_merged_run_that_was_made_small_is_extended_by_another(tmp_path: Path) -> None:
    found = runs(tmp_path / "raw", 1, 2, 3)
    for one, client in zip(found, range(3), strict=True):
        rows = pl.DataFrame({"client": [client] * 15_000, "ended_s": [1.0] * 15_000, "latency_s": [0.5] * 15_000}, schema=TRANSACTION)
        TRANSACTIONS.write(one, KEY, rows, 4)
    two = merge_runs(found[:2], tmp_path / "raw").run_id
    small = export(tmp_path / "raw" / two, tmp_path / "small")
    three = merge_runs([small, found[2]], tmp_path / "raw")
    whole = load_manifest(tmp_path / "raw" / three.run_id)
    assert [one.seed for one in whole.merged] == [1, 2, 3]
    assert [one.replicates for one in whole.studies] == [3 * REPLICATES]
    rows = read_rows(tmp_path / "raw" / three.run_id)
    again = read_rows(tmp_path / "again" / merge_runs(found, tmp_path / "again").run_id)
    assert_frame_equal(*(one.drop("run_id").sort("trial", "replicate", "step") for one in (rows, again)))
    (sample,) = whole.samples.values()
    assert (sample.rows, sample.of) == (30_000, 45_000), "of the third run, the same share"
    with pytest.raises(InputError, match="same seed"):
        merge_runs([small, found[1]], tmp_path / "raw")


def test_what_was_simulated_by_seed_is_joined_and_what_rows_tell_is_found_in_all(tmp_path: Path) -> None:
    found = runs(tmp_path, 1, 2)
    for number, one in enumerate(found):
        manifest = load_manifest(one)
        points = [
            {"memory": memory, "evidence": "simulated", "replicates": [0, 1], "tps": {"hdd": [memory + number, memory + number + 0.5]}}
            for memory in (1.0, 2.0)
        ]
        (record,) = manifest.studies
        changed = record.model_copy(update={"facts": {"map": points, "size_bytes": {"t": 8192 * (number + 1)}, "rows": 0}})
        manifest.model_copy(update={"studies": (changed,)}).save(one)
    merged = merge_runs(found, tmp_path, lambda study, rows: {"rows": rows.height} if study == STUDY else {})
    (facts,) = (record.facts for record in merged.studies)
    assert [one["replicates"] for one in facts["map"]] == [[0, 1, RUN_REPLICATES, RUN_REPLICATES + 1]] * 2
    assert [one["tps"]["hdd"] for one in facts["map"]] == [[1.0, 1.5, 2.0, 2.5], [2.0, 2.5, 3.0, 3.5]]
    assert facts["size_bytes"] == {"t": 8192}, "of its data, the first run's"
    assert facts["rows"] == sum(without_real_time_rows(read_rows(one)).height for one in found)
    assert load_manifest(tmp_path / merged.run_id).studies[0].facts == facts


def test_runs_that_are_no_replicates_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    first, second = runs(tmp_path / "a", 1, 2)
    (same_seed,) = runs(tmp_path / "b", 1)
    (other_code,) = runs(tmp_path / "c", 3, code="d")
    (unfinished,) = runs(tmp_path / "d", 4)
    load_manifest(unfinished).model_copy(update={"status": "running"}).save(unfinished)
    merged = tmp_path / "a" / merge_runs([first, second], tmp_path / "a").run_id
    for others, rule in (
        ([], "at least two runs"),
        ([same_seed], "same seed"),
        ([other_code], f"did not measure what {first.name} did: {STUDY}"),
        ([unfinished], "is running"),
        ([merged], "is merged already"),
    ):
        with pytest.raises(InputError, match=rule):
            merge_runs([first, *others], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("between", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("number", [1, 3, 5, 10])
def test_intervals_cover_what_they_speak_of(number: int, between: float) -> None:
    """Simulated truth: runs whose means vary by `between` times as much as their replicates; of one run, its own mean is spoken of."""
    draw = np.random.default_rng(round(100 * number + between))
    covered, truths = 0, 2000
    for _ in range(truths):
        means = draw.normal(0.0, np.sqrt(between) * 0.05, number)
        logs = draw.normal(means[:, None], 0.05, (number, REPLICATES))
        estimate = geometric_estimate(
            {
                run * RUN_REPLICATES + replicate: float(np.exp(logs[run, replicate]))
                for run in range(number)
                for replicate in range(REPLICATES)
            }
        )
        low, high = estimate.interval or (0.0, 0.0)
        truth = 0.0 if scope_of(estimate.runs) is Scope.RUNS else means.mean()
        covered += low <= np.exp(truth) <= high
    share = covered / truths
    assert share >= 0.93
    assert share <= 0.97 or number < 5 or not between


def test_an_estimate_says_what_it_speaks_of() -> None:
    found = [
        geometric_estimate(
            {run * RUN_REPLICATES + replicate: 1.0 + replicate / 100 for run in range(runs_) for replicate in range(REPLICATES)}
        )
        for runs_ in (1, 2, RANDOM_FROM)
    ]
    assert [scope_of(one.runs) for one in found] == [Scope.THIS_RUN, Scope.THESE_RUNS, Scope.RUNS]
    assert [one.runs for one in found] == [1, 2, RANDOM_FROM]
