"""The survey's files moved to the SSDs for a job and back (H11): break-evens from timed moves, beside simulated ones."""

from pathlib import Path

import polars as pl
import pytest

from survey_rows import MOVE_S, PLACEMENT_S, RUN_ID, SIZES, array_rows, move_rows, placement_rows, save_survey
from tierwise.advisor.copying import copy_s
from tierwise.advisor.moving import Times, plan_move
from tierwise.analysis.causes import Cause
from tierwise.analysis.heat import record_of
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.rules import Verdict
from tierwise.analysis.statistics import Scope, scope_of
from tierwise.analysis.views import open_views
from tierwise.core.units import MIB
from tierwise.core.vocabulary import Evidence
from tierwise.devices.model import build
from tierwise.devices.spec import load_device
from tierwise.report.display import Sentence, Table
from tierwise.report.page import open_page, open_shared
from tierwise.report.run import open_run
from tierwise.report.study_registry import judge_all
from tierwise.studies.survey_placement.reading.money import JOB_SIZES, modelled, moves_of, plans_of
from tierwise.timings.replicates import RUN_REPLICATES

PAIR = "source-h"
NUMBERS = {  # numbers of both chapters
    "survey_placement": ("detection_most", "light_curves_most", "jobs_most"),
    "survey_arrays": ("six_most", "indexed_one", "rate_disks"),
}


def h11(raw: Path) -> ClaimVerdict:
    return next(verdict for verdict in judge_all(raw, RUN_ID) if verdict.id == "H11")


def test_a_move_pays_after_as_many_jobs_as_its_time_holds_their_savings(tmp_path: Path) -> None:
    save_survey(tmp_path, pl.concat([placement_rows(), move_rows()]))
    with open_views(tmp_path, RUN_ID) as connection:
        moves = moves_of(connection, PAIR)
        plans = plans_of(connection, PAIR, moves)
    assert [(moved.placement, sum(moved.sizes_bytes.values())) for moved in moves] == [
        ("index_ssd", MIB),
        ("source_ssd", 4 * MIB),
        ("detection_ssd", 60 * MIB),
    ]
    for (placement, query), plan in plans.items():
        saved_s = PLACEMENT_S[query]["all_hdd"] - PLACEMENT_S[query][placement]
        assert plan.pairs == 5
        if saved_s > 0:
            assert plan.break_even_jobs == pytest.approx(sum(MOVE_S[placement]) / saved_s, rel=0.2)
        else:
            assert plan.break_even_jobs is None
    assert plans["source_ssd", "join_single"].pays is Verdict.CONFIRMED
    assert plans["detection_ssd", "light_curves"].pays is Verdict.CONTRADICTED


def test_h11_hangs_on_how_much_a_job_asks(tmp_path: Path) -> None:
    """Some move needs more than one job of one query; none needs more than one of a thousand."""
    save_survey(tmp_path, pl.concat([placement_rows(), move_rows()]))
    found = h11(tmp_path)
    assert (found.verdict, found.cause, found.evidence) == (Verdict.UNDECIDED, Cause.LEFT_OPEN, Evidence.EMULATED)
    assert found.open_map is not None
    assert (found.open_map.at_one, found.open_map.evidence) == (Verdict.CONFIRMED, Evidence.EMULATED)
    by_size = {size: [one for one in found.open_map.points if one.setting["queries a job"] == str(size)] for size in JOB_SIZES}
    assert len({len(points) for points in by_size.values()}) == 1
    assert all(large.estimate == pytest.approx(small.estimate / 10) for small, large in zip(by_size[1], by_size[10], strict=True)), (
        "a job of ten queries saves ten times as much"
    )
    assert {one.verdict for one in by_size[1000]} == {Verdict.CONTRADICTED}
    least, most = found.open_map.share
    assert 0 < least <= most < 1
    assert found.low is not None
    assert found.low > 1
    assert found.deciding_case is not None
    assert "Detection" in found.deciding_case


@pytest.mark.parametrize("factor", [1e-3, 0.0])
def test_h11_fails_where_no_move_needs_more_than_one_job(tmp_path: Path, factor: float) -> None:
    """Moves that take nothing beside what a job saves; and jobs that never save, so that no speed would help."""
    quick = {placement: (there * 1e-3, back * 1e-3) for placement, (there, back) in MOVE_S.items()}
    none = {query: dict.fromkeys(of, 5.0) | {"all_hdd": 1.0} for query, of in PLACEMENT_S.items()}
    rows = [placement_rows(none), move_rows()] if not factor else [placement_rows(), move_rows(quick)]
    save_survey(tmp_path, pl.concat(rows))
    assert h11(tmp_path).verdict is Verdict.CONTRADICTED


def test_h11_holds_where_no_job_is_large_enough(tmp_path: Path) -> None:
    long = {placement: (there * 1e5, back * 1e5) for placement, (there, back) in MOVE_S.items()}
    save_survey(tmp_path, pl.concat([placement_rows(), move_rows(long)]))
    found = h11(tmp_path)
    assert found.verdict is Verdict.CONFIRMED
    assert found.open_map is not None
    assert found.open_map.share == (1.0, 1.0)


def test_a_merged_runs_move_has_the_freedom_of_its_runs() -> None:
    def times(seconds: float) -> Times:
        by_replicate = {run * RUN_REPLICATES + replicate: seconds * 1.01**replicate for run in range(3) for replicate in range(5)}
        return Times(by_replicate, Evidence.EMULATED)

    found = plan_move({"a": 1}, devices=("hdd", "ssd"), there=times(3.0), back=times(3.0), slow_job=times(2.0), fast_job=times(1.0))
    assert (found.pairs, found.runs, found.freedom) == (15, 3, 2)
    assert scope_of(found.estimate.runs) is Scope.RUNS


def test_h11_is_open_where_moves_were_flagged_or_too_few(tmp_path: Path) -> None:
    save_survey(tmp_path, pl.concat([placement_rows(replicates=2), move_rows(replicates=2)]))
    few = "fewer than 5 clean replicates"
    assert h11(tmp_path).verdict_text == f"undecided ({few}; 0 moves are rejected; needs PROFILE=full)"
    save_survey(tmp_path / "flagged", pl.concat([placement_rows(), move_rows(flagged=tuple(MOVE_S))]))
    assert h11(tmp_path / "flagged").verdict_text == f"undecided ({few}; 15 moves are rejected; needs RETRY=1 or a quieter machine)"
    save_survey(tmp_path / "none", placement_rows())
    assert h11(tmp_path / "none").verdict is Verdict.NOT_MEASURED


def test_the_simulated_move_knows_nothing_of_the_run_but_sizes(tmp_path: Path) -> None:
    save_survey(tmp_path, pl.concat([placement_rows(), move_rows()]), stretch=1.0)
    with open_views(tmp_path, RUN_ID) as connection:
        record = record_of(connection, "survey_placement", PAIR)
    assert record is not None
    (source,) = modelled(record, "source_ssd", "ssd_raid5")
    disk, flash = (lambda name=name: build(load_device(name), seed=0) for name in ("hdd-1tb-raid5-x7", "crucial-h-raid5-x6"))
    there_and_back_s = copy_s(SIZES["source"], disk, flash) + copy_s(SIZES["source"], flash, disk)
    assert source.there.mean_s + source.back.mean_s == pytest.approx(there_and_back_s, rel=0.2)


def text_of(shown: Table | Sentence) -> str:
    return shown.text if isinstance(shown, Sentence) else f"{shown.markdown()}\n{shown.caption}"


def test_a_changed_row_of_source_h_changes_the_chapters_and_the_conclusion(raw: Path) -> None:
    folder = save_survey(raw, pl.concat([array_rows(), placement_rows(), move_rows()]), stretch=2.0)
    before = _chapters()
    path = folder / "timings.parquet"
    slow = pl.col("trial").str.contains("tier=hdd$|placement=detection_ssd|query=move")
    rows = pl.read_parquet(path).with_columns(elapsed_s=pl.when(slow).then(30 * pl.col("elapsed_s")).otherwise(pl.col("elapsed_s")))
    rows.write_parquet(path)
    after = _chapters()
    assert not [name for name, text in before.items() if after[name] == text]


def _chapters() -> dict[str, str]:
    run = open_run()
    strategies = open_shared(run, "advice").exhibit("tbl-strategies")
    assert isinstance(strategies, Table)
    texts = {"strategies": text_of(strategies)}
    for study, names in NUMBERS.items():
        found_there = open_page(run, study, PAIR).values
        texts |= {name: str(found_there[name]) for name in names}
    run.store.close()
    return texts
