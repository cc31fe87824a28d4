"""One report built for a whole test session, by either engine, and what its PDF says."""

import re
import shutil
import subprocess
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
import yaml
from bs4 import BeautifulSoup
from numpy.typing import NDArray

from report_run import RUN_ID, rich_run, show
from tierwise.core import paths
from tierwise.report import quarto
from tierwise.report.render import render
from tierwise.report.site import PDFS

CHAPTERS = sorted((paths.home() / "notebooks").glob("show-*.ipynb"))


FIGURES = "figure.fig:has(.vl-chart)"  # the figures that a run has rows for; where it has none, a sentence stands in the chart's place
MARGIN_MM = 20
INK = 0.85  # brightness below which a dot of a page is printed on


@dataclass(frozen=True)
class Built:
    root: Path
    executed: Path
    site: Path

    @property
    def html(self) -> str:
        return "".join(page.read_text(encoding="utf-8") for page in pages(self.site))

    @cached_property
    def page(self) -> BeautifulSoup:
        return BeautifulSoup(self.html, "html.parser")


def pages(site: Path) -> list[Path]:
    chapters = yaml.safe_load((paths.home() / "report" / "_quarto.yml").read_text(encoding="utf-8"))["book"]["chapters"]
    return [site / chapter.replace(".qmd", ".html") for chapter in chapters]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    root = tmp_path_factory.mktemp("report")
    rich_run(root / "raw")
    executed = root / "executed"
    executed.mkdir()
    with placed(root, root / "_site"):
        show(executed, *CHAPTERS)
        return Built(root, executed, render(run_id=RUN_ID, executed=executed, engine="plain"))


@contextmanager
def placed(root: Path, site: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIERWISE_RAW", str(root / "raw"))
        patch.setenv("TIERWISE_SITE", str(site))
        yield


NO_RESULTS = {  # tables without their own stamp, and why
    **dict.fromkeys(("tbl-run", "tbl-tiers", "tbl-origin"), "what was requested, and where"),
    "tbl-rule-changes": "rules and their days; what had been seen is quoted",
}


def unstamped(page: BeautifulSoup) -> set[str]:
    """Labels of the figures and tables with a number that neither their caption nor a column says the origin of."""
    found = set()
    for part in page.select(f"{FIGURES}, figure.tbl:has(table)"):
        columns = {cell.get_text() for cell in part.select("th")} & {"Evidence", "Source"}
        if re.search(r"\d", part.get_text()) and not part.select("figcaption .evidence") and not columns:
            found.add(str(part["id"]))
    return found - set(NO_RESULTS)


@pytest.fixture
def in_place(built: Built) -> Iterator[Built]:
    with placed(built.root, built.root / "_site"):
        yield built


@pytest.fixture(scope="session")
def by_quarto(built: Built) -> Built:
    if not quarto.usable():
        pytest.skip("no Quarto that typesets by Typst is on PATH, so its route cannot be run (make quarto tries to install it)")
    with placed(built.root, built.root / "quarto" / "_site"):
        return Built(built.root, built.executed, render(run_id=RUN_ID, executed=built.executed, engine="quarto"))


def bare(text: str) -> str:
    """Strip white space and hyphens, which a PDF sets as it likes."""
    return re.sub(r"[\s\u00ad\u2010-]+", "", unicodedata.normalize("NFKC", text))


def pdf_text(site: Path, *pages: str, name: str = PDFS["annex"]) -> str:
    """Return the bare text of the PDF `name`, without headers and footers; `pages` as pdftotext takes them."""
    if not shutil.which("pdftotext"):
        pytest.skip("pdftotext is not installed (Debian: poppler-utils), so the PDF's text cannot be compared")
    command = ["pdftotext", "-raw", *pages, str(site / name), "-"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return bare(re.sub(r"[\n\f]tierwise\s.*\n|\n\d+ / \d+\n", "\n", text))


def page_images(pdf: Path) -> list[NDArray[np.float64]]:
    if not shutil.which("pdftoppm"):
        pytest.skip("pdftoppm is not installed (Debian: poppler-utils), so the PDF's pages are not looked at")
    said = subprocess.run(["pdftoppm", "-gray", "-r", "60", str(pdf)], capture_output=True, check=True).stdout
    images = []
    while said:
        magic, size, deepest, rest = said.split(b"\n", 3)
        width, height = map(int, size.split())
        assert (magic, deepest) == (b"P5", b"255")
        images.append(np.frombuffer(rest[: width * height], np.uint8).reshape(height, width) / 255)
        said = rest[width * height :]
    return images


def check_pages(pdf: Path) -> None:
    """No page of `pdf` is empty, and nothing runs over the edges of its text, the page number's corner apart."""
    images = page_images(pdf)
    assert len(images) >= 6
    for number, image in enumerate(images, 1):
        height, width = image.shape
        margin = round(MARGIN_MM * width / 210)
        ink = image < INK
        body = ink[margin : height - margin]
        assert not ink[:, :margin].any(), f"page {number}: ink in the left margin"
        assert not ink[:, width - margin :].any(), f"page {number}: ink in the right margin"
        assert not ink[height - margin :, : width // 2].any(), f"page {number}: ink below the text"
        least = 0.02 if number < len(images) else 0.0  # the last one has what is left
        assert np.flatnonzero(body.any(axis=1)).size > least * body.shape[0], f"page {number} is as good as empty"
