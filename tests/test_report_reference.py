"""The run that ships, shown on a checkout that never measured."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bs4 import BeautifulSoup

from browsing import Scheme, browsing, hosting, look, violations
from report_built import Built, bare, check_pages, page_images, pages, pdf_text, unstamped
from report_run import rich_run
from support import SHIPPED_RUN as FOLDER
from test_report import check_first_page
from test_report_browser import dead_links
from test_report_publish import ORIGIN
from tierwise.core import paths
from tierwise.report import quarto
from tierwise.report.site import PDFS
from tierwise.timings.parts import read_rows

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.soak  # three minutes for its report alone; `make test` looks at a smoke report in the same ways

OUTPUTS = ("work", "raw", "external", "notebooks", "_site", "_build")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("clone") / "tierwise"
    for name in ("data", "report", "docs"):
        shutil.copytree(paths.home() / name, home / name, ignore=shutil.ignore_patterns(*OUTPUTS))
    shutil.copytree(paths.home() / "notebooks", home / "notebooks")
    for name in ("requirements.txt", "CITATION.cff", "LICENSE"):
        shutil.copy(paths.home() / name, home)
    rich_run(home / "data" / "raw")
    yield home
    shutil.rmtree(home)


def command(home: Path, *arguments: str) -> str:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TIERWISE_")}
    environment = {**ours, "TIERWISE_HOME": str(home), "RUN": "reference", "PG_BIN": str(home / "no-server")}
    done = subprocess.run([sys.executable, "-m", "tierwise", *arguments], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def shown(checkout: Path) -> Path:
    before = contents(checkout / "data" / "raw")
    said = command(checkout, "report", "--engine", "plain")
    assert ": measuring;" not in said
    assert contents(checkout / "data" / "raw") == before, "a reader's own rows are left alone"
    return checkout / "report" / "_site" / "latest"


def check_stamps(page: BeautifulSoup) -> None:
    """Check that the chapter about the report and captions say whose rows they show, of which machine and date."""
    front = page.find(id="sec-about")
    assert front is not None
    shown_text = " ".join(front.get_text(" ").split())
    assert f"{FOLDER.name} (reference run)" in shown_text
    assert f"Those of the reference run , which ships with tierwise: of {ORIGIN}. Nothing was measured for this report." in shown_text


def test_the_reference_is_shown_without_measuring_and_every_stamp_says_so(shown: Path, chromium: "Browser") -> None:
    page = Built(shown, shown, shown).page
    check_stamps(page)
    assert unstamped(page) == set()
    figures = page.select("figure.fig figcaption")
    assert len(figures) >= 8
    for caption in figures:
        assert f"Reference run {FOLDER.name} ({ORIGIN})" in " ".join(caption.get_text().split())
    for name in PDFS.values():
        assert bare(f"{FOLDER.name} (reference run)") in pdf_text(shown, name=name)
        check_pages(shown / name)
    with browsing(chromium, "file:", 1280, "light") as browser:
        assert sum(look(browser, path.as_uri(), 1280) for path in pages(shown)) == len(figures)


@pytest.mark.parametrize(("width_px", "scheme"), [(1280, "light"), (390, "dark")])
def test_its_pages_have_no_violation_of_accessibility(shown: Path, chromium: "Browser", width_px: int, scheme: Scheme) -> None:
    check_accessible(shown, chromium, width_px, scheme)


def check_accessible(shown: Path, chromium: "Browser", width_px: int, scheme: Scheme, *, every: bool = False) -> None:
    with browsing(chromium, "file:", width_px, scheme) as browser:
        for page in (*pages(shown), shown.parent / "index.html"):
            look(browser, page.as_uri(), width_px)
            assert violations(browser, every=every) == [], page.name


CONTENTS = "#contents > summary"
QUESTIONS = {  # question of a new reader -> clicks from the first page, where they lead, and what stands there or is handed out
    "Tables or indexes first?": ((), "#tbl-answer", "tables"),
    "Which placement for a load like mine?": (("#sec-answer a[href='show-advice.html#sec-conclusion']",), "#sec-conclusion", "cost"),
    "More RAM or more flash?": (("#sec-answer a[href='show-cost.html#sec-cost']",), "#sec-cost", r"\d\.\d+ times"),
    "How sure is that?": (("#sec-answer a[href='show-summary.html#sec-summary']",), "#sec-summary", r"\d+ published statements hold"),
    "What would change it?": (("#contents a[href='show-ledger.html']",), "#sec-ledger", "bound"),
    "How do I reproduce it?": (("#sec-answer a[href='show-provenance.html#sec-provenance']",), "#sec-provenance", "To reproduce"),
    "Where is the raw data?": (
        ("#fig-answer .figure-menu > summary", "#fig-answer .figure-menu a[href='rows/fig-answer.csv']"),
        "#fig-answer",
        "fig-answer.csv",
    ),
    "How do I cite it?": (("#contents a[href='about.html#sec-cite']",), "#sec-cite", r"@misc\{tierwise-"),
}


@pytest.mark.parametrize("width_px", [1280, 390])
def test_the_first_page_answers_each_question_within_two_clicks(shown: Path, chromium: "Browser", width_px: int) -> None:
    handed: list[str] = []
    with hosting(shown) as url, browsing(chromium, url, width_px, "light") as page:
        page.on("download", lambda file: handed.append(file.suggested_filename))
        for question, (clicks, place, shown_text) in QUESTIONS.items():
            look(page, f"{url}/index.html", width_px)
            folded = any(click.startswith("#contents") for click in clicks) and page.locator("#contents[open]").count() == 0
            path = [*([CONTENTS] if folded else []), *clicks]
            assert len(path) <= 2, question
            for click in path:
                page.locator(click).first.click()
            page.wait_for_function(
                "(at) => { const box = document.querySelector(at).getBoundingClientRect(); return box.bottom > 0 && box.top < innerHeight}",
                arg=place,
            )
            page.wait_for_timeout(500)
            said = " ".join([*page.locator(place).inner_text().split(), *handed])
            assert re.search(shown_text, said), question


def test_its_first_page_is_small(shown: Path) -> None:
    check_first_page(shown)


def test_the_paper_of_the_reference_has_at_most_twelve_pages(shown: Path) -> None:
    assert len(page_images(shown / PDFS["paper"])) <= 12


def test_it_is_published_as_a_workflow_does(checkout: Path, shown: Path) -> None:
    assert "nothing changed since this version was built" in command(checkout, "report", "--engine", "plain")
    command(checkout, "publish", str(checkout / "public"))
    assert dead_links(checkout / "public") == []
    run = (checkout / "public" / "run").rename(checkout / "public" / FOLDER.name)
    assert read_rows(run).equals(read_rows(FOLDER))
    assert "reference run" in (shown.parent / "index.html").read_text(encoding="utf-8")


def test_quarto_shows_it_as_well(checkout: Path, shown: Path) -> None:
    if not quarto.usable():
        pytest.skip("no Quarto that typesets by Typst is on PATH, so its route cannot be run (make quarto tries to install it)")
    command(checkout, "report", "--engine", "quarto")
    check_stamps(Built(shown, shown, shown).page)
