"""One query at several sizes of its data: recorded on a real server, replayed on its pair's devices, reported replicate by replicate."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rows import STARTED
from tierwise.bench.inputs import Inputs
from tierwise.bench.live import open_testbed
from tierwise.bench.loop import gather_inputs
from tierwise.bench.query_scaling import PROOF, by_size, laid_from, replays_of
from tierwise.bench.recording import Recorder
from tierwise.bench.study import Study, Trial
from tierwise.bench.testbed import Testbed
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import load_profile
from tierwise.core.units import PAGE_BYTES
from tierwise.core.vocabulary import Cache, Evidence, IoMode
from tierwise.simulate.replay import EXTENT_BYTES
from tierwise.studies.index_placement.measuring import trials as census
from tierwise.studies.index_placement.measuring.variants import VARIANTS
from tierwise.studies.survey_placement.measuring import trials as survey
from tierwise.timings.replicates import RUN_REPLICATES
from tierwise.timings.schema import Origin, Timing, frame

needs_fuse = pytest.mark.skipif(not os.access("/dev/fuse", os.R_OK | os.W_OK), reason="no FUSE here: nothing can be emulated")

SCALES = {"shares": [0.25, 0.5], "requests": 100}
GRIDS: dict[str, dict[str, Any]] = {
    "index_placement": {"io_modes": ["direct"], "scales": SCALES},
    "survey_placement": {"io_modes": ["direct"], "share": 0.25, "queries": ["join_single"], "scales": SCALES},
}
COUNT = census.Cell("hdd", "hdd", "NV", IoMode.DIRECT, "published")
JOIN = survey.Cell("all_hdd", "join_single", "ssd_raid5", IoMode.DIRECT)


@pytest.fixture(autouse=True)
def places(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_WORK", str(workspace))
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path / "raw"))


@contextmanager
def prepared(study: Study[Any, Any], pair_name: str, cell: object, work: Path) -> Iterator[tuple[Trial[Any], Any, Any]]:
    requested, pair = gather_inputs(profile="smoke", tiers="", seed=1, census="synthetic"), load_pair(pair_name)
    profile = requested.profile.model_copy(update={"studies": GRIDS})
    inputs = Inputs(profile, requested.pairs, None, 1, requested.server_version, counting=requested.counting)
    (trial,) = (trial for trial in study.trials(profile, pair) if trial.cell == cell)
    with open_testbed(study, pair, inputs, work / study.name, seed=1) as (testbed, study_state):
        study.prepare(trial, testbed, study_state)
        yield trial, testbed, study_state


def shared_buffers(testbed: Testbed) -> int:
    return int(testbed.settings["shared_buffers"].removesuffix("kB")) * 1024


def origin(trial: Trial[Any], testbed: Testbed) -> Origin:
    return Origin("run", "study", testbed.pair.name, Evidence.EMULATED, trial.io_mode, trial.key, 0, 0)


@needs_fuse
def test_a_count_is_simulated_at_three_sizes_beside_the_emulated_one(workspace: Path) -> None:
    with prepared(census.STUDY, "source-m", COUNT, workspace) as (trial, testbed, study_state):
        cold, hot, cross = census.measure(trial, testbed, study_state, Recorder()).timings
        own_bytes = VARIANTS[trial.cell.variant].memory_bytes(testbed.profile.memory_fraction, study_state.copies["on_hdd"].size_bytes)
        assert shared_buffers(testbed) == pytest.approx(own_bytes, rel=0.01), "the server of the trial was the last to be started"
        again, *_ = census.measure(trial, testbed, study_state, Recorder()).timings  # as after a kill: nothing is loaded anew
        testbed.waiting = True
        real_time, *_ = census.measure(trial.in_real_time(), testbed, study_state, Recorder()).timings
    sizes = cold.proof[PROOF]
    assert [(one["share"], one["rows"], one["published_rows"]) for one in sizes] == [
        (0.25, 12_291, 2_458_285),
        (0.5, 24_583, 2_458_285),
        (1.0, 49_166, 2_458_285),
    ]
    assert sizes[-1]["requests"] == sum(cold.proof["misses"].values()), "what is recorded is what the emulated count reads"
    assert [one["requests"] for one in again.proof[PROOF]] == [one["requests"] for one in sizes]
    assert all(0 < one["seconds"]["ssd"] <= one["seconds"]["hdd"] for one in sizes), (
        "a read may hide in the turn that the next one waits for"
    )
    assert 2 / 3 < sizes[-1]["seconds"]["hdd"] / cold.elapsed_s < 3 / 2, "the emulated count has the luck of its platters"
    assert not [timing for timing in (hot, cross, real_time) if PROOF in timing.proof]


@needs_fuse
@pytest.mark.soak  # a count is, in `make test`
def test_a_join_is_simulated_at_three_sizes_beside_the_emulated_one(workspace: Path) -> None:
    with prepared(survey.STUDY, "source-h", JOIN, workspace) as (trial, testbed, study_state):
        (cold,) = survey.measure(trial, testbed, study_state, Recorder()).timings
        assert shared_buffers(testbed) == pytest.approx(survey.memory_bytes(testbed.profile, study_state.size_bytes), rel=0.01)
    sizes = cold.proof[PROOF]
    assert [one["share"] for one in sizes] == [0.25, 0.5, 1.0]
    assert [one["rows"] / sizes[-1]["rows"] for one in sizes] == pytest.approx([0.25, 0.5, 1.0], rel=0.15)
    assert {one["published_rows"] for one in sizes} == {1e8}
    assert [one["requests"] for one in sizes] == sorted(one["requests"] for one in sizes)
    assert sizes[-1]["requests"] == sum(io.reads or 0 for io in cold.tier_io)
    assert all(0 < one["seconds"]["detection_ssd"] < one["seconds"]["all_hdd"] for one in sizes)
    facts = survey.STUDY.summarise(frame(origin(trial, testbed), [cold]))
    assert [(one["replicates"], one["rows"]) for one in facts[PROOF]] == [([0], [one["rows"]]) for one in sizes]
    assert 2 / 3 < sizes[-1]["seconds"]["all_hdd"] / cold.elapsed_s < 3 / 2


def test_full_alone_simulates_other_sizes() -> None:
    requested = {
        name: (census.grid(load_profile(name)).scales, survey.grid(load_profile(name)).scales) for name in ("smoke", "quick", "full")
    }
    assert requested["smoke"] == requested["quick"] == (None, None)
    assert [scales and scales.shares for scales in requested["full"]] == [(0.01, 0.08), (0.05, 0.2)]


def test_few_requests_are_replayed_more_often() -> None:
    assert replays_of(2_000, 3_000) == 2
    assert replays_of(100, 3_000) == 30
    assert replays_of(5_000, 3_000) == 2, "never less than twice"


def test_relations_lie_as_they_were_made_from_the_first_on() -> None:
    extent = EXTENT_BYTES
    pages = extent // PAGE_BYTES
    read = [("heap", 3, 7 * extent + 3 * PAGE_BYTES), ("heap", 2 * pages, 9 * extent), ("key", 1, 12 * extent + PAGE_BYTES)]
    first = [("first", 0, 5 * extent), ("end", None, None)]
    requests = pl.DataFrame(
        [
            {"operation": "end" if name == "end" else "read", "relation": name, "page": page, "address_bytes": at}
            for name, page, at in read + first
        ]
    )
    assert laid_from(requests, "first") == {"heap": [2 * extent, 0, 4 * extent], "key": [7 * extent], "first": [0]}


def reported(share: float, rows: int, pace: float) -> dict[str, Any]:
    return {"share": share, "rows": rows, "published_rows": 1000, "requests": rows, "seconds": {"hdd": pace * rows, "ssd": 0.9 * rows}}


def row(replicate: int, proof: dict[str, Any]) -> pl.DataFrame:
    origin = Origin("run", "study", "pair", Evidence.EMULATED, IoMode.DIRECT, f"trial {len(proof)}", replicate, replicate)
    cold = Timing(cell={}, cache=Cache.COLD, operation="q", started_at=STARTED, elapsed_s=1.0, proof=proof)
    return frame(origin, [cold])


def test_the_sizes_of_every_replicate_are_put_together_also_of_merged_runs() -> None:
    replicates = {0: 1.0, 1: 1.1, RUN_REPLICATES: 1.2}
    rows = [
        row(replicate, {PROOF: [reported(0.1, 100 + replicate, pace), reported(1.0, 1000, pace)]})
        for replicate, pace in reversed(replicates.items())
    ]
    (found,) = by_size(pl.concat([*rows, row(0, {"misses": {}})])).values()
    small, large = found
    assert (small["share"], small["evidence"], small["replicates"]) == (0.1, "simulated", [0, 1, RUN_REPLICATES])
    assert small["rows"] == [100, 101, 100 + RUN_REPLICATES]
    assert large["seconds"]["hdd"] == [1000.0, 1100.0, 1200.0]
    assert json.dumps(found)


def test_rows_without_sizes_give_no_fact() -> None:
    assert by_size(row(0, {"misses": {}})) == {}
