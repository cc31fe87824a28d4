"""Every other variant and I/O mode of a study is judged beside the published protocol, by the same rules, with the reads behind it."""

import json
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from rows import HEAP_READS, INDEX_READS, SERVICE_S, Ratios, make_rows, make_run, others, save_run
from tierwise.analysis.causes import Cause
from tierwise.analysis.claim_rows import Rows, selected
from tierwise.analysis.claims import Case, Claim
from tierwise.analysis.judging import JUDGES, ClaimVerdict, Grounds, judge_cases
from tierwise.analysis.rules import Verdict
from tierwise.analysis.verdicts import as_json, judge
from tierwise.analysis.views import open_views
from tierwise.core.errors import InputError
from tierwise.core.vocabulary import IoMode
from tierwise.timings.manifest import load_manifest

CACHES = {"cold": ("FL", "PR", "NV"), "cross": ("FL->PR", "PR->NV", "NV->FL"), "hot": ("FL", "PR", "NV")}


def everywhere(ratio: float) -> Ratios:
    return {(cache, state): ratio for cache, states in CACHES.items() for state in states}


def judged(folder: Path) -> dict[str, ClaimVerdict]:
    return {verdict.id: verdict for verdict in judge(folder, judges=JUDGES)}


def saved(folder: Path, *parts: pl.DataFrame, **manifest: Any) -> dict[str, ClaimVerdict]:
    save_run(folder, pl.concat(parts), **manifest)
    return judged(folder)


def estimate_of(io_mode: ClaimVerdict, state: str) -> float:
    (found,) = [one.estimate for one in io_mode.cases if one.case == state]
    assert found is not None
    return found


def test_a_verdict_comes_from_the_published_protocol_alone(tmp_path: Path) -> None:
    verdict = saved(tmp_path, make_rows(), make_rows(variant="grown", ratios=everywhere(0.05), seed=1))["M1"]
    assert verdict.verdict is Verdict.CONTRADICTED
    assert verdict.estimate == pytest.approx(0.99, rel=0.03)
    assert {name: io_mode.verdict for name, io_mode in others(verdict).items()} == {"grown": Verdict.CONFIRMED}
    assert estimate_of(others(verdict)["grown"], "PR") == pytest.approx(0.05, rel=0.03)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ({"select": {"cashe": "cold"}}, "on index_placement is 'cashe': the study's view has no such column. Remedy: did you mean cache?"),
        ({"value": "2 * ratioo"}, "on index_placement is 'ratioo': the study's view has no such column. Remedy: did you mean ratio?"),
        ({"value": "2 * cache"}, "on index_placement is '2 * cache': Binder Error: No function matches"),
    ],
)
def test_a_column_that_the_study_s_view_lacks_is_named_with_a_suggestion(tmp_path: Path, case: dict[str, Any], message: str) -> None:
    save_run(tmp_path, make_rows())
    wrong = Case.model_validate({"name": "FL", "study": "index_placement", "select": {"state": "FL"}} | case)
    with open_views(tmp_path) as connection, pytest.raises(InputError) as raised:
        Rows(connection, load_manifest(next(tmp_path.glob("*/manifest.json")).parent)).of_case(wrong, flags=True)
    assert f"data/published/claims.toml: a column of the case 'FL' {message}" in str(raised.value)


def test_an_io_mode_is_named_by_its_variant_and_by_its_way_of_io(tmp_path: Path) -> None:
    parts = [make_rows(io_mode=io_mode, variant=variant) for io_mode in IoMode for variant in ("published", "grown")]
    verdict = saved(tmp_path, *parts)["M1"]
    assert verdict.io_mode is IoMode.BUFFERED, "it decides this study"
    measured = {(one.variant, one.io_mode) for one in verdict.others}
    assert measured == {(variant, io_mode) for variant in ("grown", "published") for io_mode in IoMode} - {("published", IoMode.BUFFERED)}
    assert all(case.io_mode is IoMode.DIRECT for case in others(verdict)["grown"].cases)


def test_io_io_modes_of_the_published_protocol_that_disagree_have_each_a_verdict_of_its_own(tmp_path: Path) -> None:
    deciding = make_rows(io_mode=IoMode.BUFFERED, ratios=everywhere(0.05))
    verdict = saved(tmp_path, deciding, make_rows(), make_rows(variant="grown"))["M1"]
    assert verdict.verdict is Verdict.CONFIRMED
    assert {name: io_mode.verdict for name, io_mode in others(verdict).items()} == dict.fromkeys(
        ["grown", "published"], Verdict.CONTRADICTED
    )


def test_orders_and_hot_claims_are_judged_for_each_io_mode_and_shapes_for_none(tmp_path: Path) -> None:
    ratios = {**everywhere(0.04), ("cold", "FL"): 0.09, ("cold", "PR"): 0.032, ("cold", "NV"): 0.032}
    found = saved(tmp_path, make_rows(), make_rows(variant="grown", ratios=ratios, seed=1))
    assert [others(found[name])["grown"].verdict for name in ("M1", "M2", "M3", "M11", "M12")] == [Verdict.CONFIRMED] * 5
    assert [case.case for case in others(found["M11"])["grown"].cases] == ["FL/PR", "FL/NV"]
    assert found["M4"].verdict is Verdict.CONTRADICTED, "equally many pages, whatever the times"
    assert (found["M6"].verdict, others(found["M6"])) == (Verdict.REPORTED, {})


def test_a_claim_on_a_study_without_variants_is_requested_of_its_view_as_it_stands() -> None:
    case = {"name": "x", "study": "another", "select": {"cache": "cold"}}
    varied = {"name": "y", "study": "another", "select": {"cache": "cold", "variant": "published"}}
    bounds = {"bounds": {"upper": 0.5}, "bounds_how": "stated"}
    claim = Claim.model_validate(
        {"id": "M9", "statement": "s", "kind": "ratio", "how": "stated", "where": "w", "quotation": "s", "cases": [case, varied], **bounds}
    )
    assert [selected(case, "grown") for case in claim.cases] == [{"cache": "cold"}, {"cache": "cold", "variant": "grown"}]


def cold(rows: pl.DataFrame, trial: str) -> dict[int, float]:
    chosen = rows.filter((pl.col("cache") == "cold") & pl.col("trial").str.contains(trial))
    return dict(chosen.select("replicate", "elapsed_s").iter_rows())


def asymmetric_ratios(folder: Path) -> dict[int, float]:
    with open_views(folder) as connection:
        found = connection.execute(
            "select replicate, ratio from index_placement where variant = 'asymmetric' and cache = 'cold' and state = 'NV'"
        )
        return dict(found.fetchall())


@pytest.mark.parametrize(("measured", "base"), [(("published",), "published"), (("published", "memory-1.2"), "memory-1.2")])
def test_asymmetric_is_the_cached_ssd_time_over_the_cold_hdd_time_at_the_same_memory(
    tmp_path: Path, measured: tuple[str, ...], base: str
) -> None:
    rows = {variant: make_rows(variant=variant, seed=seed, sigma=0.2) for seed, variant in enumerate((*measured, "heap-cached"))}
    save_run(tmp_path, pl.concat(rows.values()))
    on_ssd = cold(rows["heap-cached"], "index=ssd/io_mode=[a-z]+/start=NV/table=hdd")
    on_hdd = cold(rows[base], "index=hdd/io_mode=[a-z]+/start=NV/table=hdd")
    assert asymmetric_ratios(tmp_path) == {replicate: on_ssd[replicate] / on_hdd[replicate] for replicate in range(5)}


def test_asymmetric_has_the_states_of_the_cached_io_mode_and_its_pace(tmp_path: Path) -> None:
    cached = make_rows(variant="heap-cached", states=("NV",), pace=0.05, ratios=everywhere(0.8))
    found = saved(tmp_path, make_rows(), cached)
    io_mode = others(found["M1"])["asymmetric"]
    assert [case.case for case in io_mode.cases] == ["NV"]
    assert estimate_of(io_mode, "NV") == pytest.approx(0.05 * 0.8, rel=0.03)
    assert others(found["M3"])["asymmetric"].deciding_case == "NV->FL"


def test_there_is_no_asymmetric_io_mode_where_the_table_was_never_cached(tmp_path: Path) -> None:
    assert "asymmetric" not in others(saved(tmp_path, make_rows(), make_rows(variant="memory-1.2"))["M1"])


def test_a_flag_on_either_of_its_two_trials_leaves_an_asymmetric_pair_out(tmp_path: Path) -> None:
    rows = pl.concat([make_rows(), make_rows(variant="heap-cached", states=("NV",))])
    cached = pl.col("trial").str.contains("index=ssd/io_mode=[a-z]+/start=NV/table=hdd/variant=heap-cached") & (pl.col("replicate") == 0)
    evicted = pl.col("trial").str.contains("index=hdd/io_mode=[a-z]+/start=NV/table=hdd/variant=published") & (pl.col("replicate") == 1)
    beside = pl.col("trial").str.contains("index=hdd/io_mode=[a-z]+/start=NV/table=hdd/variant=heap-cached")
    flags = pl.when((cached | evicted | beside) & (pl.col("cache") == "cold")).then(pl.lit(["overshoot"])).otherwise(pl.col("flags"))
    save_run(tmp_path, rows.with_columns(flags=flags))
    (case,) = others(judged(tmp_path)["M1"])["asymmetric"].cases
    assert (case.pairs, case.flagged) == (3, 2)


THROUGH = "select placement, {} from index_placement_through where state = 'NV' and variant = ? and cache = 'cold' order by placement"


def test_reads_and_times_stand_by_placement_in_each_variant(tmp_path: Path) -> None:
    save_run(tmp_path, pl.concat([make_rows(), make_rows(variant="heap-cached", states=("NV",))]))
    index, heap = INDEX_READS["NV"], HEAP_READS["NV"]
    with open_views(tmp_path) as connection:
        own = connection.execute(THROUGH.format("heap_reads, index_reads, other_reads, index_io_s"), ["published"]).fetchall()
        cached = connection.execute(THROUGH.format("heap_reads"), ["heap-cached"]).fetchall()
        asymmetric = connection.execute(THROUGH.format("heap_reads"), ["asymmetric"]).fetchall()
    assert own == [(f"hdd/{tier}", heap, index, 1, pytest.approx(index * SERVICE_S[tier])) for tier in ("hdd", "ssd")]
    assert cached == [("hdd/hdd", 0), ("hdd/ssd", 0)]
    assert asymmetric == [("hdd/hdd", heap), ("hdd/ssd", 0)]


def test_json_has_an_object_for_each_io_mode(tmp_path: Path) -> None:
    save_run(tmp_path, pl.concat([make_rows(), make_rows(variant="heap-cached")]))
    claims = json.loads(json.dumps(as_json([*judged(tmp_path).values()]), allow_nan=False))["claims"]
    for one in (claim for claim in claims if claim["source"] == "M" and claim["id"] not in {"M13", "M14"}):
        assert one["io_mode"] == (None if one["unjudged"] else "direct")
        assert {other["variant"] for other in one["others"]} == (set() if one["unjudged"] else {"heap-cached", "asymmetric"})
        for io_mode in one["others"]:
            assert {"verdict", "verdict_text", "reason", "cause", "cure", "conditions"} <= io_mode.keys()
            assert {"cases", "estimate", "low", "high", "pairs", "evidence"} <= io_mode.keys()
            assert io_mode.keys().isdisjoint({"id", "statement", "here"})


def test_the_view_has_every_variant_and_only_measured_rows_beneath(tmp_path: Path) -> None:
    make_run(tmp_path, run_id="a", replicates=1)
    save_run(
        tmp_path,
        pl.concat([make_rows(run_id="b", replicates=1), make_rows(run_id="b", replicates=1, variant="heap-cached", states=("NV",))]),
    )
    with open_views(tmp_path) as connection:
        counts = "select run_id, variant, count(*) from {} group by run_id, variant order by run_id, variant"
        ratios = connection.execute(counts.format("index_placement")).fetchall()
        observations = connection.execute(counts.format("index_placement_observations")).fetchall()
    assert ratios == [("a", "published", 9), ("b", "asymmetric", 3), ("b", "heap-cached", 3), ("b", "published", 9)]
    assert observations == [("a", "published", 36), ("b", "heap-cached", 6), ("b", "published", 36)]


TWIN = "async-commit"
SELECT = {"variant": "published", "placement": "table_ssd"}
CLAIM = Claim.model_validate(
    {
        **dict.fromkeys(("statement", "where", "quotation"), "as published"),
        "id": "V2",
        "kind": "ratio",
        "how": "stated",
        "bounds": {"lower": 3.0},
        "bounds_how": "stated",
        "cases": [{"name": "large", "study": "pgbench_placement", "select": SELECT}],
    }
)


def beside_its_twin(folder: Path, ratios: dict[str, float], hangs_on: str | None) -> ClaimVerdict:
    fixed = {"pair": "a-pair", "io_mode": "direct", "evidence": "emulated", "flagged": False, "placement": "table_ssd"}
    hanging = {TWIN: None}
    rows = [
        {**fixed, "variant": variant, "replicate": number, "ratio": ratio * 1.001**number, "hangs_on": hanging.get(variant, hangs_on)}
        for variant, ratio in ratios.items()
        for number in range(5)
    ]
    connection = duckdb.connect()
    connection.register("pgbench_placement", pl.DataFrame(rows, schema_overrides={"hangs_on": pl.String}))
    return judge_cases(CLAIM, Grounds("a-pair", Rows(connection, load_manifest(make_run(folder)))))


@pytest.mark.parametrize(
    ("twin", "hangs_on", "expected"),
    [
        (5.0, TWIN, Verdict.CONFIRMED),
        (2.0, TWIN, Verdict.UNDECIDED),
        (None, TWIN, Verdict.UNDECIDED),
        (2.0, None, Verdict.CONFIRMED),
        (None, None, Verdict.CONFIRMED),
    ],
)
def test_a_verdict_needs_the_same_one_of_its_twin(tmp_path: Path, twin: float | None, hangs_on: str | None, expected: Verdict) -> None:
    found = beside_its_twin(tmp_path, {"published": 4.0, **({TWIN: twin} if twin else {})}, hangs_on)
    assert found.verdict is expected
    assert (found.cause is Cause.LOG) == (expected is Verdict.UNDECIDED)
    assert found.cases[0].hangs_on == ((hangs_on,) if hangs_on else ())
    assert [one.variant for one in found.others] == ([TWIN] if twin else []), "both stand beside each other"
    if expected is Verdict.UNDECIDED:
        assert ("gives the verdict contradicted" if twin else "was not measured") in found.reason
        assert "synchronous_commit" in found.cure
