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
from tierwise.advisor.ranking import DISKS, NOTHING, Gain, choice_of, choose, placed
from tierwise.advisor.workload import fixed
from tierwise.analysis.causes import Cause
from tierwise.analysis.model_interval import Shifts
from tierwise.analysis.quality import never_accepted, rejections
from tierwise.analysis.views import open_views
from tierwise.core import paths
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.report.display import Figure, Missing, Table
from tierwise.report.estimates import cell, estimates
from tierwise.report.formats import with_interval
from tierwise.report.page import open_page, open_shared
from tierwise.report.run import Run, book_of, open_run
from tierwise.report.values import answer, front
from tierwise.report.values.answer import SOURCE_PAIRS, TITLES, UNCLEAR
from tierwise.report.values.front import LOG, TOO_SMALL, advice, answers, newest, speedups
from tierwise.report.values.workloads import cheapest, costs, gather, title
from tierwise.studies.wal_placement.reading import log_moves
from tierwise.studies.wal_placement.reading.log_moves import WORKLOADS, WORTH
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
        assert rows[str(workload)][own].split(",")[0] == (best or [f"{UNCLEAR}{one}" for one in unclear] or [NOTHING])[0]
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
    found = choice_of(gains).advised
    assert (found.placement if found else None) == best


@pytest.mark.parametrize(("down", "unclear"), [(0.5, False), (0.8, True)])
def test_a_move_whose_model_interval_contains_1_is_not_advised(down: float, *, unclear: bool) -> None:
    shifts = Shifts(up=0.0, down=down, largest="latency_s", largest_shift=-down, parameters=1)
    gain = Gain(TABLES, {replicate: 0.5 * (1 + 0.001 * (-1) ** replicate) for replicate in REPLICATES}, shifts=shifts)
    assert gain.unclear is unclear
    assert choice_of([gain]).advised is (None if unclear else gain)


def shares(share: float) -> dict[int, float]:
    """Return shares of the time that scatter, those of two placements apart from each other."""
    return {replicate: share * (1 + 0.001 * share * (-1) ** replicate) for replicate in REPLICATES}


def shifted(log_shift: float) -> Shifts:
    return Shifts(0.1, 0.1, "rate", log_shift, 1, by_end={("rate", "high"): log_shift})


A, B = frozenset("a"), frozenset("b")


@pytest.mark.parametrize(
    ("large", "larger_paced", "best", "unclear"),
    [
        (A | B, 0.5, TABLES, False),  # everything by the storage, tables with processors: the tables are part of both
        (A | B, 0.3, EVERYTHING, False),
        (B, 0.5, EVERYTHING, True),  # no move is part of both choices
    ],
)
def test_a_choice_on_slowed_drives_holds_with_the_processors_own_time(
    large: frozenset[str], larger_paced: float, best: str, *, unclear: bool
) -> None:
    gains = [
        Gain(TABLES, shares(0.1), moved_bytes=1, moved=A, paced=shares(0.5)),
        Gain(EVERYTHING, shares(0.05), moved_bytes=2, moved=large, paced=shares(larger_paced)),
    ]
    found = choice_of(gains)
    assert found.gain is not None
    assert (found.gain.placement, found.unclear) == (best, unclear)


def test_a_move_that_gains_only_without_the_processors_time_is_unclear() -> None:
    assert choice_of([Gain(TABLES, shares(0.5), moved=A, paced=shares(1.0))]).unclear


@pytest.mark.parametrize(("larger", "unclear"), [(A | B, False), (B, True)])
def test_one_assumed_parameter_that_turns_the_choice_leaves_the_move_that_both_contain_or_none(
    larger: frozenset[str], *, unclear: bool
) -> None:
    """All moves are much faster than disks at either end of the band, so the model interval of no move contains 1."""
    gains = [
        Gain("small", shares(0.50), moved_bytes=1, moved=A, shifts=shifted(0.0)),
        Gain("large", shares(0.49), moved_bytes=2, moved=larger, shifts=shifted(0.1)),
    ]
    found = choice_of(gains)
    assert found.gain is gains[0]
    assert found.unclear is unclear
    assert not found.gain.unclear


def test_a_model_that_misses_a_stated_time_advises_nothing(reference: Run) -> None:
    gain = Gain(TABLES, shares(0.5), moved=A)
    assert choice_of([gain]).advised is gain
    assert choice_of([gain], misses=True).advised is None
    rested = {claim.pair for claim in reference.verdicts if claim.cause is Cause.STATED_RATE}
    for workload in gather(reference):
        assert workload.misses <= (workload.pair in rested)
    assert any(workload.misses for workload in gather(reference)), "the scan of the survey's disks"
    assert not any(workload.misses for pair in reference.manifest.todays_pairs for workload in gather(reference, only=pair))


@pytest.mark.parametrize(("share", "advised"), [(0.93, False), (0.88, True)])
def test_the_whole_interval_of_the_log_s_gain_must_lie_above_a_tenth(share: float, *, advised: bool) -> None:
    gain = Gain(LOG, shares(share), worth=WORTH)
    assert choice_of([Gain(LOG, shares(share))]).advised, "a twentieth is enough for tables"
    assert bool(choice_of([gain]).advised) is advised


def test_moves_of_the_log_are_held_to_that_bound(reference: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = front.log_moves(reference).filter(workload=WORKLOADS["hdd"])
    assert plain["advised"].all()
    monkeypatch.setattr(log_moves, "WORTH", 1000.0)
    assert not front.log_moves(reference)["advised"].any()


def test_a_log_that_the_move_slows_is_named_after_nothing(reference: Run) -> None:
    rows = answer.advised(reference)
    slowed = rows.filter(placement=LOG, whose="today-server")
    assert slowed.height
    assert (slowed["speedup"] < 1).all()
    table = answer.advised_cells(rows)
    assert table is not None
    row = next(row for row in table.rows if row[0] == slowed["workload"][0])
    assert row[table.header.index(title("today-server"))].startswith(f"{NOTHING}: {LOG}, ")


def test_the_order_is_compared_for_the_same_queries_and_clear_advice_alone(reference: Run) -> None:
    own = answers(reference)
    for pair in reference.manifest.todays_pairs:
        today = answers(reference, pair)
        for name in today["workload"].unique():
            sides = [rows.filter(workload=name) for rows in (own, today)]
            same = sides[0]["queries"].unique().to_list() == sides[1]["queries"].unique().to_list()
            clear = not any(
                rows["unclear"].any() or (isinstance(advice(rows), str) and advice(rows) != NOTHING) for rows in sides if rows.height
            )
            compared = {one["pair"]: one["compared"] for one in front.compared(reference)}[title(pair)]
            assert (name in compared) is (same and clear), name


def test_pgbench_s_text_moves_the_indexes_too_only_where_that_gains_with_the_processors_own_time(reference: Run) -> None:
    page = open_page(reference, "pgbench_placement", "source-v")
    found, text = page.own, page.section("sec-pgbench-placement").text
    low = {name: found[f"all_{name}_low"] for name in ("storage", "processors")}
    assert isinstance(low["storage"], float)
    assert isinstance(low["processors"], float)
    assert found["tables_first"]
    assert found["all_pays"] is (min(low["storage"], low["processors"]) > 1)
    assert ("the indexes as well if" in text) is found["all_pays"]


def test_the_caption_warns_of_a_drive_that_loses_its_data(reference: Run) -> None:
    assert front.values(reference)["lost"] == [title("today-aws")]
    table = open_shared(reference, "front").exhibit("tbl-answer")
    assert isinstance(table, Table)
    assert "stopped machine" in table.caption
    assert any("when the machine stops" in line for line in newest(reference))


def test_the_advice_for_a_workload_is_the_same_on_every_page_and_in_the_command(reference: Run) -> None:
    for workload in gather(reference):
        best = choose(workload)
        found = advise(workload, Question(ssd_gib=100), book_of(reference))
        assert found.placement == fixed(workload)[best.gain.placement if best.gain else DISKS]
        assert found.chosen_by is workload.evidence
        assert any("no source states" in warning for warning in found.warnings) is best.unclear


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
