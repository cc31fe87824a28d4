"""The report as one file: it opens from a disk, draws its charts, hands out what its figures link to, and is not too large to send."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bs4 import BeautifulSoup

from browsing import browsing, look, recalculate
from report_built import Built, placed
from report_run import RUN_ID
from tierwise.core.errors import InputError
from tierwise.report.publish import write_one

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MOST_BYTES = 8_000_000


@pytest.fixture(scope="module")
def one(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with placed(built.root, built.root / "_site"):
        return write_one(tmp_path_factory.mktemp("one") / "report.html")


def test_one_file_is_the_whole_page_under_a_sensible_size(one: Path, built: Built) -> None:
    text = one.read_text(encoding="utf-8")
    assert one.stat().st_size < MOST_BYTES
    assert [path.name for path in one.parent.iterdir()] == ["report.html"]
    assert not re.search(r'src="(?!data:)', text.split("<script>")[0])
    assert '<link rel="stylesheet"' not in text
    page = BeautifulSoup(text, "html.parser")
    assert page.select("main h1")[1:] == built.page.select("section.level1 > h1")
    there = {*json.loads(page.select_one("#files").get_text()), *(f"#{tag['id']}" for tag in page.select("[id]"))}  # type: ignore[union-attr]
    assert {str(tag["href"]) for tag in page.select("a[href]:not([href^='https://'])")} <= there, "no link is dead"
    assert f"tierwise {built.site.name}" in text


def test_it_opens_from_a_disk_with_its_charts_and_hands_out_rows_queries_and_images(one: Path, built: Built, chromium: "Browser") -> None:
    with browsing(chromium, one.as_uri(), 1280, "light") as page:
        assert look(page, one.as_uri(), 1280) == len(built.page.select(".vl-chart"))
        page.locator("#fig-times .figure-menu summary").click()
        for text, file in (("CSV", "rows/fig-times.csv"), ("this script", "queries/fig-times.sql"), ("SVG", "figures/fig-times.svg")):
            with page.expect_download() as handed:
                page.locator("#fig-times .figure-menu a", has_text=text).click()
            assert handed.value.suggested_filename == Path(file).name
            assert Path(handed.value.path()).read_bytes() == (built.site / file).read_bytes()


def test_its_calculator_answers_on_a_phone(one: Path, chromium: "Browser") -> None:
    with browsing(chromium, one.as_uri(), 390, "light") as page:
        assert "--requests 25000" in recalculate(page, f"{one.as_uri()}#sec-calculator")


def test_a_file_that_is_there_is_left_alone(one: Path) -> None:
    with pytest.raises(InputError, match="ONE"):
        write_one(one)
    with pytest.raises(InputError, match=r"ends in \.html"):
        write_one(one.with_suffix(".pdf"))
    assert RUN_ID in one.read_text(encoding="utf-8")
