"""The built pages, the report as one file and the PDF's pages, in a headless browser without network: what a reader sees."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Error

from browsing import SCROLLED, Scheme, browsing, hover, look, recalculate, violations
from report_built import Built, check_pages, pages
from tierwise.report.site import PDFS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
import json

from report_built import placed
from report_run import RUN_ID
from tierwise.core.errors import InputError
from tierwise.report.publish import write_one

if TYPE_CHECKING:
    from playwright.sync_api import Browser


SIZES = [(1280, "light"), (390, "dark")]
CENSUS, METHOD = "show-index_placement.html", "method.html"


@pytest.mark.parametrize(("width_px", "scheme"), SIZES)
def test_a_browser_draws_every_chart_and_nothing_is_cut_off(chromium: "Browser", built: Built, width_px: int, scheme: Scheme) -> None:
    with browsing(chromium, "file:", width_px, scheme) as page:
        for path in (built.site.parent / "index.html", *pages(built.site), built.site / CENSUS):
            assert look(page, path.as_uri(), width_px) == path.read_text(encoding="utf-8").count('class="vl-chart"')
        hover(page)


def test_the_calculator_is_in_the_menu_and_answers_on_a_phone(chromium: "Browser", built: Built) -> None:
    with browsing(chromium, "file:", 390, "light") as page:
        page.goto((built.site / "index.html").as_uri())
        address = page.locator("#contents a", has_text="Calculator").evaluate("(link) => link.href")
        assert "--requests 25000" in recalculate(page, address)


@pytest.fixture(scope="module")
def opened(chromium: "Browser", built: Built) -> Iterator["Page"]:
    with browsing(chromium, "file:", 1280, "light") as page:
        look(page, (built.site / CENSUS).as_uri(), 1280)
        yield page


def faded(page: "Page", figure: str) -> int:
    opacities = page.locator(f"{figure} .vl-chart svg.marks path[aria-roledescription='point']").evaluate_all(
        "points => points.map((point) => Number(point.getAttribute('opacity') ?? 1))"
    )
    assert opacities
    return sum(opacity < 0.3 for opacity in opacities)


def pick(page: "Page", target: str, shown: str) -> None:
    """Click `target` until `shown` is there: charts above that are still drawn may push it from under the click, even out of view."""
    for _ in range(20):
        with suppress(Error):
            page.locator(target).first.click(force=True)
        page.wait_for_timeout(2_000)
        if page.locator(shown).is_visible():
            return
    pytest.fail(f"{target} was clicked, but no {shown} appeared")


def test_what_is_picked_in_one_figure_is_picked_in_the_others_until_all_is_shown_again(opened: "Page") -> None:
    assert (faded(opened, "#fig-times"), faded(opened, "#fig-ratios")) == (0, 0)
    points = opened.locator("#fig-times .vl-chart svg.marks path[aria-roledescription='point']")
    pick(opened, "#fig-times .role-legend-symbol path", "#fig-times .picked button")
    assert faded(opened, "#fig-times") == points.count() * 3 / 4  # one of four placements stays
    assert faded(opened, "#fig-ratios") == 0  # knows no placement

    pick(opened, "#fig-times .vl-chart svg.marks path[aria-roledescription='point']", "#fig-ratios .picked button")
    (state,) = set(re.findall("Florida|Puerto Rico|Nevada", opened.locator("#fig-ratios .picked").inner_text()))
    assert state in opened.locator("#fig-times .picked").inner_text()
    assert faded(opened, "#fig-ratios") > 0

    opened.locator("#fig-ratios .picked button").click()
    opened.wait_for_function("document.querySelectorAll('.picked button').length === 0")
    assert (faded(opened, "#fig-times"), faded(opened, "#fig-ratios")) == (0, 0)


def test_what_the_pointer_reads_from_a_mark_keys_find_in_a_table(opened: "Page", built: Built) -> None:
    marks = opened.locator("#fig-times .figure-marks")
    marks.locator("summary").focus()
    opened.keyboard.press("Enter")
    marks.locator("table").first.wait_for()
    heads = marks.locator("table").first.locator("th").all_inner_texts()
    assert {"case", "placement", "replicate", "flags"} < set(heads)
    assert "Cold cache" in marks.locator("caption").all_inner_texts()
    cells = "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.innerText))"
    rows = [tuple(row) for row in marks.locator("tbody tr").evaluate_all(cells)]
    assert len(rows) == len((built.site / "rows" / "fig-times.csv").read_text(encoding="utf-8").splitlines()) - 1
    assert violations(opened, "#fig-times") == []
    hover(opened)
    tip = opened.locator("#vg-tooltip-element")
    assert tuple(tip.locator("td.value").all_inner_texts()) in rows
    marks.locator("summary").click()


def test_in_print_all_is_black_on_white_with_targets_and_nothing_to_click(chromium: "Browser", built: Built, tmp_path: Path) -> None:
    if not shutil.which("pdftotext"):
        pytest.skip("pdftotext is not installed (Debian: poppler-utils), so what is printed cannot be read")
    with browsing(chromium, "file:", 1280, "dark") as page:
        look(page, (built.site / CENSUS).as_uri(), 1280)
        page.click("#scheme")
        page.click("#scheme")
        assert page.locator("#scheme").inner_text() == "Colours: dark"
        page.emulate_media(media="print", color_scheme="dark")
        colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
        assert page.evaluate(colours) == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
        for hidden in ("#contents", "#beside", "#fig-times .figure-menu", "#fig-times .figure-marks", "#fig-times .picked"):
            assert not page.locator(hidden).is_visible(), hidden
        page.evaluate("document.querySelector('main p').append(Object.assign(document.createElement('a'), {href: 'https://e.org/x'}))")
        page.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True)
    command = ["pdftotext", "-layout", str(tmp_path / "page.pdf"), "-"]
    printed = " ".join(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert "Image, rows, query" not in printed
    assert "(https://e.org/x)" in printed


def test_the_search_finds_sections_of_all_pages_by_whole_words_first_and_leads_there(chromium: "Browser", built: Built) -> None:
    with browsing(chromium, "file:", 1280, "light") as page:
        look(page, (built.site / "about.html").as_uri(), 1280)
        for words, place, marked in (
            ("segment BUFFER", f"{METHOD}#sec-emulation", {"segment", "buffer"}),
            ("RAM", "show-ram_or_ssd.html#sec-ram-or-ssd", {"ram"}),  # no framework, no parameter
            ("more RAM", "show-cost.html#sec-cost-delivered", {"more", "ram"}),
            ("cite", "about.html#sec-cite", {"cite"}),
        ):
            page.fill("#search", words)
            found = page.locator(f"#found a[href='{place}']")
            assert found.locator("mark").count(), words
            assert {text.lower() for text in found.locator("mark").all_inner_texts()} == marked
        page.fill("#search", "emulated storage")
        page.locator("#found a").first.click()  # a title comes before text
        page.wait_for_url(f"**/{METHOD}#sec-emulation")
        page.fill("#search", "xylophone")
        assert page.locator("#found").inner_text() == "Nothing found."


def test_the_cases_of_a_statement_fold_out(chromium: "Browser", built: Built) -> None:
    with browsing(chromium, "file:", 1280, "light") as page:
        look(page, (built.site / "show-ledger.html").as_uri(), 1280)
        cases = page.locator("#tbl-ledger-cases tbody tr").filter(has=page.locator("td:first-child", has_text="M1")).nth(1)
        assert not cases.is_visible()
        page.locator("#tbl-ledger-cases button").first.click()
        assert cases.is_visible()


@pytest.mark.parametrize(
    ("label", "place"),
    [
        ("fig-times", f"{CENSUS}#fig-times"),
        ("sec-emulation", f"{METHOD}#sec-emulation"),
        ("tbl-emulation-that-has-gone", f"{METHOD}#sec-emulation"),
    ],
)
def test_an_address_of_the_report_as_one_page_leads_to_the_page_that_has_the_place(
    chromium: "Browser", built: Built, label: str, place: str
) -> None:
    with browsing(chromium, "file:", 1280, "light") as page:
        page.goto(f"{(built.site / 'index.html').as_uri()}#{label}")
        page.wait_for_url(f"**/{place}")


def test_a_reader_chooses_light_or_dark_and_what_is_picked_stays(opened: "Page") -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    pick(opened, "#fig-times .role-legend-symbol path", "#fig-times .picked button")
    before = faded(opened, "#fig-times")
    assert opened.evaluate(ground) == "rgb(255, 255, 255)"
    opened.click("#scheme")
    opened.click("#scheme")
    assert opened.locator("#scheme").inner_text() == "Colours: dark"
    assert opened.evaluate(ground) == "rgb(20, 24, 29)"
    opened.wait_for_function("[...document.querySelectorAll('.vl-chart')].every((place) => place.matches('.drawn[data-scheme=dark]'))")
    assert faded(opened, "#fig-times") == before > 0


def test_on_a_phone_nothing_but_a_matrix_is_scrolled_sideways_and_keys_reach_it(chromium: "Browser", built: Built) -> None:
    with browsing(chromium, "file:", 390, "light") as page:
        scrolled = []
        for name in (CENSUS, "show-validation.html", "show-summary.html"):
            look(page, (built.site / name).as_uri(), 390)
            scrolled += page.evaluate(SCROLLED)
        assert scrolled
        assert [place for place, matrix, _ in scrolled if not matrix] == []
        assert {tab for _, _, tab in scrolled} == {0}
        cells = page.locator("#tbl-claims tbody tr").first.locator("td")
        assert {cells.nth(at).get_attribute("data-column") for at in range(cells.count())} >= {"Claim", "Verdict"}
        assert page.locator("#tbl-claims tbody tr").first.evaluate("(row) => getComputedStyle(row).display") == "block"


def test_a_word_of_the_glossary_is_explained_to_the_pointer_and_to_the_keyboard(chromium: "Browser", built: Built) -> None:
    with browsing(chromium, "file:", 1280, "light") as page:
        look(page, (built.site / METHOD).as_uri(), 1280)
        word = page.locator("#sec-tiers dfn").first
        explanation = "(at) => getComputedStyle(at, '::after').content"
        assert word.evaluate(explanation) == "none"
        word.focus()
        assert "directory" in word.evaluate(explanation)
        page.locator("#search").focus()
        assert word.evaluate(explanation) == "none"
        word.hover()
        assert "directory" in word.evaluate(explanation)


def dead_links(site: Path) -> list[str]:
    """Every link of every page that leads to no file of the site, or to no place in one; outside links must say https."""
    parsed = {path: BeautifulSoup(path.read_bytes(), "html.parser") for path in sorted(site.glob("*.html"))}
    places = {path: {str(tag["id"]) for tag in page.select("[id]")} for path, page in parsed.items()}
    dead = []
    for path, page in parsed.items():
        for target in sorted({str(tag.get("href") or tag.get("src")) for tag in page.select("a[href]:not([href='']), link[href], [src]")}):
            file, _, place = unquote(target).partition("#")
            named = (path.parent / file).resolve() if file else path
            found = named / "index.html" if named.is_dir() else named
            if target.startswith(("data:", "https://", "http://")):
                continue
            if not found.is_file() or (place and found in places and place not in places[found]):
                dead.append(f"{path.name}: {target}")
    return dead


def test_no_link_is_dead(built: Built) -> None:
    assert dead_links(built.site) == dead_links(built.site.parent) == []


def test_no_link_of_quarto_s_pages_is_dead(by_quarto: Built) -> None:
    assert dead_links(by_quarto.site) == []


@pytest.mark.parametrize("name", PDFS.values())
def test_no_page_of_a_pdf_is_empty_or_overfull(built: Built, name: str) -> None:
    """Ink between header and footer, and none in the margins."""
    check_pages(built.site / name)


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
