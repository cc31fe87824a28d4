"""The study on other ground than source M's pair: the reader's own disk, another server, the kernel's page cache."""

import json
import os
from pathlib import Path

import polars as pl
import pytest

from tierwise.bench.inputs import Inputs
from tierwise.bench.loop import gather_inputs, measure_study
from tierwise.bench.runs import complete, open_run
from tierwise.core import paths
from tierwise.core.errors import EvidenceError, InputError
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import load_profile
from tierwise.core.words import IoArm
from tierwise.studies import index_placement
from tierwise.timings.manifest import Manifest
from tierwise.timings.store import read_rows

needs_fuse = pytest.mark.skipif(not os.access("/dev/fuse", os.R_OK | os.W_OK), reason="no FUSE here: nothing can be emulated")


def small(inputs: Inputs, *, arms: tuple[IoArm, ...]) -> Inputs:
    """One block of a two-hundredth of the rows: enough to see that it works, too little to judge."""
    return Inputs(
        profile=inputs.profile.model_copy(update={"blocks": 1, "fraction": 0.005, "arms": arms}),
        pairs=inputs.pairs,
        reader_pair=inputs.reader_pair,
        seed=inputs.seed,
        dataset_source=inputs.dataset_source,
        server_version=inputs.server_version,
    )


def measured(inputs: Inputs) -> tuple[Manifest, pl.DataFrame]:
    """A complete run of `inputs`, alone."""
    run = open_run(inputs, fresh=True)
    folder = paths.raw() / run.run_id
    measure_study("index_placement", inputs, folder)
    return complete(run.run_id), read_rows(folder)


@pytest.fixture(autouse=True)
def places(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_WORK", str(workspace))
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path / "raw"))


@pytest.mark.slow
@needs_fuse
def test_on_the_readers_own_disk_only_its_trials_are_measured_and_mixed_ones_say_so() -> None:
    asked = gather_inputs(profile="smoke", tiers="local", seed=1, census="synthetic")
    assert asked.reader_pair == "local"
    only_local = Inputs(asked.profile, (load_pair("local"),), "local", 1, "synthetic", asked.server_version)
    run, rows = measured(small(only_local, arms=(IoArm.DIRECT,)))
    touched = pl.col("trial").str.extract_all(r"(hdd|ssd)").list.unique().list.sort().list.join("+")
    substrates = dict(rows.select(touched, "substrate").unique().rows())
    assert substrates == {"hdd": "emulated", "ssd": "measured", "hdd+ssd": "mixed"}
    assert run.calibrations["local/ssd"]["random_read_iops_8jobs"] > 100
    (requests,) = {tier["reads"] for row in rows["tier_io"] for tier in row if tier["tier"] == "ssd"}
    assert requests is None  # nothing counts them on a real disk


@pytest.mark.slow
@needs_fuse
def test_a_server_without_direct_io_is_measured_through_the_page_cache(debians_15: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PG_BIN", str(debians_15))
    asked = gather_inputs(profile="smoke", tiers="", seed=1, census="synthetic")
    assert asked.profile.arms == (IoArm.BUFFERED,)
    run, rows = measured(small(asked, arms=asked.profile.arms))
    assert run.studies[0].server_version.startswith("15.")
    cold = rows.filter(pl.col("cache") == "cold")
    proofs = [json.loads(text) for text in cold["proof"]]
    assert all(proof["misses"] == proof["expected"] and proof["direct_io"] is None for proof in proofs)
    assert rows["arm"].unique().to_list() == ["buffered"]
    misses = sum(io["reads"] for row in cold["relation_io"] for io in row)
    requests = sum(tier["reads"] for row in cold["tier_io"] for tier in row)
    assert requests < misses  # read-ahead: the kernel asks for more than a page at a time


def test_a_pair_without_the_tiers_that_the_study_compares_is_refused() -> None:
    pair = load_pair("source-m").model_copy(update={"name": "mine", "tiers": {"hdd": load_pair("source-m").tiers["hdd"]}})
    with pytest.raises(InputError, match=r"data/tiers/mine\.toml: tiers is \['hdd'\]: index_placement needs a tier named 'ssd'"):
        index_placement.trials(load_profile("smoke"), pair)


def test_a_placement_that_counts_differently_is_no_observation() -> None:
    rows = pl.DataFrame({"operation": ["q", "q"], "result_rows": [1, 2]})
    with pytest.raises(EvidenceError, match=r"'q' gave different counts on different placements: \[1, 2\]"):
        index_placement.check(rows)
