"""The first page: what to move for each workload, by one rule that every page and command follows."""

import re
import runpy
import shutil
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from rows import make_run
from tierwise.advisor.advice import Question, advise
from tierwise.advisor.ranking import DISKS, Gain, advised, chosen, gains_of, placed
from tierwise.advisor.workload import fixed
from tierwise.analysis.model_interval import Shifts
from tierwise.analysis.quality import never_accepted, rejections
from tierwise.analysis.views import open_views
from tierwise.core import paths
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.report.display import Figure, Missing, Table
from tierwise.report.estimates import cell, estimates
from tierwise.report.formats import with_interval
from tierwise.report.page import open_shared
from tierwise.report.run import Run, book_of, open_run
from tierwise.report.values import answer, front
from tierwise.report.values.answer import SOURCE_PAIRS, TITLES, UNCLEAR
from tierwise.report.values.front import TOO_SMALL, advice, answers, newest, speedups
from tierwise.report.values.workloads import cheapest, costs, gather
from tierwise.timings.manifest import load_manifest

REPLICATES = range(5)
TABLES, EVERYTHING = "tables ssd", "all ssd"
MOST_WORDS = 700
WORD = re.compile(r"[^\s|]*\w[^\s|]*")
LABELS = ("tbl-answer", "tbl-answer-costs", "fig-answer")


def test_with_too_few_data_a_workload_has_no_advice_and_advise_warns(tmp_path: Path) -> None:
    folder = make_run(tmp_path, ratios={("cold", state): 0.5 for state in ("FL", "PR", "NV")})
    manifest = load_manifest(folder)
    small = {"index_placement": {"too_small": ["cold counts"]}}
    manifest.model_copy(update={"profile": {**manifest.profile, "studies": small}}).save(folder)
    run = open_run(folder.name, tmp_path)
    rows = speedups(run)
    assert rows["too_small"].all()
    assert advice(rows) == TOO_SMALL
    (workload,) = gather(run)
    assert (
        "cold counts" in advise(workload, Question(ssd_gib=1, devices={"hdd": "sata-7k2", "ssd": "mtron-3025"}), book_of(run)).warnings[0]
    )


def test_the_first_page_is_short(reference: Run, rejected: Run) -> None:
    for run in (reference, rejected):
        page = open_shared(run, "front")
        shown = [page.section("sec-answer").text, *(page.after(label).text for label in LABELS)]
        for exhibit in map(page.exhibit, LABELS):
            shown += [exhibit.markdown() if isinstance(exhibit, Table) else "", exhibit.caption]
        assert len(WORD.findall(" ".join(shown))) <= MOST_WORDS


def test_the_table_has_a_row_for_each_workload_with_the_advice_of_the_rule(reference: Run) -> None:
    table = open_shared(reference, "front").exhibit("tbl-answer")
    assert isinstance(table, Table)
    rows, own = {row[0]: row for row in table.rows}, table.header.index(TITLES[SOURCE_PAIRS])
    found = answers(reference)
    assert list(rows) == found["workload"].unique(maintain_order=True).to_list()
    for (workload,), part in found.group_by("workload", maintain_order=True):
        best, unclear = (part.filter(standing)["placement"].unique().to_list() for standing in ("advised", "unclear"))
        assert rows[str(workload)][own].split(",")[0] == (best or [f"{UNCLEAR}{one}" for one in unclear] or ["nothing"])[0]
    assert set(found["io_mode"]) == {IoMode.DIRECT, IoMode.BUFFERED, IoMode.ASYNCHRONOUS}, "those that decide"


def test_a_speed_up_is_the_time_on_disks_over_the_time_after_the_move(reference: Run) -> None:
    rows, (workload, *_) = speedups(reference), gather(reference)
    own = rows.filter((rows["pair"] == workload.pair) & (rows["placement"] == placed(TABLES)))
    disks, moved = (workload.measured[name].job_s for name in (DISKS, TABLES))
    assert dict(own.select("replicate", "speedup").rows()) == pytest.approx({one + 1: disks[one] / moved[one] for one in moved})
    assert own["evidence"].unique().to_list() == [workload.evidence]


def test_the_chart_s_rows_are_those_speed_ups(reference: Run) -> None:
    shown = open_shared(reference, "front").exhibit("fig-answer")
    assert isinstance(shown, Figure)
    assert shown.rows.drop("flag").equals(speedups(reference))


@pytest.mark.parametrize(
    ("shares", "scatter", "best"),
    [
        ({TABLES: 0.41, EVERYTHING: 0.40}, 0.001, TABLES),  # less than a twentieth apart: the smaller move
        ({TABLES: 0.45, EVERYTHING: 0.40}, 0.001, EVERYTHING),
        ({TABLES: 0.45, EVERYTHING: 0.40}, 0.2, TABLES),  # the interval of their ratio holds 1
        ({TABLES: 0.97, EVERYTHING: 0.96}, 0.001, None),  # less than a twentieth gained
        ({TABLES: 0.9, EVERYTHING: 0.9}, 0.4, None),  # the interval of the gain holds 1
    ],
)
def test_the_smallest_move_that_is_as_fast_as_the_fastest_is_advised(shares: Mapping[str, float], scatter: float, best: str | None) -> None:
    gains = [
        Gain(name, {replicate: share * (1 + scatter * (-1) ** (replicate + number)) for replicate in REPLICATES}, moved_bytes=number)
        for number, (name, share) in enumerate(shares.items())
    ]
    found = advised(gains)
    assert (found.placement if found else None) == best


@pytest.mark.parametrize(("down", "unclear"), [(0.5, False), (0.8, True)])
def test_a_move_whose_model_interval_contains_1_is_not_advised(down: float, *, unclear: bool) -> None:
    shifts = Shifts(up=0.0, down=down, largest="latency_s", largest_shift=-down, parameters=1)
    gain = Gain(TABLES, {replicate: 0.5 * (1 + 0.001 * (-1) ** replicate) for replicate in REPLICATES}, shifts=shifts)
    assert gain.unclear is unclear
    assert advised([gain]) is (None if unclear else gain)


def test_the_advice_for_a_workload_is_the_same_on_every_page_and_in_the_command(reference: Run) -> None:
    for workload in gather(reference):
        best = chosen(gains_of(workload))
        found = advise(workload, Question(ssd_gib=100), book_of(reference))
        assert found.placement == fixed(workload)[best.placement if best else DISKS]
        assert found.chosen_by is workload.evidence
        assert any("no source states" in warning for warning in found.warnings) is bool(best and best.unclear)


def test_a_run_in_which_nearly_all_is_rejected_shows_no_row_of_its_own(rejected: Run) -> None:
    page = open_shared(rejected, "front")
    assert speedups(rejected).is_empty()
    assert page.own["answered"] is False
    assert page.values["answered"] is True, "the reference run speaks instead"
    assert isinstance(page.exhibit("fig-answer"), Missing)
    assert isinstance(page.exhibit("tbl-answer"), Missing)
    assert all(isinstance(open_shared(rejected, "advice").exhibit(label), Missing) for label in ("tbl-strategies", "tbl-advice-regret"))


def test_rejected_rows_are_counted_by_evidence_and_what_was_rejected_in_all_replicates_by_study(rejected: Run, tmp_path: Path) -> None:
    with open_views(rejected.folder.parent, rejected.run_id) as connection:
        found = {one.evidence: one for one in rejections(connection)}
        assert never_accepted(connection) == {}, "one replicate is clean"
    assert found[Evidence.SIMULATED].rejected == 0
    emulated = found[Evidence.EMULATED]
    assert emulated.rejected / emulated.observations == pytest.approx(0.8, abs=0.01)
    folder = shutil.copytree(rejected.folder, tmp_path / rejected.run_id)
    rows = pl.read_parquet(folder / "timings.parquet")
    trial = rows.filter(study="wal_placement", clock="virtual-several")["trial"][0]
    log = (pl.col("study") == "wal_placement") & (pl.col("trial") == trial)
    rows.with_columns(flags=pl.when(log).then(pl.lit(["cpu"])).otherwise("flags")).write_parquet(folder / "timings.parquet")
    with open_views(tmp_path, rejected.run_id) as connection:
        assert never_accepted(connection) == {"wal_placement": 1}
    assert front.values(open_run(rejected.run_id, tmp_path))["all_rejected"] == 1


def test_the_newest_answer_has_five_lines(reference: Run, rejected: Run) -> None:
    for run in (reference, rejected):
        lines = newest(run)
        assert len(lines) == 5
        assert not any(sign in line for line in lines for sign in ("`", "@sec", "None", "nan"))


def test_readme_has_the_rows_of_the_first_page(reference: Run) -> None:
    table = open_shared(reference, "front").exhibit("tbl-answer")
    assert isinstance(table, Table)
    readme = (paths.home() / "README.md").read_text(encoding="utf-8").splitlines()
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in readme if line.startswith("| ")}
    for workload, *cells, _ in table.rows:
        assert all(cell in rows[workload] for cell in cells), workload


def test_the_cheapest_placement_is_that_of_the_whole_table(reference: Run) -> None:
    """Whole drives and servers cost at least a share of them, and the first page names the least of each pair."""
    whole, least = costs(reference), cheapest(costs(reference))
    assert set(least.columns) == set(whole.columns)
    for row in least.rows(named=True):
        own = whole.filter(workload=row["workload"], pair=row["pair"])
        assert row["shared_usd"] == own["shared_usd"].min()
    assert (whole["whole_usd"] > 0).all()
    assert set(least["pair"]) == set(whole["pair"])


SCRIPT = paths.home() / "scripts" / "recompute_headlines.py"


def test_ten_headline_numbers_are_equal_to_those_that_are_printed(reference: Run) -> None:
    found = runpy.run_path(str(SCRIPT))["headlines"](reference.folder)
    rows = answer.advised(reference).filter(whose=answer.SOURCE_PAIRS)
    printed = {key: cell(one) for key, one in estimates(rows, ["workload", "placement"], "speedup").items()}
    assert len(found) == 10
    assert {key: with_interval(*one) for key, one in found.items()} == {key: printed[key] for key in found}
    table = answer.advised_cells(rows)
    assert table is not None
    assert sum(with_interval(*one) in row[1] for one in found.values() for row in table.rows) >= 5, "the first page has them"


def test_the_script_imports_nothing_of_tierwise() -> None:
    names = re.findall(r"^ *(?:import|from) (\w+)", SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(names) <= {"json", "sys", "pathlib", "numpy", "polars", "scipy"}
