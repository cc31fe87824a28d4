"""The census study beyond the published protocol: variants, the reader's own disk, another server, the page cache, several sizes."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rows import STARTED
from support import measured, needs_fuse
from tierwise.bench.inputs import Inputs
from tierwise.bench.live import open_testbed
from tierwise.bench.loop import gather_inputs
from tierwise.bench.query_scaling import PROOF, by_size, laid_from, replays_of
from tierwise.bench.recording import EMULATED, TRACED, Recorder
from tierwise.bench.study import Study, Trial
from tierwise.bench.testbed import Testbed
from tierwise.core.errors import EvidenceError, InputError
from tierwise.core.pairs import Pair, load_pair
from tierwise.core.profiles import Profile, Sweep, load_profile
from tierwise.core.units import PAGE_BYTES
from tierwise.core.vocabulary import Cache, ClockKind, Evidence, IoMode
from tierwise.recorders import strace
from tierwise.simulate.replay import EXTENT_BYTES
from tierwise.studies.index_placement.measuring import trials as census
from tierwise.studies.index_placement.measuring import trials as index_placement
from tierwise.studies.index_placement.measuring.protocol import VARIANTS
from tierwise.studies.index_placement.measuring.trials import Cell
from tierwise.studies.survey_placement.measuring import trials as survey
from tierwise.timings.replicates import RUN_REPLICATES
from tierwise.timings.schema import Origin, Timing, frame

pytestmark = pytest.mark.usefixtures("own_folders")


def small(inputs: Inputs, *, io_modes: tuple[IoMode, ...], sweep: Sweep = Sweep.DECIDING) -> Inputs:
    return Inputs(
        profile=inputs.profile.model_copy(update={"replicates": 1, "fraction": 0.005, "io_modes": io_modes, "sweep": sweep}),
        pairs=inputs.pairs,
        reader_pair=inputs.reader_pair,
        seed=inputs.seed,
        server_version=inputs.server_version,
    )


@pytest.fixture
def florida(monkeypatch: pytest.MonkeyPatch) -> None:

    def some(profile: Profile, pair: Pair) -> tuple[Trial[Cell], ...]:
        return tuple(trial for trial in index_placement.trials(profile, pair) if trial.cell.start == "FL")

    monkeypatch.setattr(index_placement, "STUDY", replace(index_placement.STUDY, trials=some))
    monkeypatch.setattr(index_placement, "STARTS", {sweep: {"heap-cached": ("FL",)} for sweep in Sweep})


@needs_fuse
def test_on_the_readers_own_disk_only_its_trials_are_measured_and_mixed_ones_say_so(florida: None) -> None:
    gathered = gather_inputs(profile="smoke", tiers="local", seed=1, census="synthetic")
    assert gathered.reader_pair == "local"
    only_local = Inputs(gathered.profile, (load_pair("local"),), "local", 1, gathered.server_version)
    run, rows = measured("index_placement", small(only_local, io_modes=(IoMode.DIRECT,)))
    touched = pl.col("trial").str.extract_all(r"(hdd|ssd)").list.unique().list.sort().list.join("+")
    evidence_kinds = dict(rows.select(touched, "evidence").unique().rows())
    assert evidence_kinds == {"hdd": "emulated", "ssd": "measured", "hdd+ssd": "mixed"}
    assert run.calibrations["local/ssd"]["random_read_iops_8jobs"] > 100
    (requests,) = {tier["reads"] for row in rows["tier_io"] for tier in row if tier["tier"] == "ssd"}
    assert requests is None  # nothing counts them on a real disk
    on_disk = [io for row in rows.filter(cache="cold")["relation_io"] for io in row if io["tier"] == "ssd"]
    (basis,) = {io["io_basis"] for io in on_disk}
    if obstacle := strace.obstacle():
        assert (basis, {io["io_s"] for io in on_disk}) == (obstacle, {None})
    else:
        assert basis == TRACED
        assert all(io["io_s"] > 0 for io in on_disk), "every relation was read"
    assert {io["io_basis"] for row in rows["relation_io"] for io in row if io["tier"] == "hdd"} == {EMULATED}


@needs_fuse
def test_a_server_without_direct_io_is_measured_through_the_page_cache(
    debians_15: Path, florida: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PG_BIN", str(debians_15))
    gathered = gather_inputs(profile="smoke", tiers="", seed=1, census="synthetic")
    assert gathered.profile.io_modes == (IoMode.BUFFERED,)
    run, rows = measured("index_placement", small(gathered, io_modes=gathered.profile.io_modes))
    assert run.studies[0].server_version.startswith("15.")
    cold = rows.filter(pl.col("cache") == "cold")
    proofs = [json.loads(text) for text in cold["proof"]]
    assert all(proof["misses"] == proof["expected"] and proof["direct_io"] is None for proof in proofs)
    assert rows["io_mode"].unique().to_list() == ["buffered"]
    assert Counter("census" in proof["cached"] for proof in proofs) == {False: 4, True: 2}, "the heap is cached in this I/O mode as well"
    published = cold.filter(pl.col("trial").str.ends_with("variant=published"))
    misses = sum(io["reads"] for row in published["relation_io"] for io in row)
    requests = sum(tier["reads"] for row in published["tier_io"] for tier in row)
    assert requests < misses  # read-ahead: the kernel asks for more than a page at a time


@needs_fuse
def test_every_variant_is_proved_cold_where_it_says_so_and_differs_in_its_factor_alone(workspace: Path) -> None:
    gathered = gather_inputs(profile="full", tiers="", seed=1, census="synthetic")
    gathered = small(gathered, io_modes=(IoMode.DIRECT,), sweep=Sweep.WHOLE)
    (pair,) = (pair for pair in gathered.pairs if pair.source == "M")
    cold, hot, cross = {}, {}, {}
    with open_testbed(index_placement.STUDY, pair, gathered, workspace / "variants", seed=gathered.seed) as (testbed, study_state):
        for trial in index_placement.trials(gathered.profile, pair):
            if (trial.cell.table, trial.cell.index, trial.cell.start) == ("hdd", "ssd", "PR"):
                variant = trial.cell.variant
                index_placement.prepare(trial, testbed, study_state)
                observed = index_placement.measure(trial, testbed, study_state, Recorder())  # raises where the plan is another one
                cold[variant], hot[variant], cross[variant] = observed.timings
    assert set(cold) == set(VARIANTS)
    assert {timing.cache for timing in cold.values()} == {Cache.COLD}
    reads = {name: {io.relation: io.reads for io in timing.relation_io} for name, timing in cold.items()}
    assert all(timing.proof["misses"] == timing.proof["expected"] == reads[name] for name, timing in cold.items())
    assert len({timing.result_rows for variant, timing in cold.items() if variant != "two-indexes"}) == 1

    published = reads["published"]
    assert reads["memory-1.2"] == reads["bitmap"] == published
    assert reads["heap-cached"] == {**published, "census": 0}
    assert reads["index-only"] == {**published, "census": 1}, "one page of the visibility map"
    assert reads["two-indexes"]["pob"] == published["pob"]
    assert reads["two-indexes"]["age"] > 0
    assert reads["two-indexes"]["census"] < published["census"], "only rows of both"
    assert {name for name, timing in cold.items() if timing.proof["cached"]} == {"heap-cached"}
    assert all(
        io.reads == 0 for timing in (hot["heap-cached"], cross["heap-cached"]) for io in timing.relation_io if io.relation == "census"
    )
    for timing in cold.values():
        (heap_s,) = [io.io_s for io in timing.relation_io if io.relation == "census"]
        assert heap_s is not None
        assert (heap_s > 0) == (reads[str(timing.cell["variant"])]["census"] > 0)


@needs_fuse
def test_each_row_says_how_many_requests_its_devices_had_at_once_and_several_go_by_the_clock_of_several(workspace: Path) -> None:
    gathered = gather_inputs(profile="quick", tiers="", seed=1, census="synthetic")
    profile = small(gathered, io_modes=tuple(IoMode), sweep=Sweep.WHOLE).profile
    studies = {"index_placement": {"io_modes": list(IoMode)}}
    profile = profile.model_copy(update={"fraction": 0.02, "memory_fraction": 2.0, "studies": studies})
    inputs = Inputs(profile, gathered.pairs, None, 1, gathered.server_version, needs_real_time=gathered.needs_real_time)
    (pair,) = (pair for pair in gathered.pairs if pair.source == "M")
    at_once, clocks = {}, {}
    with open_testbed(index_placement.STUDY, pair, inputs, workspace / "ways", seed=1) as (testbed, study_state):
        for trial in index_placement.trials(inputs.profile, pair):
            cell = trial.cell
            if (cell.table, cell.index, cell.start) == ("hdd", "hdd", "NV") and cell.variant == "bitmap":
                index_placement.prepare(trial, testbed, study_state)
                cold, _, _ = index_placement.measure(trial, testbed, study_state, Recorder()).timings
                at_once[cell.io_mode], clocks[cell.io_mode] = cold.proof["outstanding"], cold.parts.clock
    assert at_once[IoMode.DIRECT] == {"hdd": pytest.approx(1.0, rel=1e-6)}
    assert at_once[IoMode.ASYNCHRONOUS]["hdd"] > 1.1
    assert clocks[IoMode.DIRECT] is ClockKind.VIRTUAL_ONE
    several = ClockKind.REAL if inputs.needs_real_time else ClockKind.VIRTUAL_SEVERAL
    assert clocks[IoMode.BUFFERED] is clocks[IoMode.ASYNCHRONOUS] is several


@pytest.mark.parametrize(("name", "variants"), [("smoke", 3 * 2), ("quick", 2), ("full", 6 + 4 * 4)])
def test_the_sweep_decides_what_is_measured_beside_the_published_protocol(name: str, variants: int) -> None:
    profile = load_profile(name)
    cells = [trial.cell for trial in index_placement.trials(profile, load_pair("source-m"))]
    others = [cell for cell in cells if cell.variant != "published"]
    assert {cell.io_mode for cell in cells} == {IoMode.BUFFERED}, "the mode that decides"
    assert len(cells) - len(others) == 12
    assert len(others) == variants
    assert {cell.table for cell in others} == {"hdd"}
    heap_cached = {cell.start for cell in others if cell.variant == "heap-cached"}
    assert heap_cached == {"smoke": {"NV"}, "quick": {"NV"}, "full": {"FL", "PR", "NV"}}[name]


def test_a_pair_without_the_tiers_that_the_study_compares_is_refused() -> None:
    pair = load_pair("source-m").model_copy(update={"name": "mine", "tiers": {"hdd": load_pair("source-m").tiers["hdd"]}})
    with pytest.raises(InputError, match=r"data/tiers/mine\.toml: tiers is \['hdd'\]: index_placement needs a tier named 'ssd'"):
        index_placement.trials(load_profile("smoke"), pair)


def test_a_placement_that_counts_differently_is_no_observation() -> None:
    rows = pl.DataFrame({"replicate": [0, 0], "operation": ["q", "q"], "result_rows": [1, 2]})
    with pytest.raises(EvidenceError, match=r"'q' gave different numbers of rows on different placements: \[1, 2\]"):
        index_placement.STUDY.check(rows)


SCALES = {"shares": [0.25, 0.5], "requests": 100}
GRIDS: dict[str, dict[str, Any]] = {
    "index_placement": {"io_modes": ["direct"], "scales": SCALES},
    "survey_placement": {"io_modes": ["direct"], "share": 0.25, "queries": ["join_single"], "scales": SCALES},
}
COUNT = census.Cell("hdd", "hdd", "NV", IoMode.DIRECT, "published")
JOIN = survey.Cell("all_hdd", "join_single", "ssd_raid5", IoMode.DIRECT)


@contextmanager
def prepared(study: Study[Any, Any], pair_name: str, cell: object, work: Path) -> Iterator[tuple[Trial[Any], Any, Any]]:
    requested, pair = gather_inputs(profile="smoke", tiers="", seed=1, census="synthetic"), load_pair(pair_name)
    profile = requested.profile.model_copy(update={"studies": GRIDS})
    inputs = Inputs(profile, requested.pairs, None, 1, requested.server_version, needs_real_time=requested.needs_real_time)
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
