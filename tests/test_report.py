"""The whole chain on a fabricated run: notebooks, page and PDF by either engine."""

import csv
import re
import shutil
import unicodedata
from pathlib import Path

import polars as pl
import pytest
from bs4 import BeautifulSoup

from report_built import FIGURES, Built, bare, pages, pdf_text, placed, unstamped
from report_run import RUN_ID
from tierwise.core.errors import InputError, MissingError
from tierwise.report.display import LONG
from tierwise.report.exhibit_registry import find
from tierwise.report.page import open_shared
from tierwise.report.render import render
from tierwise.report.run import open_run
from tierwise.report.site import PDFS, QUARTO

CAPTION = "figure.{kind} figcaption strong:first-child"

# What both engines' pages must say alike, in this order.
TEXTS = {
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
    "links": "a[href^='sql/'], a[href^='rows/'], a[href^='http']",
    "stamps": ".evidence",
}


def test_the_site_stands_under_its_version_and_latest_names_it(built: Built) -> None:
    assert re.fullmatch(rf"\d{{4}}-\d\d-\d\d-.+-{RUN_ID}", built.site.name)
    assert (built.root / "_site" / "latest").resolve() == built.site


def test_the_last_pages_name_engine_run_version_date_and_evidence(built: Built) -> None:
    about = built.page.find(id="sec-about")
    assert about is not None
    shown = " ".join(about.get_text(" ").split())
    for fact in ("Pandoc 3", "Typst 0", RUN_ID, built.site.name, built.site.name[:10], "emulated", "synthetic"):
        assert fact in shown


def test_the_first_screen_is_the_answer(built: Built) -> None:
    first = built.page.select("main section")[0]
    assert first["id"] == "sec-answer"
    assert first.select_one("figure.fig .vl-chart") or "no answer yet" in first.get_text()


def of_no_run(label: str) -> bool:
    try:
        return getattr(find(label).module, "OF_RUN", "") == "nothing"
    except InputError:  # it is a study's, whose rows are of the run
        return False


def test_each_figure_has_its_chart_and_a_caption_with_run_evidence_n_and_query(built: Built) -> None:
    figures = built.page.select(FIGURES)
    assert len(figures) == len(built.page.select(".vl-chart")) >= 3
    for figure in figures:
        assert len(figure.select(".vl-chart script")) == 1
        caption = figure.select_one("figcaption")
        assert caption is not None
        shown = " ".join(caption.get_text().split())
        assert RUN_ID in shown or of_no_run(str(figure["id"]))
        assert caption.select_one(".evidence") is not None
        assert re.search(r"n = [\d,]+ ", shown)
        links = caption.select("a[href^='sql/']")
        assert links or "Input: " in shown or "Source code: tierwise." in shown
        assert all((built.site / str(link["href"])).is_file() for link in links)


def test_every_table_says_how_its_numbers_came_to_be(built: Built) -> None:
    assert len(built.page.select("figure.tbl")) > 20
    assert unstamped(built.page) == set()


def test_the_rows_that_n_counts_lie_beside_the_page(built: Built) -> None:
    for figure in built.page.select(FIGURES):
        link, caption = (figure.select_one(f"figcaption{inside}") for inside in (" a[href^='rows/']", ""))
        assert link is not None
        assert caption is not None
        shown = re.search(r"n\s=\s([\d,]+)\s", caption.get_text())
        assert shown is not None
        with (built.site / str(link["href"])).open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert len(rows) == int(shown[1].replace(",", "")) > 0, link["href"]
        assert all(None not in row and None not in row.values() for row in rows), "every row has a cell for every column"


def test_no_page_shows_a_number_that_is_none_an_empty_bracket_or_an_empty_sentence(built: Built) -> None:
    for part in built.page.select("main :is(p, li, td, th, h1, h2, h3, figcaption)"):
        text = " ".join(part.get_text().split())
        if not part.select("code, math"):
            assert not re.search(r"\bnan\b|\bNaN\b|\binf\b|\bNone\b(?! [a-z])|\(\s*\)|\[\s*\]|[.:;]\s+[.;,]|\*\*", text), text


def test_figures_that_show_one_number_have_it_from_the_same_rows(built: Built) -> None:
    rows = {path.stem: pl.read_csv(path) for path in (built.site / "rows").glob("*.csv")}
    of = rows["fig-placements"].join(
        rows["fig-times"].filter(flags="none", placement="both on HDD"), on=["io_mode", "cache", "row", "replicate"], suffix="_hdd"
    )
    assert of.height == rows["fig-placements"].height
    assert of["ratio"].to_list() == pytest.approx((of["time_ms"] / of["time_ms_hdd"]).to_list())


def test_captions_are_numbered_in_order_and_labels_are_unique(built: Built) -> None:
    for kind, name in (("fig", "Figure"), ("tbl", "Table")):
        captions = [tag.get_text() for tag in built.page.select(CAPTION.format(kind=kind))]
        assert len(captions) == len(built.page.select(f"figure.{kind}"))
        assert all(re.fullmatch(rf"{name}\s\d+\.\d+\.", caption) for caption in captions), captions
        numbers = [tuple(map(int, re.findall(r"\d+", caption))) for caption in captions]
        for before, after in zip([(0, 0), *numbers], numbers, strict=False):
            assert after in {(before[0], before[1] + 1), *((chapter, 1) for chapter in range(before[0] + 1, 20))}
    ids = [tag["id"] for tag in built.page.select("main [id]:not(nav)")]
    assert len(ids) == len(set(ids))


def test_nothing_is_loaded_from_a_network(built: Built) -> None:
    loaded = [tag.get("src") or tag.get("href") for tag in built.page.select("script[src], link[href], img[src], iframe[src]")]
    assert loaded
    for name in map(str, loaded):
        assert name.startswith("data:") or (built.site / name).is_file(), name
    for sheet in (built.site / "assets").glob("*.css"):
        for name in re.findall(r"url\([\"']?([^\"')]+)", sheet.read_text(encoding="utf-8")):
            assert (sheet.parent / name).is_file(), name


def check_first_page(site: Path) -> None:
    page = BeautifulSoup((site / "index.html").read_bytes(), "html.parser")
    sheets = {str(tag.get("src") or tag.get("href")) for tag in page.select("script[src], link[rel=stylesheet]")}
    fonts = list(site.rglob("*.woff2"))
    assert fonts
    loaded = [site / "index.html", *(site / name for name in sheets), *fonts]
    assert sum(path.stat().st_size for path in loaded) < 3_000_000


def test_the_claims_table_shows_every_verdict_of_the_run(built: Built) -> None:
    rows = {row.select("td")[0].get_text(): row for row in built.page.select("#tbl-claims tbody tr")}
    verdicts = {claim: " ".join(mark.get_text().split()) for claim, row in rows.items() if (mark := row.select_one(".verdict"))}
    with placed(built.root, built.root / "_site"):
        judged = {found.id: str(found.verdict) for found in open_run(RUN_ID).verdicts}
    assert verdicts == judged
    assert {"confirmed", "contradicted", "undecided", "reported", "not measured"} <= set(verdicts.values())


def test_assumed_parameters_are_marked(built: Built) -> None:
    table = built.page.select_one("#tbl-parameters")
    assert table is not None
    rows = [row for row in table.select("tbody tr") if row.select_one(".verdict.assumed")]
    assumed = sum(" ".join(row.select("td")[1].get_text().split()).count("; ") + 1 for row in rows)
    assert assumed > len(rows) >= 1
    with placed(built.root, built.root / "_site"):
        found = open_shared(open_run(RUN_ID), "provenance").rows("tbl-parameters")
    assert find("tbl-parameters").facts(found)["assumed"] == assumed


def test_the_pdf_says_what_the_page_says(built: Built) -> None:
    pdf = pdf_text(built.site)
    printed = [table for table in built.page.select("table") if len(table.select("tbody tr")) <= LONG]
    cells = {tag.get_text() for table in printed for tag in table.select("td:not(:has(math)), th")}
    captions = {tag.get_text() for kind in ("fig", "tbl") for tag in built.page.select(CAPTION.format(kind=kind))}
    headings = {tag.get_text(" ") for tag in built.page.select("section > :is(h1, h2)")}
    for words in (word for text in cells for word in text.split()):
        assert bare(words) in pdf, words
    for text in captions | headings:
        assert bare(text) in pdf, text


def test_a_table_that_is_too_long_for_the_annex_is_a_file_beside_it(built: Built) -> None:
    pdf = pdf_text(built.site)
    long = [table for table in built.page.select("figure.tbl") if len(table.select("tbody tr")) > LONG]
    assert len(long) >= 3
    for table in long:
        file = f"tables/{table['id']}.csv"
        rows = list(csv.reader((built.site / file).read_text(encoding="utf-8").splitlines()))
        assert len(rows) == 1 + len(table.select("tbody tr"))
        assert table.select_one(f"figcaption a[href='{file}']") is not None
        assert bare(f"{len(rows) - 1} rows: on the site") in pdf
        assert bare(f"Rows: {file}") in pdf


@pytest.mark.soak
def test_a_second_build_is_the_same_and_takes_the_first_one_s_place(in_place: Built) -> None:
    before = {path.relative_to(in_place.site): path.read_bytes() for path in in_place.site.rglob("*") if path.is_file()}
    again = render(run_id=RUN_ID, executed=in_place.executed, engine="plain")
    assert {path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()} == before
    assert sorted(path.name for path in (in_place.root / "_site").iterdir()) == sorted(
        [in_place.site.name, "index.html", "latest", "versions.json"]
    )


def test_a_build_that_fails_leaves_no_trace(in_place: Built, tmp_path: Path) -> None:
    for notebook in in_place.executed.glob("*.ipynb"):
        if notebook.stem != "show-provenance":
            shutil.copy(notebook, tmp_path)
    before, kept = in_place.html, set((in_place.root / "_build").rglob("*"))
    with pytest.raises(MissingError, match="chapter show-provenance"):
        render(run_id=RUN_ID, executed=tmp_path, engine="plain")
    assert in_place.html == before
    assert set((in_place.root / "_build").rglob("*")) == kept, "the judgement that the chapters shared, and nothing else"


def test_quarto_is_requested_where_it_is_absent(in_place: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingError, match="ENGINE=plain"):
        render(run_id=RUN_ID, executed=in_place.executed, engine="quarto")


def shown(site: Path, kind: str) -> list[str]:
    tags = [tag for page in pages(site) for tag in BeautifulSoup(page.read_bytes(), "html.parser").select(f"main :is({TEXTS[kind]})")]
    texts = (" ".join(unicodedata.normalize("NFKC", tag.get_text()).split()) for tag in tags if not tag.find_parent("footer"))
    return [re.sub(r"(?<=-\d\d, by ).*", "", text).removesuffix(QUARTO) for text in texts]


@pytest.mark.parametrize("kind", TEXTS)
def test_quarto_s_pages_say_what_the_plain_pages_say(built: Built, by_quarto: Built, kind: str) -> None:
    plain = shown(built.site, kind)
    assert len(plain) >= 3
    assert shown(by_quarto.site, kind) == plain


@pytest.mark.parametrize("name", PDFS.values())
def test_quarto_s_pdf_says_what_the_plain_pdf_says(built: Built, by_quarto: Built, name: str) -> None:
    plain, other = (re.sub(r"(?<=\d{8},by).*?(?=Version)", "", pdf_text(site, name=name)) for site in (built.site, by_quarto.site))
    assert other.replace(bare(by_quarto.site.name), bare(built.site.name)) == plain
