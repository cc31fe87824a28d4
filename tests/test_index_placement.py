"""The census study where it leaves the published protocol: its variants, the reader's own disk, another server, the page cache."""

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tierwise.bench.accounting import EMULATED, TRACED
from tierwise.bench.inputs import Inputs
from tierwise.bench.live import open_testbed
from tierwise.bench.loop import gather_inputs, measure_study
from tierwise.bench.recording import Recorder
from tierwise.bench.runs import begin_run, complete
from tierwise.bench.study import Trial
from tierwise.core import paths
from tierwise.core.errors import EvidenceError, InputError
from tierwise.core.pairs import Pair, load_pair
from tierwise.core.profiles import Profile, Sweep, load_profile
from tierwise.core.vocabulary import Cache, ClockKind, IoMode
from tierwise.recorders import strace
from tierwise.studies.index_placement.measuring import trials as index_placement
from tierwise.studies.index_placement.measuring.trials import Cell
from tierwise.studies.index_placement.measuring.variants import VARIANTS
from tierwise.timings.manifest import Manifest
from tierwise.timings.parts import read_rows, without_real_time_rows

needs_fuse = pytest.mark.skipif(not os.access("/dev/fuse", os.R_OK | os.W_OK), reason="no FUSE here: nothing can be emulated")


def small(inputs: Inputs, *, io_modes: tuple[IoMode, ...], sweep: Sweep = Sweep.DECIDING) -> Inputs:
    return Inputs(
        profile=inputs.profile.model_copy(update={"replicates": 1, "fraction": 0.005, "io_modes": io_modes, "sweep": sweep}),
        pairs=inputs.pairs,
        reader_pair=inputs.reader_pair,
        seed=inputs.seed,
        server_version=inputs.server_version,
    )


def measured(inputs: Inputs) -> tuple[Manifest, pl.DataFrame]:
    run = begin_run(inputs, fresh=True)
    folder = paths.raw() / run.run_id
    measure_study("index_placement", inputs, folder)
    return complete(run.run_id), without_real_time_rows(read_rows(folder))


@pytest.fixture
def florida(monkeypatch: pytest.MonkeyPatch) -> None:

    def some(profile: Profile, pair: Pair) -> tuple[Trial[Cell], ...]:
        return tuple(trial for trial in index_placement.trials(profile, pair) if trial.cell.start == "FL")

    monkeypatch.setattr(index_placement, "STUDY", replace(index_placement.STUDY, trials=some))
    monkeypatch.setattr(index_placement, "STARTS", {sweep: {"heap-cached": ("FL",)} for sweep in Sweep})


@pytest.fixture(autouse=True)
def places(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_WORK", str(workspace))
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path / "raw"))


@needs_fuse
def test_on_the_readers_own_disk_only_its_trials_are_measured_and_mixed_ones_say_so(florida: None) -> None:
    gathered = gather_inputs(profile="smoke", tiers="local", seed=1, census="synthetic")
    assert gathered.reader_pair == "local"
    only_local = Inputs(gathered.profile, (load_pair("local"),), "local", 1, gathered.server_version)
    run, rows = measured(small(only_local, io_modes=(IoMode.DIRECT,)))
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
    run, rows = measured(small(gathered, io_modes=gathered.profile.io_modes))
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
    profile = small(gathered, io_modes=tuple(IoMode)).profile
    studies = {"index_placement": {"io_modes": list(IoMode)}}
    profile = profile.model_copy(update={"fraction": 0.02, "memory_fraction": 2.0, "studies": studies})
    inputs = Inputs(profile, gathered.pairs, None, 1, gathered.server_version, counting=gathered.counting)
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
    several = ClockKind.VIRTUAL_SEVERAL if inputs.counting.several else ClockKind.REAL
    assert clocks[IoMode.BUFFERED] is clocks[IoMode.ASYNCHRONOUS] is several


@pytest.mark.parametrize(("name", "variants"), [("smoke", 3 * 2), ("quick", 3 * 2), ("full", 6 + 4 * 4)])
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
