"""Runs put together: what is merged, what is refused, and what an interval then speaks of."""

from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from rows import STARTED, make_run
from tierwise import pipeline
from tierwise.analysis.runs import newest_run
from tierwise.analysis.statistics import RANDOM_FROM, Scope, geometric_estimate
from tierwise.analysis.views import open_views
from tierwise.core.errors import InputError
from tierwise.timings.export import export
from tierwise.timings.manifest import Fingerprint, Manifest, load_manifest
from tierwise.timings.merging import merge_runs
from tierwise.timings.parts import read_rows, without_real_time_rows
from tierwise.timings.replicates import RUN_REPLICATES
from tierwise.timings.trial_files import TRANSACTION, TrialKey, read_transactions, write_transactions

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


def test_a_reference_of_several_runs_measures_what_is_not_complete_and_merges_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path))
    by_seed = {seed: load_manifest(folder) for seed, folder in enumerate(runs(tmp_path, 1, 2, 3), start=1)}
    requested = []

    def measured(request: pipeline.ReportRequest) -> tuple[Manifest, bool]:
        requested.append(request.seed)
        return by_seed[request.seed], False

    monkeypatch.setattr(pipeline, "_measured", measured)
    found = [pipeline.merged_run(pipeline.ReportRequest("quick"), 3) for _ in range(2)]
    assert requested == [1, 2, 3] * 2
    assert found[0] == found[1], "an interrupted command goes on with what is there"
    assert [one.seed for one in load_manifest(tmp_path / found[0]).merged] == [1, 2, 3]


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
        write_transactions(one, KEY, 4, rows)
    merged = tmp_path / merge_runs(found, tmp_path).run_id
    assert [read_transactions(merged, KEY, replicate)["client"][0] for replicate in (4, RUN_REPLICATES + 4)] == [0, 1]


def test_a_merged_run_that_was_made_small_is_extended_by_another(tmp_path: Path) -> None:
    found = runs(tmp_path / "raw", 1, 2, 3)
    for one, client in zip(found, range(3), strict=True):
        rows = pl.DataFrame({"client": [client] * 15_000, "ended_s": [1.0] * 15_000, "latency_s": [0.5] * 15_000}, schema=TRANSACTION)
        write_transactions(one, KEY, 4, rows)
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
        truth = 0.0 if estimate.scope is Scope.RUNS else means.mean()
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
    assert [one.scope for one in found] == [Scope.THIS_RUN, Scope.THESE_RUNS, Scope.RUNS]
    assert [one.runs for one in found] == [1, 2, RANDOM_FROM]
