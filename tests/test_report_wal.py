"""The chapter on the log's place shows what its rows say, and says so where there are too few."""

from pathlib import Path

import pytest

from cells import drawn
from rows import save_run
from tierwise.core.pairs import load_pair
from tierwise.report.display import Figure, Missing, Table
from tierwise.report.estimates import estimates
from tierwise.report.formats import DASH
from tierwise.report.page import Page, open_page
from tierwise.report.run import open_run
from tierwise.studies.wal_placement.reading.figures.wal_rates import PANELS
from tierwise.studies.wal_placement.reading.names import COLOURS, PAIR, PLACES
from tierwise.timings.manifest import load_manifest
from wal_rows import RATES, SLOWDOWN, Case, wal_rows


def opened(raw: Path, monkeypatch: pytest.MonkeyPatch, *, replicates: int = 5, flags: dict[Case, str] | None = None) -> Page:
    monkeypatch.setenv("TIERWISE_RAW", str(raw))
    folder = save_run(raw, wal_rows(replicates=replicates, flags=flags))
    manifest = load_manifest(folder)
    manifest.model_copy(update={"pairs": {PAIR: load_pair(PAIR).model_dump(mode="json")}}).save(folder)
    return open_page(open_run(folder.name), "wal_placement", PAIR)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    return opened(tmp_path, monkeypatch)


def cells(page: Page, label: str) -> list[list[str]]:
    made = page.exhibit(label)
    assert isinstance(made, Table), made
    return [list(row) for row in made.rows]


def rates(page: Page) -> Figure:
    made = page.exhibit("fig-wal-rates")
    assert isinstance(made, Figure)
    return made


def marks(page: Page) -> set[str]:
    return {layer["mark"]["type"] for layer in rates(page).chart.to_dict()["vconcat"][0]["layer"]}


def test_a_ratio_is_that_of_the_windows_of_one_replicate_at_the_same_load(page: Page) -> None:
    found = estimates(page.rows("tbl-wal-ratios"), ["clients", "group_commit", "wal", "over"])
    over_disks = {key[:2]: one for key, one in found.items() if key[2:] == ("ssd", "hdd")}
    assert list(over_disks) == [(1, "off"), (8, "off"), (8, "on")]
    for (clients, grouped), one in over_disks.items():
        assert one.value == pytest.approx(RATES["ssd", clients, grouped] / RATES["hdd", clients, grouped], rel=0.01)
        assert one.repeats == 5
        low, high = one.interval or (0.0, 0.0)
        assert low < (one.value or 0.0) < high
    assert page.values["delay_most"] == pytest.approx(2.0, rel=0.01)
    assert page.values["slowdown"] == SLOWDOWN
    delay = {name: page.values[f"delay_{name}"] for name in ("cases", "faster", "slower", "disks")}
    assert delay == {"cases": 2, "faster": 1, "slower": 1, "disks": True}
    ends = [page.values[f"delay_{name}"] for name in ("low", "least", "most", "high")]
    assert ends == sorted(ends), "the intervals enclose the ratios"  # type: ignore[type-var]  # numbers all


def test_a_run_of_one_replicate_draws_no_median_and_has_no_answer(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    single = opened(tmp_path / "single", monkeypatch, replicates=1)
    assert "line" in marks(page)
    assert "line" not in marks(single)
    assert isinstance(single.exhibit("tbl-wal-ratios"), Missing)
    assert single.own["answered"] is False
    assert single.values["answered"] is True, "the reference run speaks instead"


def test_the_table_shows_ratios(page: Page) -> None:
    table = cells(page, "tbl-wal-ratios")
    assert [row[:2] for row in table] == [["1", "0"], ["8", "0"], ["8", "half a flush"]]
    assert table[0][2].startswith(("50.", "51."))
    assert table[2][3:] == [DASH, DASH]


def test_the_table_of_time_has_a_row_for_each_place_and_load(page: Page) -> None:
    table = {tuple(row[:3]): row[3:] for row in cells(page, "tbl-wal-time")}
    assert len(table) == len(RATES)
    assert table["cache", "8", "0"] == ["10", "0", "0", "90", "0", "0", "0", "0", "cache 80"]


def test_the_chart_has_a_dot_for_every_window_and_a_panel_without_group_commit_and_with(page: Page) -> None:
    figure = rates(page)
    assert figure.rows.height == 5 * len(RATES)
    assert f"n = {5 * len(RATES)} windows" in figure.caption
    image = figure.bundle()["image/svg+xml"]
    assert all(title in image for title in PANELS.values())


def test_the_places_that_are_requested_keep_their_marks(page: Page) -> None:
    figure = drawn("wal_placement", page.run, PLACES=["cached", "ssd"])["fig-wal-rates"]
    assert isinstance(figure, Figure)
    assert set(figure.rows["wal"]) == {"cached", "ssd"}
    scale = figure.chart.to_dict()["vconcat"][0]["layer"][1]["encoding"]["color"]["scale"]
    assert scale == {"domain": [PLACES["cached"], PLACES["ssd"]], "range": [COLOURS["cached"], COLOURS["ssd"]]}


def test_rejected_windows_are_counted_and_give_no_ratio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = opened(tmp_path, monkeypatch, flags={("ssd", 8, "off"): "cpu"})
    figure = rates(page)
    assert (figure.rows["flag"] == "cpu").sum() == 5
    assert f"n = {(figure.rows['flag'] == 'none').sum()} windows" in figure.caption
    (row,) = (row for row in cells(page, "tbl-wal-ratios") if row[:2] == ["8", "0"])
    assert row[2] == DASH
