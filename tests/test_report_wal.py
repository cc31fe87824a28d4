"""The chapter on the log's place says what its rows say, by fixed rules, and says so where there are too few."""

from pathlib import Path

import pytest

from cells import drawn
from rows import make_run, save_run
from tierwise.analysis.statistics import Estimate
from tierwise.core.pairs import load_pair
from tierwise.report.checks import check_chart
from tierwise.report.display import Figure, Sentence, Table
from tierwise.report.formats import DASH
from tierwise.report.run import Run, open_run
from tierwise.studies.wal_placement.reading import chapter, figures, ratios
from tierwise.timings.manifest import load_manifest
from wal_rows import FLUSHES, RATES, Case, wal_rows

PAIR = chapter.PAIR


def opened(raw: Path, monkeypatch: pytest.MonkeyPatch, *, replicates: int = 5, flags: dict[Case, str] | None = None) -> Run:
    monkeypatch.setenv("TIERWISE_RAW", str(raw))
    folder = save_run(raw, wal_rows(replicates=replicates, flags=flags))
    manifest = load_manifest(folder)
    manifest.model_copy(update={"pairs": {PAIR: load_pair(PAIR).model_dump(mode="json")}}).save(folder)
    return open_run(folder.name)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    return opened(tmp_path, monkeypatch)


def cells(made: Table | Sentence) -> list[list[str]]:
    assert isinstance(made, Table), made
    return [list(row) for row in made.rows]


def rates(run: Run) -> Figure | Sentence:
    return drawn("wal_placement", run)["fig-wal-rates"]


def test_a_ratio_is_that_of_the_windows_of_one_replicate_at_the_same_load(run: Run) -> None:
    found = ratios.of_places(run, PAIR, "ssd", "hdd")
    assert list(found) == [(1, "off"), (8, "off"), (8, "on")]
    for (clients, grouped), one in found.items():
        assert one.value == pytest.approx(RATES["ssd", clients, grouped] / RATES["hdd", clients, grouped], rel=0.01)
        assert one.repeats == 5
        low, high = one.interval or (0.0, 0.0)
        assert low < (one.value or 0.0) < high
    assert list(ratios.of_places(run, PAIR, "ssd", "cached")) == [(1, "off"), (8, "off")]
    (delayed,) = ratios.of_delay(run, PAIR, "hdd").values()
    assert delayed.value == pytest.approx(2.0, rel=0.01)


def test_a_run_of_one_replicate_draws_no_median_and_its_caption_names_none(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    single = rates(opened(tmp_path / "single", monkeypatch, replicates=1))
    assert isinstance(single, Figure)
    check_chart(single.chart.to_dict(), single.caption, "fig-wal-rates")
    assert "median" not in single.caption
    whole = rates(run)
    assert isinstance(whole, Figure)
    assert "lines join the medians of 5 clean ones or more" in whole.caption


@pytest.mark.parametrize(
    ("interval", "word"),
    [
        ((1.2, 1.4), "pays"),
        ((1.0, 1.2), "open"),
        ((0.95, 1.05), "equal"),
        ((0.5, 0.8), "costs"),
        ((0.5, 2.0), "open"),
        ((0.85, 0.99), "costs"),
    ],
)
def test_an_interval_is_read_by_a_rule(interval: tuple[float, float], word: str) -> None:
    assert ratios.word(Estimate(1.0, *interval, repeats=5)) == word


def test_the_tables_tell_ratios_commits_a_flush_and_what_a_commit_a_second_costs(run: Run) -> None:
    table = cells(chapter.ratios(run, PAIR))
    assert [row[:2] for row in table] == [["1", "0"], ["8", "0"], ["8", "half a flush"]]
    assert table[0][2].startswith("50.") or table[0][2].startswith("51.")
    assert table[2][3:] == [DASH, DASH]
    groups = {tuple(row[:3]): row for row in cells(chapter.groups(run, PAIR))}
    assert groups["8", "0", "disks"][5] == f"{1 / FLUSHES[8]:.2f}"
    assert groups["8", "half a flush", "disks"][7].startswith(("1.99 (", "2.00 (", "2.01 ("))
    milliseconds = float(groups["1", "0", "disks"][4].split("\N{NO-BREAK SPACE}")[0])
    assert milliseconds == pytest.approx(1e3 / RATES["hdd", 1, "off"], rel=0.02), "a client waits for one transaction at a time"
    costs = cells(chapter.costs(run, PAIR))
    assert {row[1] for row in costs} == {"disks", "SSD"}, "no price of a cache with a battery was read"
    of_one = {row[1]: float(row[4].replace(",", "")) for row in costs if row[0] == "1"}
    assert of_one["disks"] > of_one["SSD"]
    assert "older than a year" in chapter.prices(run, PAIR).text or chapter.prices(run, PAIR).text == ""


def test_the_chart_has_a_dot_for_every_window_and_a_panel_without_group_commit_and_with(run: Run) -> None:
    figure = rates(run)
    assert isinstance(figure, Figure)
    assert figure.rows.height == 5 * len(RATES)
    assert f"n = {5 * len(RATES)} windows" in figure.caption
    image = figure.bundle()["image/svg+xml"]
    assert all(title in image for title in figures.GROUPED.values())


def test_the_places_that_are_requested_keep_their_marks(run: Run) -> None:
    figure = drawn("wal_placement", run, PLACES=["cached", "ssd"])["fig-wal-rates"]
    assert isinstance(figure, Figure)
    assert set(figure.rows["wal"]) == {"cached", "ssd"}
    scale = figure.chart.to_dict()["vconcat"][0]["layer"][1]["encoding"]["color"]["scale"]
    assert scale == {
        "domain": [figures.PLACES["cached"], figures.PLACES["ssd"]],
        "range": [figures.COLOURS["cached"], figures.COLOURS["ssd"]],
    }


def test_below_five_clean_repeats_there_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = opened(tmp_path, monkeypatch, replicates=4)
    assert "**No answer yet**" in chapter.answer(few, PAIR).text
    for made in (chapter.ratios(few, PAIR), chapter.groups(few, PAIR), chapter.costs(few, PAIR)):
        assert isinstance(made, Sentence)
        assert "an answer needs 5 clean repeats" in made.text


def test_a_case_whose_windows_are_flagged_is_left_out_and_ringed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = opened(tmp_path, monkeypatch, flags={("ssd", 8, "off"): "cpu"})
    found = ratios.of_places(busy, PAIR, "ssd", "hdd")
    assert (found[8, "off"].value, found[8, "off"].repeats) == (None, 0)
    assert found[1, "off"].value is not None
    assert "with 8 clients" not in chapter.answer(busy, PAIR).text.split("\n\n")[0]
    figure = rates(busy)
    assert isinstance(figure, Figure)
    assert (figure.rows["flag"] == "cpu").sum() == 5


def test_a_run_without_the_study_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path))
    other = open_run(make_run(tmp_path).name)
    for made in (chapter.answer(other, PAIR), rates(other), chapter.ratios(other, PAIR), chapter.costs(other, PAIR)):
        assert isinstance(made, Sentence)
        assert "It measured nothing there." in made.text
    assert "TIERS=local" in chapter.here(other).text
