"""A run's raw rows give the verdict on each claim of the census study."""

import json
from datetime import timedelta
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from rows import FACTS, STARTED, make_manifest, make_rows, make_run, others, save_run
from tierwise.analysis.causes import Cause, cure, phrase
from tierwise.analysis.judging import JUDGES, ClaimVerdict
from tierwise.analysis.rules import DECIDED, NOT_ASYNCHRONOUS, Verdict
from tierwise.analysis.runs import newest_run
from tierwise.analysis.verdicts import as_json, as_text
from tierwise.analysis.verdicts import judge as judged_by
from tierwise.analysis.views import open_views
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.timings.manifest import Manifest

judge = partial(judged_by, judges=JUDGES)
MORE = "PROFILE=full or more replicates"
AS_PUBLISHED = {
    ("cold", "FL"): 0.095,
    ("cold", "PR"): 0.05,
    ("cold", "NV"): 0.033,
    ("cross", "FL->PR"): 0.15,
    ("cross", "PR->NV"): 0.12,
    ("cross", "NV->FL"): 0.12,
    ("hot", "FL"): 0.77,
    ("hot", "PR"): 0.78,
    ("hot", "NV"): 0.025,
}

ARGUED = {"M8", "M9", *(f"M{number}" for number in range(17, 22))}  # the claims that are reported, and of which a run has no facts either
REPORTED = {"M6", "M10", *ARGUED}
ELSEWHERE = {"M13", "M14"}  # the claims on trials that these runs have not
NOTHING_STATED = phrase("conditions.not_comparable")


def of_m(verdicts: list[ClaimVerdict]) -> list[ClaimVerdict]:
    """Return the census study's claims alone, whose rows these runs have."""
    return [verdict for verdict in verdicts if verdict.source == "M"]


def by_id(verdicts: list[ClaimVerdict]) -> dict[str, ClaimVerdict]:
    return {verdict.id: verdict for verdict in verdicts}


def words(verdicts: list[ClaimVerdict]) -> dict[str, Verdict]:
    return {verdict.id: verdict.verdict for verdict in of_m(verdicts)}


def flagging(rows: pl.DataFrame, chosen: pl.Expr, flag: str = "overshoot") -> pl.DataFrame:
    return rows.with_columns(flags=pl.when(chosen).then(pl.lit([flag])).otherwise(pl.col("flags")))


ON_SSD_INDEX = pl.col("trial").str.contains("index=ssd/io_mode=[a-z]+/start=FL/table=hdd") & (pl.col("cache") == "cold")


def test_rows_as_published_confirm_every_claim(tmp_path: Path) -> None:
    make_run(tmp_path, ratios=AS_PUBLISHED)
    assert words(judge(tmp_path)) == {
        **dict.fromkeys(["M1", "M2", "M3", "M7", "M11", "M12", "M15", "M16"], Verdict.CONFIRMED),
        **dict.fromkeys(["M4", "M5"], Verdict.CONTRADICTED),  # the same pages, whatever the times
        **dict.fromkeys(ELSEWHERE, Verdict.NOT_MEASURED),
        **dict.fromkeys(REPORTED, Verdict.REPORTED),
    }


def test_the_numbers_of_a_claim_are_those_of_its_deciding_case(tmp_path: Path) -> None:
    make_run(tmp_path, ratios={**AS_PUBLISHED, ("cold", "PR"): 0.5})
    verdict = by_id(judge(tmp_path))["M1"]
    assert (verdict.verdict, verdict.deciding_case, verdict.io_mode) == (Verdict.CONTRADICTED, "PR", IoMode.DIRECT)
    assert verdict.estimate == pytest.approx(0.5, rel=0.05)
    assert verdict.low is not None
    assert verdict.high is not None
    assert verdict.low < 0.5 < verdict.high
    assert (verdict.pairs, verdict.flagged, verdict.io_mode) == (5, 0, IoMode.DIRECT)
    assert [case.verdict for case in verdict.cases] == [Verdict.CONFIRMED, Verdict.CONTRADICTED, Verdict.CONFIRMED]


def test_the_estimate_is_the_geometric_mean_of_ratios_within_replicates(tmp_path: Path) -> None:
    rows = make_rows(sigma=0.5)
    save_run(tmp_path, rows)
    cold = rows.filter((pl.col("cache") == "cold") & pl.col("trial").str.contains("start=NV/table=hdd")).sort("replicate")
    times = {index: cold.filter(pl.col("trial").str.contains(f"index={index}"))["elapsed_s"] for index in ("hdd", "ssd")}
    (case,) = [case for case in by_id(judge(tmp_path))["M1"].cases if case.case == "NV"]
    assert case.estimate == pytest.approx((times["ssd"] / times["hdd"]).product() ** (1 / 5))


def test_an_interval_across_a_bound_is_undecided_and_names_what_would_narrow_it(tmp_path: Path) -> None:
    make_run(tmp_path, ratios={**AS_PUBLISHED, ("cold", "FL"): 0.06, ("cold", "NV"): 0.03}, sigma=0.05)
    verdict = by_id(judge(tmp_path))["M1"]
    assert verdict.verdict_text == f"undecided ({Cause.STRADDLES}: NV; needs {MORE})"
    assert (verdict.cause, verdict.cure, verdict.deciding_case) == (Cause.STRADDLES, MORE, "NV")


def test_flagged_rows_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = make_rows(ratios=AS_PUBLISHED, replicates=6)
    wild = pl.when(ON_SSD_INDEX & (pl.col("replicate") == 2)).then(pl.col("elapsed_s") * 100).otherwise(pl.col("elapsed_s"))
    save_run(tmp_path, flagging(rows.with_columns(elapsed_s=wild), ON_SSD_INDEX & (pl.col("replicate") == 2)))
    verdict = by_id(judge(tmp_path))["M1"]
    assert (verdict.verdict, verdict.flagged) == (Verdict.CONFIRMED, 1)
    assert [(case.pairs, case.flagged) for case in verdict.cases] == [(5, 1), (6, 0), (6, 0)]


def test_the_tally_counts_what_is_decided_and_says_what_keeps_the_others_open(tmp_path: Path) -> None:
    rows = make_rows(ratios=AS_PUBLISHED)
    save_run(tmp_path, flagging(rows, ON_SSD_INDEX & (pl.col("replicate") == 0)))
    verdicts = judge(tmp_path)
    said = " ".join(as_text(verdicts).split())
    decided, undecided = (sum(claim.verdict in which for claim in verdicts) for which in (DECIDED, (Verdict.UNDECIDED,)))
    assert f": {decided} of {len(verdicts)} decided" in said
    assert f" {undecided} undecided" in said
    assert f"{Cause.REJECTED} (needs {cure(Cause.REJECTED, None)})" in said


def test_what_is_counted_is_judged_whatever_flags_its_time_has(tmp_path: Path) -> None:
    save_run(tmp_path, flagging(make_rows(), pl.col("cache") == "hot", "host"))
    found = by_id(judge(tmp_path))
    assert (found["M12"].verdict, found["M12"].pairs, found["M12"].flagged) == (Verdict.CONFIRMED, 5, 0)


NOT_BY_IT = phrase("conditions.other_mode", decider="published", wanted="published (buffered)")
ALONE = phrase("conditions.replicates_alone")


def test_the_io_mode_that_claims_toml_fixes_decides_and_one_that_says_otherwise_is_shown(tmp_path: Path) -> None:
    save_run(tmp_path, pl.concat([make_rows(ratios=AS_PUBLISHED), make_rows(io_mode=IoMode.BUFFERED)]))
    verdict = by_id(judge(tmp_path))["M1"]
    assert (verdict.verdict_text, verdict.variant, verdict.io_mode) == (
        f"contradicted ({NOTHING_STATED})",
        "published",
        IoMode.BUFFERED,
    )
    assert {name: io_mode.verdict for name, io_mode in others(verdict).items()} == {"published": Verdict.CONFIRMED}


def test_a_run_without_the_deciding_io_mode_is_judged_by_the_first_that_it_has_and_says_so(tmp_path: Path) -> None:
    save_run(tmp_path, make_rows(ratios=AS_PUBLISHED))
    verdict = by_id(judge(tmp_path))["M1"]
    assert (verdict.verdict, verdict.io_mode, verdict.conditions) == (Verdict.CONFIRMED, IoMode.DIRECT, (NOT_BY_IT, ALONE, NOTHING_STATED))


def test_a_verdict_that_the_deciding_io_mode_of_the_reference_run_contradicts_says_so(tmp_path: Path) -> None:
    save_run(tmp_path / "own", make_rows(ratios=AS_PUBLISHED))
    contradicting = save_run(tmp_path / "theirs", make_rows(io_mode=IoMode.BUFFERED), profile="full")
    agreeing = save_run(tmp_path / "agreeing", make_rows(ratios=AS_PUBLISHED, io_mode=IoMode.BUFFERED), profile="full")
    for reference, conditions in (
        (
            contradicting,
            (
                NOT_BY_IT,
                ALONE,
                NOTHING_STATED,
                phrase("conditions.reference_says", verdict=Verdict.CONTRADICTED, named="published (buffered)"),
            ),
        ),
        (agreeing, (NOT_BY_IT, ALONE, NOTHING_STATED)),
    ):
        verdict = by_id(judged_by(tmp_path / "own", judges=JUDGES, reference=reference))["M1"]
        assert (verdict.verdict, verdict.conditions) == (Verdict.CONFIRMED, conditions)


@pytest.mark.parametrize(("outstanding", "conditions"), [(1.9, (NOT_ASYNCHRONOUS,)), (2.0, ())])
def test_an_asynchronous_io_mode_with_fewer_than_two_requests_at_once_is_marked(
    tmp_path: Path, outstanding: float, conditions: tuple[str, ...]
) -> None:
    proof = pl.lit(json.dumps({"outstanding": {"hdd": outstanding, "ssd": 1.0}}))
    save_run(tmp_path, pl.concat([make_rows(), make_rows(io_mode=IoMode.ASYNCHRONOUS).with_columns(proof=proof)]))
    verdict = by_id(judge(tmp_path))["M1"]
    io_mode = others(verdict)["published (asynchronous)"]
    assert (io_mode.conditions, [case.outstanding for case in io_mode.cases]) == (conditions, [outstanding] * 3)
    assert verdict.conditions == (NOT_BY_IT, ALONE, NOTHING_STATED), (
        "the direct I/O mode asks for one thing at a time, and nobody says otherwise"
    )


def test_a_claim_is_never_judged_on_a_device_that_was_fitted_on_it(tmp_path: Path) -> None:
    rows = make_rows(ratios=AS_PUBLISHED)
    folder = save_run(tmp_path, rows)
    manifest = make_manifest(rows).model_dump()
    manifest["pairs"]["source-m"]["devices"]["flash"]["read_latency"]["fitted_on"] = "M1, M3"
    Manifest.model_validate(manifest).save(folder)
    verdicts = by_id(judge(tmp_path))
    assert verdicts["M1"].verdict == verdicts["M3"].verdict is Verdict.INPUT
    assert {case.verdict for case in verdicts["M1"].cases} == {Verdict.INPUT}
    assert verdicts["M7"].verdict is Verdict.CONFIRMED


def test_a_shape_is_reported_with_its_evidence(tmp_path: Path) -> None:
    make_run(tmp_path)
    verdict = by_id(judge(tmp_path))["M6"]
    assert (verdict.verdict, verdict.facts, verdict.evidence) == (Verdict.REPORTED, FACTS["planner"], Evidence.EMULATED)


def test_without_a_run_nothing_is_measured(tmp_path: Path) -> None:
    verdicts = judge(tmp_path)
    assert {(verdict.verdict, verdict.run_id, verdict.evidence) for verdict in verdicts} == {(Verdict.NOT_MEASURED, None, None)}
    assert "make report" in as_text(verdicts)


def test_a_verdict_comes_from_the_source_s_own_pair(tmp_path: Path) -> None:
    make_run(tmp_path, ratios=AS_PUBLISHED, pair="elsewhere")
    assert {word for name, word in words(judge(tmp_path)).items() if name not in ARGUED} == {Verdict.NOT_MEASURED}


def test_the_reader_s_pair_is_judged_by_the_same_rules_in_its_own_column(tmp_path: Path) -> None:
    here = make_rows(pair="mine", evidence=Evidence.MEASURED, seed=1)
    save_run(tmp_path, pl.concat([make_rows(ratios=AS_PUBLISHED), here]), reader_pair="mine")
    verdict = by_id(judge(tmp_path))["M1"]
    assert (verdict.verdict, verdict.evidence, verdict.pair) == (Verdict.CONFIRMED, Evidence.EMULATED, "source-m")
    assert verdict.here is not None
    assert (verdict.here.verdict, verdict.here.evidence, verdict.here.pair) == (Verdict.CONTRADICTED, Evidence.MEASURED, "mine")


def test_a_reader_s_pair_of_two_kinds_of_evidence_gets_numbers_without_a_verdict(tmp_path: Path) -> None:
    here = make_rows(pair="mine", evidence=Evidence.MIXED, seed=1)
    save_run(tmp_path, pl.concat([make_rows(ratios=AS_PUBLISHED), here]), reader_pair="mine")
    for verdict in of_m(judge(tmp_path)):
        assert verdict.here is not None
        if verdict.id in ARGUED | ELSEWHERE:
            continue
        assert verdict.here.verdict is Verdict.MIXED
        assert verdict.here.facts is not None or verdict.here.high is not None


def test_the_newest_complete_run_is_judged(tmp_path: Path) -> None:
    make_run(tmp_path, run_id="z-old", ratios=AS_PUBLISHED)
    rows = make_rows(run_id="a-new")
    folder = save_run(tmp_path, rows)
    make_manifest(rows).model_copy(update={"finished_at": STARTED + timedelta(days=1)}).save(folder)
    make_run(tmp_path, run_id="unfinished", complete=False)
    assert newest_run(tmp_path) == "a-new"
    assert judge(tmp_path)[0].run_id == "a-new"
    old = judge(tmp_path, "z-old")[0]
    assert (old.run_id, old.verdict) == ("z-old", Verdict.CONFIRMED)


def test_json_has_a_version_and_an_object_for_each_claim_with_every_number_s_evidence(tmp_path: Path) -> None:
    make_run(tmp_path, ratios=AS_PUBLISHED)
    reported = json.loads(json.dumps(as_json(of_m(judge(tmp_path))), allow_nan=False))
    assert reported.keys() == {"version", "claims"}
    assert reported["version"] == 8
    objects = reported["claims"]
    assert [one["id"] for one in objects] == [f"M{number}" for number in range(1, 22)]
    for one in objects:
        assert {"id", "bounds", "estimate", "low", "high", "evidence", "verdict", "here", "run_id", "profile", "io_mode"} <= one.keys()
        assert {"quotation", "unjudged", "fitted"} <= one.keys()
        assert one["evidence"] == (None if one["id"] in ARGUED | ELSEWHERE else "emulated")
        assert all(case["evidence"] == "emulated" for case in one["cases"])
    assert [one["bounds"] for one in objects[:7]] == [[0.03, 0.1], [2.7, 4.2], [None, 0.2], [0.7, 0.85], [0.0125, 0.05], None, [1.0, None]]
    assert [one["bounds_how"] for one in objects[:7]] == ["stated", "assumed", "stated", "stated", "assumed", None, None]


def test_the_study_s_view_has_a_row_for_each_pair_io_mode_cache_state_and_replicate(tmp_path: Path) -> None:
    make_run(tmp_path, replicates=2)
    with open_views(tmp_path) as connection:
        rows = connection.sql("from index_placement").pl()
    assert rows.height == 2 * 9
    assert rows.select("pair", "io_mode", "cache", "state", "replicate").is_unique().all()
    assert set(rows["state"]) == {"FL", "PR", "NV", "FL->PR", "PR->NV", "NV->FL"}
    assert rows.filter(pl.col("ratio") != pl.col("hdd_ssd_s") / pl.col("hdd_hdd_s")).is_empty()


def test_replicate_reads_by_relation_stand_beside_every_time(tmp_path: Path) -> None:
    make_run(tmp_path, replicates=1)
    with open_views(tmp_path) as connection:
        rows = connection.sql("from index_placement_observations order by cache, state, table_tier, index_tier").pl()
    assert rows.height == 36
    cold = rows.filter((pl.col("cache") == "cold") & (pl.col("state") == "FL"))
    assert cold.select("heap_reads", "heap_hits", "index_reads", "index_hits").unique().rows() == [(18_000, 0, 16, 0)]
    hot = rows.filter((pl.col("cache") == "hot") & (pl.col("state") == "FL"))
    assert hot.select("heap_reads", "heap_hits", "index_reads", "index_hits").unique().rows() == [(0, 18_000, 0, 16)]


def test_a_placement_that_stands_twice_in_a_replicate_is_an_error_not_a_number(tmp_path: Path) -> None:
    rows = make_rows(replicates=1)
    again = rows.with_columns(trial=pl.col("trial") + "/memory=1")
    save_run(tmp_path, pl.concat([rows, again]))
    with open_views(tmp_path) as connection, pytest.raises(Exception, match="timed twice in one replicate"):
        connection.sql("select sum(ratio) from index_placement").fetchall()
