"""The pgbench study in small: windows of real pgbench on emulated tiers, and which trials a pair of tiers allows."""

import json
from dataclasses import replace

import polars as pl
import pytest

from support import measured, needs_fuse, read_transactions
from tierwise.bench.inputs import Inputs
from tierwise.bench.loop import gather_inputs
from tierwise.core import memory_group, paths
from tierwise.core.errors import EvidenceError, InputError
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import Profile, load_profile
from tierwise.core.vocabulary import IoMode
from tierwise.studies.pgbench_placement.measuring import trials as pgbench_placement
from tierwise.studies.pgbench_placement.measuring.grid import JUDGED, grid
from tierwise.timings.trial_files import TrialKey

TINY = {
    "replicates": 1,
    "scale": 2,
    "window_s": {"hdd": 1.0, "ssd": 1.0},
    "warm_s": 0.3,
    "settle_s": {"hdd": 0.2, "ssd": 0.2},
    "cells": [{"sizes": ["large", "small"], "placements": ["index_ssd"], "slowdowns": [2.0]}],
    "flip_map": {
        "memories": [0.4],
        "skews": [0.0, 1.1],
        "layouts": ["recent"],
        "writes": [0.2],
        "seeds": 1,
        "transactions": 100,
        "caches": True,
    },
    "left_open": {"memories": [0.4], "clients": [1, 8], "seeds": 2, "transactions": 100},
    "scales": {"scales": [2, 4, 6], "seeds": 2, "transactions": 100},
}


def with_grid(profile: Profile, **changes: object) -> Profile:
    return profile.model_copy(update={"studies": {"pgbench_placement": {**TINY, **changes}}})


@needs_fuse
@pytest.mark.alone  # a virtual clock stands for a second of real time at most
@pytest.mark.usefixtures("own_folders")
def test_a_window_tells_its_transactions_and_whose_io_they_were() -> None:
    gathered = gather_inputs(profile="smoke", tiers="", seed=1, census="synthetic")
    inputs = Inputs(
        with_grid(gathered.profile), (load_pair("source-v"),), None, 1, gathered.server_version, needs_real_time=gathered.needs_real_time
    )
    manifest, rows = measured("pgbench_placement", inputs)

    rows, small = (rows.filter(pl.col("cell").str.json_path_match("$.size") == size) for size in ("large", "small"))
    assert small["result_rows"].sum() > 0
    assert [json.loads(cell)["phase"] for cell in rows["cell"]] == ["before", "checkpoint", "after"]
    gaps = rows.select(pl.col("started_at").diff().dt.total_microseconds() / 1e6 - pl.col("elapsed_s").shift(1)).to_series().drop_nulls()
    assert gaps.is_between(-0.001, 0.05).all(), "a virtual clock stands between the phases"
    proofs = [json.loads(proof) for proof in rows["proof"]]
    assert [proof["server"].get("checkpointer", {}).get("num_done", 0) for proof in proofs] == [0, 1, 0]
    assert rows["result_rows"].sum() > 0
    key = TrialKey("pgbench_placement", "source-v", rows["trial"][0])
    assert read_transactions(paths.raw() / manifest.run_id, key, 0).height >= rows["result_rows"].sum()

    files = {relation: {io["tier"] for proof in proofs if (io := proof["files"].get(relation))} for relation in proofs[1]["files"]}
    assert files["pgbench_accounts"] == {"hdd"}
    assert files["wal"] == {"wal"}
    assert all(proof["files"]["wal"]["flushes"] > 0 for proof in proofs)
    lies_on = {io["relation"]: io["tier"] for row in rows["relation_io"] for io in row}
    assert (lies_on["pgbench_accounts"], lies_on["pgbench_accounts_pkey"]) == ("hdd", "ssd")

    (facts,) = (record.facts for record in manifest.studies)
    assert (facts["scales"], facts["branches"]) == ({"large": 2, "small": 0.2}, {"large": 3000, "small": 300})
    sizes, small_sizes = (facts["size_bytes"][size] for size in ("large", "small"))
    accounts_bytes = sizes["pgbench_accounts"] + sizes["pgbench_accounts_pkey"]
    others_bytes = sum(sizes.values()) - accounts_bytes
    assert 0.1 < sizes["pgbench_accounts_pkey"] / accounts_bytes < 0.2
    assert small_sizes["pgbench_accounts"] == pytest.approx(sizes["pgbench_accounts"] / 10, rel=0.02)
    assert 2e6 < others_bytes < 3.5e6, "as many branches and tellers as published"
    assert set(facts["io_by_relation"]) == {rows["trial"][0], small["trial"][0]}
    plain, skewed = facts["flip_map"]
    assert plain["evidence"] == "simulated"
    assert 0.9 < plain["index_to_memory"] < 1.1
    assert plain["tps"]["all_ssd"][0] > plain["tps"]["all_hdd"][0] > 0
    assert set(plain["tps"]) == {"all_hdd", "index_ssd", "table_ssd", "all_ssd", "dm_cache", "l2arc"}
    assert set(skewed["tps"]) - set(plain["tps"]) == {"heat", "hot_ssd"}
    one, eight = facts["left_open"]
    assert (one["clients"], eight["clients"], one["replicates"]) == (1, 8, [0, 1])
    assert all(more > less > 0 for more, less in zip(eight["tps"]["all_hdd"], one["tps"]["all_hdd"], strict=True)), "disks reorder requests"
    assert all(ssd > hdd for ssd, hdd in zip(one["tps"]["index_ssd"], one["tps"]["all_hdd"], strict=True))
    assert [(one["scale"], one["published_scale"]) for one in facts["by_scale"]] == [(2, 3000), (4, 3000), (6, 3000)]
    assert all(ssd > hdd > 0 for one in facts["by_scale"] for ssd, hdd in zip(one["tps"]["table_ssd"], one["tps"]["all_hdd"], strict=True))
    shared_buffers = manifest.studies[0].settings["shared_buffers"]
    small_bytes = 10 * (small_sizes["pgbench_accounts"] + small_sizes["pgbench_accounts_pkey"])
    small_others = sum(small_sizes.values()) - small_bytes / 10
    expected = [accounts_bytes * 16 / 45 + others_bytes, small_bytes * 16 / 45 + small_others]
    assert int(shared_buffers.removesuffix("kB")) * 1024 in [pytest.approx(memory, rel=0.001) for memory in expected]


def test_real_time_is_measured_beside_emulated_tiers_alone_and_not_on_those_of_today() -> None:
    cells = [{"placements": ["all_hdd", "table_ssd"]}, {"placements": ["table_ssd"], "real_time": 1}]
    profile = with_grid(load_profile("quick"), cells=cells, today=cells)
    assert profile.today
    found = {name: pgbench_placement.trials(profile, load_pair(name)) for name in ("source-v", *profile.today)}
    assert [trial.placed for trial in found["source-v"] if trial.real_time] == ["table_ssd"]
    assert not any(trial.real_time for name in profile.today for trial in found[name])


def test_a_database_of_other_rows_has_another_name() -> None:
    profile = load_profile("full")
    names = {
        grid(with_grid(profile, scale=scale)).database(trial.cell)
        for scale in (12, 13)
        for trial in pgbench_placement.trials(profile, load_pair("source-v"))
    }
    assert {"large-3000-branches-1200000-accounts", "small-300-branches-120000-accounts"} <= names
    assert len({name for name in names if "scattered" not in name and "parts" not in name}) == 4


def test_full_has_the_large_sets_judged_cells_without_waiting_for_the_log_too() -> None:
    every = pgbench_placement.trials(load_profile("full"), load_pair("source-v"))
    cells = [trial.cell for trial in every if not trial.real_time]
    judged = [cell for cell in cells if JUDGED.items() <= cell.coordinates.items() and cell.io_mode is IoMode.DIRECT and cell.slowdown > 1]
    assert sorted(cell.size for cell in judged) == ["large"] * 4 + ["small"] * 4
    assert {replace(cell, synchronous_commit="off") for cell in judged if cell.size == "large"} <= set(cells)


def test_a_real_disk_is_not_slowed() -> None:
    profile = with_grid(load_profile("smoke"), cells=[{"slowdowns": [1.0, 4.0]}])
    assert {trial.cell.slowdown for trial in pgbench_placement.trials(profile, load_pair("local"))} == {1.0}
    assert {trial.cell.slowdown for trial in pgbench_placement.trials(profile, load_pair("source-v"))} == {1.0, 4.0}


def test_a_hot_partition_moves_with_its_index_and_needs_partitions() -> None:
    profile = with_grid(load_profile("smoke"), cells=[{"placements": ["all_hdd", "table_ssd", "hot_ssd"], "partitions": 16}])
    cells = [trial.cell for trial in pgbench_placement.trials(profile, load_pair("source-v"))]
    lie_on = [(cell.table, cell.index, cell.hot) for cell in cells]
    assert lie_on == [("hdd", "hdd", "hdd"), ("ssd", "hdd", "ssd"), ("hdd", "hdd", "ssd")]
    with pytest.raises(InputError, match="partitions must be 1 or more"):
        pgbench_placement.trials(with_grid(load_profile("smoke"), cells=[{"placements": ["hot_ssd"]}]), load_pair("source-v"))


def test_without_fuse_nothing_is_measured() -> None:
    assert pgbench_placement.trials(load_profile("smoke"), load_pair("source-v").simulated()) == ()


def test_a_server_without_direct_io_is_measured_buffered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_group, "obstacle", lambda: None)
    profile = with_grid(load_profile("smoke")).model_copy(update={"io_modes": (IoMode.BUFFERED,)})
    assert {trial.io_mode for trial in pgbench_placement.trials(profile, load_pair("source-v"))} == {IoMode.BUFFERED}


def test_a_page_cache_without_a_limit_is_no_io_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_group, "obstacle", lambda: "not permitted")
    assert pgbench_placement.trials(load_profile("full"), load_pair("source-v"))
    assert {trial.io_mode for trial in pgbench_placement.trials(load_profile("full"), load_pair("source-v"))} == {IoMode.DIRECT}


def test_a_window_without_a_transaction_is_no_observation() -> None:
    rows = pl.DataFrame({"pair": ["p"], "trial": ["t"], "replicate": [0], "result_rows": [0], "cell": ['{"phase": "checkpoint"}']})
    with pytest.raises(EvidenceError, match="no transaction ended in the window"):
        pgbench_placement.check(rows)
