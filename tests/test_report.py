"""The whole chain on a fabricated run: notebooks by papermill, page and PDF by either engine, the pages in a browser."""

import re
import shutil
import subprocess
import unicodedata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup

from browsing import Scheme, browsing, hover, look, serving
from report_run import RUN_ID, execute, rich_run
from tierwise.core import paths
from tierwise.core.errors import InputError, MissingError
from tierwise.report import quarto
from tierwise.report.render import render

CHAPTERS = sorted((paths.home() / "notebooks").glob("show-*.ipynb"))
CAPTION = "figure.{kind} figcaption strong:first-child"

# What both engines' pages must say alike, in this order.
TOLD = {
    "charts": ".vl-chart script",
    "headings": "h1, h2, h3",
    "captions": "figcaption",
    "prose": "p, li",
    "cells": "th, td",
    "references": "a.xref, a.quarto-xref",
    "citations": "[data-cites]",
    "sources": "#refs:not([style]) .csl-entry",
    "formulas": "annotation",
    "verdicts": ".verdict",
    "links": "a[href^='sql/'], a[href^='http']",
}


@dataclass(frozen=True)
class Built:
    """A built report, what it was built from, and where."""

    root: Path
    executed: Path
    site: Path

    @property
    def html(self) -> str:
        return (self.site / "index.html").read_text(encoding="utf-8")

    @property
    def page(self) -> BeautifulSoup:
        return BeautifulSoup(self.html, "html.parser")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    root = tmp_path_factory.mktemp("report")
    rich_run(root / "raw")
    executed = root / "executed"
    executed.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIERWISE_RAW", str(root / "raw"))
        patch.setenv("TIERWISE_SITE", str(root / "_site"))
        with ThreadPoolExecutor(2) as two:
            for done in two.map(partial(execute, folder=executed, RUN_ID=RUN_ID), CHAPTERS):
                assert done.returncode == 0, done.stderr
        yield Built(root, executed, render(run_id=RUN_ID, executed=executed, engine="plain"))


def bare(text: str) -> str:
    """Without white space and hyphens, which a PDF sets as it likes."""
    return re.sub(r"[\s\u00ad\u2010-]+", "", unicodedata.normalize("NFKC", text))


def pdf_text(site: Path) -> str:
    """The PDF's bare text, without headers and footers."""
    if not shutil.which("pdftotext"):
        pytest.skip("pdftotext is not installed (Debian: poppler-utils), so the PDF's text cannot be compared")
    command = ["pdftotext", "-raw", str(site / "tierwise.pdf"), "-"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return bare(re.sub(r"\ntierwise\s.*\n|\n\d+ / \d+\n", "\n", text))


def test_the_site_stands_under_its_version_and_latest_names_it(built: Built) -> None:
    assert re.fullmatch(rf"\d{{4}}-\d\d-\d\d-.+-{RUN_ID}", built.site.name)
    assert (built.root / "_site" / "latest").resolve() == built.site
    assert sorted(path.name for path in built.site.iterdir()) == ["assets", "figures", "index.html", "sql", "tierwise.pdf"]


def test_the_front_page_names_engine_run_version_date_and_substrate(built: Built) -> None:
    front = built.page.find(id="this-report")
    assert front is not None
    told = " ".join(front.get_text(" ").split())
    for fact in ("Pandoc 3", "Typst 0", RUN_ID, built.site.name, built.site.name[:10], "emulated", "synthetic"):
        assert fact in told


def test_each_figure_has_its_chart_and_a_caption_with_run_substrate_n_and_query(built: Built) -> None:
    figures = built.page.select("figure.fig")
    assert len(figures) == len(built.page.select(".vl-chart")) >= 3
    for figure in figures:
        assert len(figure.select(".vl-chart script")) == 1
        caption = figure.select_one("figcaption")
        assert caption is not None
        told = caption.get_text()
        assert RUN_ID in told
        assert "emulated" in told
        assert re.search(r"n = [\d,]+ ", told)
        link = caption.select_one("a[href^='sql/']")
        assert link is not None
        assert (built.site / str(link["href"])).is_file()


def test_captions_are_numbered_in_order_and_labels_are_unique(built: Built) -> None:
    for kind, name in (("fig", "Figure"), ("tbl", "Table")):
        captions = [tag.get_text() for tag in built.page.select(CAPTION.format(kind=kind))]
        assert len(captions) == len(built.page.select(f"figure.{kind}"))
        assert all(re.fullmatch(rf"{name}\s\d\.\d+\.", caption) for caption in captions), captions
        numbers = [tuple(map(int, re.findall(r"\d+", caption))) for caption in captions]
        for before, after in zip([(0, 0), *numbers], numbers, strict=False):
            assert after in {(before[0], before[1] + 1), *((chapter, 1) for chapter in range(before[0] + 1, 9))}
    ids = [tag["id"] for tag in built.page.select("[id]")]
    assert len(ids) == len(set(ids))


def test_every_reference_is_resolved(built: Built) -> None:
    ids = {tag["id"] for tag in built.page.select("[id]")}
    targets = [str(link["href"]) for link in built.page.select("main a[href^='#']")]
    assert len(targets) >= 8
    assert {target[1:] for target in targets} <= ids
    assert not re.search(r"@(fig|tbl|sec)-|\?\?|\{\{<", built.page.get_text())


def test_nothing_is_loaded_from_a_network(built: Built) -> None:
    loaded = [tag.get("src") or tag.get("href") for tag in built.page.select("script[src], link[href], img[src], iframe[src]")]
    assert loaded
    for name in map(str, loaded):
        assert name.startswith("data:") or (built.site / name).is_file(), name
    for sheet in (built.site / "assets").glob("*.css"):
        for name in re.findall(r"url\([\"']?([^\"')]+)", sheet.read_text(encoding="utf-8")):
            assert (sheet.parent / name).is_file(), name


def test_no_path_of_this_machine_is_shown(built: Built) -> None:
    for folder in (paths.home(), built.root):
        assert str(folder) not in built.html


def test_the_claims_table_shows_every_verdict_of_the_run(built: Built) -> None:
    rows = {row.select("td")[0].get_text(): row for row in built.page.select("#tbl-claims tbody tr")}
    verdicts = {claim: mark.get_text() for claim, row in rows.items() if (mark := row.select_one(".verdict"))}
    assert {claim: verdict for claim, verdict in verdicts.items() if claim.startswith("M")} == {
        "M1": "contradicted",
        "M2": "undecided",
        "M3": "contradicted",
        "M4": "confirmed",
        "M5": "confirmed",
        "M6": "reported",
    }


def test_assumed_parameters_are_marked(built: Built) -> None:
    table = built.page.select_one("#tbl-parameters")
    assert table is not None
    assumed = len(table.select("tbody .verdict.assumed"))
    assert assumed >= 1
    assert f"of which {assumed} are assumed" in " ".join(table.get_text().split())


def test_the_pdf_says_what_the_page_says(built: Built) -> None:
    pdf = pdf_text(built.site)
    cells = {tag.get_text() for tag in built.page.select("td, th")}
    captions = {tag.get_text() for kind in ("fig", "tbl") for tag in built.page.select(CAPTION.format(kind=kind))}
    headings = {tag.get_text(" ") for tag in built.page.select("section h1, section h2")}
    for words in (word for text in cells for word in text.split()):
        assert bare(words) in pdf, words
    for text in captions | headings:
        assert bare(text) in pdf, text


def test_a_second_build_is_the_same_and_takes_the_first_one_s_place(built: Built) -> None:
    before = {path.relative_to(built.site): path.read_bytes() for path in built.site.rglob("*") if path.is_file()}
    again = render(run_id=RUN_ID, executed=built.executed, engine="plain")
    assert {path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()} == before
    assert sorted(path.name for path in (built.root / "_site").iterdir()) == sorted([built.site.name, "latest"])


def test_a_build_that_fails_leaves_no_trace(built: Built, tmp_path: Path) -> None:
    for notebook in built.executed.glob("*.ipynb"):
        if notebook.stem != "show-provenance":
            shutil.copy(notebook, tmp_path)
    before = built.html
    with pytest.raises(MissingError, match="chapter show-provenance"):
        render(run_id=RUN_ID, executed=tmp_path, engine="plain")
    assert built.html == before
    assert list((built.root / "_build").iterdir()) == []


def test_an_unknown_engine_is_refused(built: Built) -> None:
    with pytest.raises(InputError, match="must be one of auto, quarto, plain"):
        render(run_id=RUN_ID, executed=built.executed, engine="latex")


def test_quarto_is_asked_for_where_it_is_absent(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingError, match="ENGINE=plain"):
        render(run_id=RUN_ID, executed=built.executed, engine="quarto")


@pytest.mark.parametrize("width_px", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_draws_every_chart_and_nothing_is_cut_off(built: Built, width_px: int, scheme: Scheme) -> None:
    with browsing("file:", width_px, scheme) as page:
        assert look(page, (built.site / "index.html").as_uri(), width_px) >= 3
        hover(page)


@pytest.fixture(scope="module")
def by_quarto(built: Built) -> Built:
    """The same report by Quarto, beside the plain one."""
    if not quarto.usable():
        pytest.skip("no Quarto that typesets by Typst is on PATH, so its route cannot be run (environment.yml names it)")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIERWISE_SITE", str(built.root / "quarto" / "_site"))
        return Built(built.root, built.executed, render(run_id=RUN_ID, executed=built.executed, engine="quarto"))


def told(site: Path, kind: str) -> list[str]:
    """The texts of one kind, in the book's order, without the engine's name."""
    chapters = yaml.safe_load((paths.home() / "report" / "_quarto.yml").read_text(encoding="utf-8"))["book"]["chapters"]
    pages = [page for chapter in chapters if (page := site / chapter.replace(".qmd", ".html")).is_file()]
    tags = [tag for page in pages for tag in BeautifulSoup(page.read_bytes(), "html.parser").select(f"main :is({TOLD[kind]})")]
    texts = (" ".join(unicodedata.normalize("NFKC", tag.get_text()).split()) for tag in tags if not tag.find_parent("footer"))
    return [re.sub(r"(?<=\d, by ).*", "", text) for text in texts]


@pytest.mark.parametrize("kind", TOLD)
def test_quarto_s_pages_say_what_the_plain_page_says(built: Built, by_quarto: Built, kind: str) -> None:
    plain = told(built.site, kind)
    assert len(plain) >= 3
    assert told(by_quarto.site, kind) == plain


def test_quarto_s_pdf_says_what_the_plain_pdf_says(built: Built, by_quarto: Built) -> None:
    plain, other = (re.sub(r"(?<=,by).*?(?=Version)", "", pdf_text(site)) for site in (built.site, by_quarto.site))
    assert other == plain


@pytest.mark.parametrize("width_px", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_draws_every_chart_of_quarto_s_pages(built: Built, by_quarto: Built, width_px: int, scheme: Scheme) -> None:
    with serving(by_quarto.site) as url, browsing(url, width_px, scheme) as page:
        names = sorted(path.name for path in by_quarto.site.glob("*.html"))
        assert sum(look(page, f"{url}/{name}", width_px) for name in names) == len(built.page.select(".vl-chart"))
        look(page, f"{url}/show-index_placement.html", width_px)
        hover(page)
