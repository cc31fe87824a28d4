"""The chapter on costs: its numbers are those of the accounting, and a price moves in the page without a network."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import vl_convert

import cells
from browsing import DRAWN, TOO_WIDE, browsing, hosting
from report_run import RUN_ID, rich_run
from tierwise.core import paths
from tierwise.devices.naming import stems
from tierwise.report.display import Figure, Table
from tierwise.report.notebooks import inert
from tierwise.report.run import Run, answer_of, book_of, open_run
from tierwise.report.theme import VEGA_LITE
from tierwise.studies.ram_or_ssd.reading.money import DISK_NOW, FLASH_NOW, PUBLISHED, per_million, ways
from tierwise.studies.ram_or_ssd.reading.values import open_costs

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PATIENCE_MS = 240_000  # a browser on a machine that does much else


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    raw = tmp_path_factory.mktemp("raw")
    rich_run(raw)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIERWISE_RAW", str(raw))
        opened = open_run(RUN_ID)
        yield opened
        opened.store.close()


@pytest.fixture(scope="module")
def delivered(run: Run) -> dict[str, Any]:
    drawn = cells.drawn("cost", run, "fig-cost-delivered")["fig-cost-delivered"]
    assert isinstance(drawn, Figure)
    return drawn.spec()


def points(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for rows in spec["datasets"].values() for row in rows if "way" in row]


def sliders(spec: dict[str, Any]) -> dict[str, float]:
    return {param["name"].removeprefix("price_"): param["value"] for param in spec["params"] if isinstance(param.get("bind"), dict)}


def test_what_the_sliders_multiply_is_the_bill(run: Run, delivered: dict[str, Any]) -> None:
    """The sum that the page does, with its sliders as they stand, is the cost that the shell would say on the day of the run."""
    book, prices = book_of(run), sliders(delivered)
    for case in PUBLISHED:
        three = ways(case, book, flash=FLASH_NOW, disk=DISK_NOW)
        for way, plan in (("one SSD", three.flash), ("more RAM over a disk", three.memory), ("more disks", three.disks)):
            (row,) = [row for row in points(delivered) if (row["way"], row["ratio"]) == (way, case.data_to_ram)]
            shown = sum(row[item] * value for item, value in prices.items())
            assert shown == pytest.approx(per_million(plan.bill, case.flash.reads_per_s).cost(book))


def digits(value: float) -> int:
    return len(f"{value:.12g}".lstrip("0.").replace(".", ""))


def test_each_slider_stands_at_the_price_that_was_read_and_can_be_moved_both_ways(delivered: dict[str, Any]) -> None:
    binds = {param["name"]: (param["value"], param["bind"]) for param in delivered["params"] if isinstance(param.get("bind"), dict)}
    assert len(binds) == 5
    for value, bind in binds.values():
        assert bind["min"] < value < bind["max"]
        assert value / bind["step"] == pytest.approx(round(value / bind["step"]))
        assert all(digits(place * bind["step"]) <= max(digits(value), 3) + 1 for place in range(1, 100)), "none of noise is shown"
    assert binds["price_ram"][0] == pytest.approx(7.5)  # 240 for 32 GiB, January 2026


@pytest.mark.parametrize("label", cells.labels("cost"))
def test_a_figure_says_run_evidence_and_input(run: Run, label: str) -> None:
    shown = cells.drawn("cost", run, label)[label]
    assert isinstance(shown, Figure)
    assert shown.chart.to_dict()["description"]
    for words in (RUN_ID, "n = ", "data/prices"):
        assert words in shown.caption


def table(run: Run, label: str) -> Table:
    made = open_costs(run).exhibit(label)
    assert isinstance(made, Table)
    return made


def test_the_table_of_devices_names_every_device_those_of_today_first(run: Run) -> None:
    shown = table(run, "tbl-cost-devices")
    order = [row[0].strip("`") for row in shown.rows]
    assert order == [row.device for row in answer_of(run).devices]
    ages = [row.today for row in answer_of(run).devices]
    assert ages == sorted(ages, reverse=True)
    without = [gone.device for gone in answer_of(run).left_out]
    assert sorted([*order, *without]) == stems()
    assert all(f"`{name}`" in shown.caption for name in without)


def test_a_price_of_the_reader_s_moves_the_text_of_a_run_without_reads(run: Run) -> None:
    read, cheap = (open_costs(replace(run, prices=prices)).values for prices in ({}, {"hdd-enterprise": 100}))
    assert read["cost_evidence"] == "published"
    assert float(str(cheap["memory_now"])) < float(str(read["memory_now"]))


def test_in_the_page_a_price_moves_the_answer_offline(delivered: dict[str, Any], tmp_path: Path, chromium: "Browser") -> None:
    theme = paths.home() / "report" / "theme"
    for name in ("report.css", "report.js"):
        shutil.copy(theme / name, tmp_path)
    shutil.copytree(theme / "fonts", tmp_path / "fonts")
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
    (tmp_path / "vega.js").write_text(bundle, encoding="utf-8")
    head = '<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,"><link rel="stylesheet" href="report.css">'
    scripts = '<script src="vega.js"></script><script src="report.js"></script>'
    (tmp_path / "index.html").write_text(f"{head}<body>{inert(delivered, 'still.svg')}{scripts}", encoding="utf-8")
    with hosting(tmp_path) as url, browsing(chromium, url, 390, "light") as page:
        page.set_default_timeout(PATIENCE_MS)
        page.goto(f"{url}/index.html")
        page.wait_for_function(DRAWN)
        assert page.evaluate(TOO_WIDE) == []
        answers = page.locator("svg.marks text").filter(has_text="times as much")
        before = answers.all_text_contents()
        assert before == ["one SSD; more RAM 1.11 times as much; more disks 256 times as much", before[1]]
        dearer = page.locator(".vega-bindings .vega-bind").filter(has_text="SSD, USD per TB").locator("input")
        dearer.evaluate("slider => { slider.value = slider.max; slider.dispatchEvent(new Event('input')); }")
        page.wait_for_function("text => !document.body.innerHTML.includes(text)", arg="more RAM 1.11 times")
        assert answers.count() == len(before)
        assert answers.all_text_contents() != before
