"""The survey's studies in small: the printed queries on emulated arrays, files on two tiers, and every way of reading at full size."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from support import measured, needs_fuse
from tierwise.bench.inputs import Inputs
from tierwise.bench.loaded_tables import Rows, load_once
from tierwise.bench.loop import gather_inputs
from tierwise.bench.testbed import Testbed
from tierwise.core.pairs import Pair, load_pair
from tierwise.core.profiles import load_profile
from tierwise.core.units import GB, PAGE_BYTES
from tierwise.core.vocabulary import IoMode
from tierwise.datasets import survey
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.plans import assert_plan, planned
from tierwise.postgres.settings import Connection
from tierwise.studies.survey_arrays.measuring import trials as survey_arrays
from tierwise.studies.survey_arrays.measuring.trials import IDEAL, OURS, Hunt, Query, published_size, ways
from tierwise.studies.survey_placement.measuring import trials as survey_placement
from tierwise.studies.survey_placement.measuring.queries import BY_INDEX, QUERIES, SCHEMA, SORT, find_parameters

TINY = {
    "survey_arrays": {"replicates": 1, "share": 0.2, "forms": ["printed", "meant"], "hunt": {"requests": 16, "seeds": 2}},
    "survey_placement": {
        "replicates": 1,
        "share": 0.25,
        "light_curves": 1,
        "joined": 10,
        "queries": ["light_curves", "join_single", "join_several"],
    },
}


def inputs(pair: Pair) -> Inputs:
    gathered = gather_inputs(profile="smoke", tiers="", seed=1, census="synthetic")
    return Inputs(gathered.profile.model_copy(update={"studies": TINY}), (pair,), None, 1, gathered.server_version)


def cells(rows: pl.DataFrame) -> list[dict[str, str]]:
    return [json.loads(cell) for cell in rows["cell"]]


@needs_fuse
@pytest.mark.usefixtures("own_folders")
def test_the_printed_queries_are_cold_on_every_subsystem() -> None:
    whole = load_pair("source-h")
    pair = whole.model_copy(update={"tiers": {name: whole.tiers[name] for name in ("hdd", "ssd")}})
    manifest, rows = measured("survey_arrays", inputs(pair))

    found = {(cell["query"], cell["form"], cell["tier"]): row for cell, row in zip(cells(rows), rows.rows(named=True), strict=True)}
    assert len(found) == 10
    assert ("non_indexed", "meant", "hdd") not in found  # is meant as it is printed
    for (query, form, tier), row in found.items():
        proof = json.loads(row["proof"])
        assert proof["misses"] == proof["expected"]
        assert {io["tier"] for io in row["relation_io"]} == {tier}
        assert row["result_rows"] == found[query, form, "hdd"]["result_rows"]
    pages = {query: found[query, "printed", "hdd"]["relation_io"][0]["reads"] for query in ("indexed", "non_indexed", "mixed")}
    assert pages["indexed"] < pages["mixed"] < pages["non_indexed"]
    assert found["indexed", "meant", "hdd"]["result_rows"] < found["indexed", "printed", "hdd"]["result_rows"]

    (facts,) = (record.facts for record in manifest.studies)
    assert facts["pages"] == pages["non_indexed"]
    assert facts["published_bytes"] == pytest.approx(facts["row_bytes"] * 470_992_970)
    assert {one["method"] for one in facts["non_indexed"] if not one["hunted"]} == {"as PostgreSQL reads here", "ideal"}
    assert all(len(one["seconds"]["ssd"]) == 2 and one["evidence"] == "simulated" for one in facts["indexed"])


@pytest.mark.parametrize("changed", [{"moved": ["nonesuch"]}, {"today_placements": ["nonesuch"]}])
def test_an_unknown_placement_is_refused_with_those_that_are_known(changed: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="all_hdd"):
        survey_placement.Grid.model_validate(changed)


@needs_fuse
@pytest.mark.usefixtures("own_folders")
def test_a_placement_moves_what_it_names_and_nothing_else() -> None:
    manifest, rows = measured("survey_placement", inputs(load_pair("source-h")))

    move = pl.col("cell").str.json_path_match("$.query") == survey_placement.MOVE
    moves, rows = rows.filter(move), rows.filter(~move)
    _moved_there_and_back(moves)
    sort = pl.col("cell").str.json_path_match("$.query") == SORT
    sorts, rows = rows.filter(sort), rows.filter(~sort)
    _sorted_on_either(sorts)
    assert len(rows) == 12
    for cell, row in zip(cells(rows), rows.rows(named=True), strict=True):
        there = {io["relation"] for io in row["relation_io"] if io["tier"] == "ssd_raid5"}
        assert there == set(survey_placement.PLACEMENTS[cell["placement"]])
    (facts,) = (record.facts for record in manifest.studies)
    cold_pages = facts["touched"]
    assert cold_pages["join_single"]["detection"] * 8192 == facts["size_bytes"]["detection"]
    assert cold_pages["light_curves"]["bestmatch_pkey"] > 0
    assert cold_pages["join_several"]["mergelog_pkey"] > 0
    assert sum(facts["io_share"]["join_single"].values()) == pytest.approx(1.0)
    assert set(facts["light_curves"]) == set(survey_placement.PLACEMENTS)
    per_curve = rows.filter(pl.col("operation").str.contains("ra BETWEEN") & pl.col("operation").str.contains("BestMatch"))["result_rows"]
    assert 1 <= per_curve[0] <= 64  # epochs of one source


def _moved_there_and_back(moves: pl.DataFrame) -> None:
    assert len(moves) == 6
    for cell, row in zip(cells(moves), moves.rows(named=True), strict=True):
        source, target = ("hdd", "ssd_raid5") if cell["way"] == "there" else ("ssd_raid5", "hdd")
        io = {one["tier"]: one for one in row["tier_io"]}
        assert io[source]["read_bytes"] >= 8192
        assert io[target]["write_bytes"] >= io[source]["read_bytes"]
        assert io[target]["read_bytes"] == 0, "what was written is not read back into the log"
        assert row["operation"].count("ALTER") == len(survey_placement.PLACEMENTS[cell["placement"]])


def _sorted_on_either(sorts: pl.DataFrame) -> None:
    written = {}
    for cell, row in zip(cells(sorts), sorts.rows(named=True), strict=True):
        assert {io["tier"] for io in row["relation_io"]} == {"hdd"}
        written[cell["placement"]] = {io["tier"] for io in row["tier_io"] if io["write_bytes"]}
    assert written == {"all_hdd": {"hdd"}, "temp_ssd": {"ssd_raid5"}}, "the sort spills to the tier of its temporary files alone"


@pytest.fixture(scope="module")
def acquired(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("survey")


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (2, 3))])
def test_the_planner_joins_as_the_text_does_whatever_analyze_sampled(conn: Connection, acquired: Path, seed: int) -> None:
    profile = load_profile("quick")
    gathered, tables = survey_placement.grid(profile), survey.load_tables()
    data = survey.acquire(fraction=survey_placement.fraction(profile), seed=seed, folder=acquired)
    load_once(conn, SCHEMA, "pg_default", [Rows(tables[name], data[name].parquet, data[name].rows) for name in survey.NAMES])
    statements = find_parameters(conn, light_curves=gathered.light_curves, joined=gathered.joined)
    for _ in range(3):
        conn.execute("ANALYZE")
        for name in gathered.queries:
            with conn.transaction(force_rollback=True):
                for command in BY_INDEX:
                    conn.execute(command)
                assert_plan(planned(conn, statements.statement(name)), QUERIES[name].nodes)


def test_a_simulated_pair_has_neither_moves_nor_temporary_files() -> None:
    profile, pair = load_profile("smoke"), load_pair("source-h")
    of = {trial.cell.query for trial in survey_placement.trials(profile, pair)}
    assert of - {trial.cell.query for trial in survey_placement.trials(profile, pair.simulated())} == {survey_placement.MOVE, SORT}


def test_a_join_of_few_pages_is_executed_more_than_once_where_an_order_is_judged_by_it() -> None:
    profile = load_profile("quick")
    trials = survey_placement.trials(profile, load_pair("source-h"))
    executions = Counter(trial.cell.placement for trial in trials if trial.cell.query == "join_several")
    assert executions == {"all_hdd": 4, "index_ssd": 4, "source_ssd": 1, "detection_ssd": 1}
    assert {trial.cell.placement for trial in trials if trial.cell.query == "move"} == {"index_ssd", "source_ssd"}
    assert len({trial.key for trial in trials}) == len(trials)
    assert {trial.io_mode for trial in trials} == {IoMode.ASYNCHRONOUS}, "the mode that decides"


def test_a_pair_of_the_readers_own_is_measured_as_far_as_it_goes() -> None:
    profile, pair = load_profile("smoke"), load_pair("local")
    assert {trial.cell.tier for trial in survey_arrays.trials(profile, pair)} == {"hdd", "ssd"}
    assert {trial.cell.ssd for trial in survey_placement.trials(profile, pair)} == {"ssd"}


TABLE_BYTES = 140 * GB
SCAN = Query("non_indexed", "printed", scanned=True, heap_pages=TABLE_BYTES / PAGE_BYTES, index_pages=3, rows=4e6)
FEW = Query("indexed", "printed", scanned=False, heap_pages=200_000, index_pages=30_000, rows=4e6)


def simulated(pair: str, *queries: Query, table_bytes: float = TABLE_BYTES) -> list[dict[str, Any]]:
    no_server: Cluster = None  # type: ignore[assignment]
    testbed = Testbed(load_profile("smoke"), load_pair(pair), 1, Path(), no_server)
    return published_size(testbed, queries, Hunt(requests=16, seeds=2), table_bytes=table_bytes)


def test_every_way_is_reported_for_every_query_and_subsystem() -> None:
    found = simulated("source-h", SCAN, FEW)
    assert len(found) == 2 * len(list(ways(SCAN, TABLE_BYTES)))
    assert [one["method"] for one in found if not one["hunted"]] == [OURS, IDEAL] * 2
    assert all(len(values) == 2 and min(values) > 0 for one in found for values in one["seconds"].values())
    assert {tuple(one["seconds"]) for one in found} == {("hdd", "hdd_raid0", "ssd", "ssd_raid5")}


def test_what_does_not_depend_on_the_query_is_the_same_for_both() -> None:
    scan, few = ({one["method"]: one for one in simulated("source-h", query)} for query in (SCAN, FEW))
    assert scan[IDEAL]["seconds"] == few[IDEAL]["seconds"]
    assert few[OURS]["bytes"] < scan[OURS]["bytes"] == pytest.approx(TABLE_BYTES)


def test_a_way_changes_one_thing_of_the_ideal() -> None:
    (ideal,) = next(readings for name, readings in ways(SCAN, TABLE_BYTES) if name == IDEAL)
    for name, readings in ways(SCAN, TABLE_BYTES):
        if name in {OURS, IDEAL} or name.startswith("a lookup"):
            continue
        (reading,) = readings
        differs = [field for field in ("request_bytes", "depth", "gap", "scattered") if getattr(reading, field) != getattr(ideal, field)]
        assert len(differs) == 1, name


def test_a_device_that_is_too_small_and_a_real_disk_are_left_out() -> None:
    assert {tuple(one["seconds"]) for one in simulated("source-m", SCAN)} == {("hdd",)}
    assert {tuple(one["seconds"]) for one in simulated("local", SCAN)} == {("hdd",)}
