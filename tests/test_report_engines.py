"""The engines of the report: Pandoc's plain pages; Quarto, which one is found, and what an attempt to install it leaves."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup

from report_run import STAMP
from tierwise import doctor
from tierwise.core import paths
from tierwise.core.errors import InputError, MissingError, TierwiseError
from tierwise.core.paths import home
from tierwise.report import display, quarto
from tierwise.report.display import ROWS_MIME, VEGA_MIME, Table
from tierwise.report.notebooks import chapter
from tierwise.report.pandoc_engine import pandoc
from tierwise.report.project import OUTPUTS, Book, expand
from tierwise.report.queries import Made, of_run
from tierwise.report.render import choose
from tierwise.report.run import open_run
from tierwise.report.site import PDFS

FIGURE = "::: {#fig-%s}\n\n```{=html}\n<div></div>\n```\n\nWhat it shows.\n\n:::\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return Path(shutil.copytree(paths.home() / "report", tmp_path / "book", ignore=shutil.ignore_patterns("_site", "_build")))


def page(source: Path, **chapters: str) -> str:
    book = Book(source, "Title", "Subtitle", {f"{name}.qmd": text for name, text in chapters.items()}, {"engine": "test", "version": "1"})
    return " ".join(pandoc(book, "html", "--to=html5", "--mathml", "--number-sections", "--toc").replace("\N{NO-BREAK SPACE}", " ").split())


def test_figures_tables_and_sections_are_numbered_by_chapter(source: Path) -> None:
    made = page(
        source,
        front="# Front {.unnumbered}\n\nSee @fig-b, @sec-two, @sec-sub and [@fig-a; @tbl-c].",
        one="# One\n\n" + FIGURE % "a",
        two="# Two {#sec-two}\n\n## Sub {#sec-sub}\n\n" + FIGURE % "b" + "\n::: {#tbl-c}\n\n| x |\n|---|\n| 1 |\n\nA table.\n\n:::\n",
    )
    references = {"fig-b": "Figure 2.1", "sec-two": "Chapter 2", "sec-sub": "Section 2.1", "fig-a": "Figure 1.1", "tbl-c": "Table 2.1"}
    for label, text in references.items():
        assert f'<a href="#{label}" class="xref">{text}</a>' in made
    assert "<strong>Table 2.1.</strong> A table." in made


@pytest.mark.parametrize(
    ("text", "field", "value", "rule"),
    [
        ("See @fig-nowhere.", "reference", "@fig-nowhere", "has this label"),
        ("- A list, *see @tbl-nowhere*.", "reference", "@tbl-nowhere", "has this label"),
        (FIGURE % "a" + "\n" + FIGURE % "a", "label", "fig-a", "more than one place"),
        ("See @sec-first.", "reference", "@sec-first", "without a number"),
        ("::: {#fig-a}\n\nA caption without a figure.\n\n:::", "label", "fig-a", "needs a body"),
        (FIGURE % "a" + "\n[@fig-a; @martin2008]", "reference", None, "mixes labels and citations"),
    ],
)
def test_an_error_names_chapter_label_and_rule(source: Path, text: str, field: str, value: str | None, rule: str) -> None:
    with pytest.raises(InputError) as caught:
        page(source, first="# First {.unnumbered #sec-first}\n\nFine.", second=f"# Second\n\n{text}")
    assert (caught.value.where, caught.value.field) == ("second.qmd", field)
    assert value is None or caught.value.value == value
    assert rule in caught.value.rule


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("> A quote.", "element", "BlockQuote"),
        ("A note.[^1]\n\n[^1]: Here.", "element", "Note"),
        ("![A picture](x.png)", "picture", "x.png"),
        ("![](pictures/tiers.svg) Without a text.", "picture", "pictures/tiers.svg"),
        ("~~struck~~", "element", "Strikeout"),
        ("[text]{.wide}", "element", "Span"),
        ("Term\n:   What it is.", "element", "DefinitionList"),
        ("One line\\\nbroken.", "element", "LineBreak"),
        ("* * *", "element", "HorizontalRule"),
        ("<b>bold</b>", "element", "RawInline"),
        ("::: {.panel-tabset}\n\nTabs.\n\n:::", "division", "::: {# .panel-tabset}"),
        ("- ::: {.column-margin}\n  Beside.\n  :::", "division", "::: {# .column-margin}"),
        ("#### Deep", "heading", "Deep"),
        ("## Two {.unlisted}", "heading", "Two"),
        ("[here](other.qmd)", "link", "other.qmd"),
        ("```{=html}\n<hr>\n```", "raw block", "html"),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else None,
)
def test_what_is_not_of_the_subset_is_refused_with_its_chapter(source: Path, text: str, field: str, value: str) -> None:
    with pytest.raises(InputError, match=r"report/README\.md|levels 1 to 3|must begin|must be a file") as caught:
        page(source, first="# First {.unnumbered #sec-first}\n\nFine.", second=f"# Second\n\n{text}")
    assert (caught.value.where, caught.value.field, caught.value.value) == ("second.qmd", field, value)


def test_a_word_of_the_glossary_is_explained_once_a_chapter_and_a_verb_is_not(source: Path) -> None:
    text = (
        "He claims that tiers differ: all claims, (this virtual time), one more tier.\n\n- An I/O mode.\n\n| verdict |\n|---|\n| claim |\n"
    )
    made = BeautifulSoup(page(source, first=f"# A study\n\n{text}", second=f"# Two\n\n{text}"), "html.parser")
    words = ["tiers", "claims", "virtual time", "I/O mode"]
    assert [word.get_text() for word in made.select("dfn")] == [*words, *words]
    assert "all claims, (this virtual time), one more tier." in made.get_text()
    explained = str(made.select("dfn")[1]["aria-description"])
    assert explained.endswith("bounds")
    assert "`" not in explained


def test_an_unknown_variable_is_an_error() -> None:
    assert expand("Run {{< var run >}}.", {"run": "r1"}, "index.qmd") == "Run r1."
    with pytest.raises(InputError, match=r"index\.qmd: variable is 'rum'"):
        expand("Run {{< var rum >}}.", {"run": "r1"}, "index.qmd")


def test_formulas_are_mathml_verdicts_are_marks_and_queries_are_links(source: Path) -> None:
    made = page(source, first="# First\n\n$r = 1$ is **contradicted**, by `studies/index_placement/reading/rows.sql`; **bold** stays.")
    assert "<math" in made
    assert '<span class="verdict contradicted">contradicted</span>' in made
    assert '<a href="sql/studies/index_placement/reading/rows.sql.txt">' in made
    assert "<strong>bold</strong>" in made


def test_a_callout_keeps_all_that_it_holds_in_both_targets(source: Path) -> None:
    text = "# First\n\n::: {.callout-note}\n## Heed\n\nOne.\n\n- two\n:::\n"
    assert '<div class="callout-title"> Heed </div> <p>One.</p> <ul> <li>two</li> </ul>' in page(source, first=text)
    typeset = pandoc(Book(source, "T", "S", {"first.qmd": text}, {"run": "r", "version": "1"}), "typst", "--to=typst")
    assert "#callout(title: [Heed], body: [" in typeset
    assert typeset.index("#callout(") < typeset.index("One.") < typeset.index("- two")


def executed(folder: Path, source: str, *outputs: nbformat.NotebookNode) -> Path:
    path = folder / "show-x.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source, outputs=list(outputs))]), path)
    return path


def shown(data: dict[str, object]) -> nbformat.NotebookNode:
    output: nbformat.NotebookNode = nbformat.v4.new_output("display_data", data=data)
    return output


CHART = shown({VEGA_MIME: {"description": 'a </script> "b"'}, "image/svg+xml": "<svg/>", ROWS_MIME: "state,elapsed_s\nFL,1.5\n"})
TEXT = shown({"text/markdown": "It is *so*."})


def test_a_chart_is_inert_on_the_page_and_an_image_in_print_under_its_label(tmp_path: Path) -> None:
    made = chapter(executed(tmp_path, "#| label: fig-x\nshow()", CHART, TEXT), tmp_path, STAMP)
    assert made.startswith("::: {#fig-x}")
    assert made.endswith("It is *so*. Rows: `rows/fig-x.csv`.\n\n:::\n")
    assert made.count("</script>") == 1
    assert 'aria-label="a &lt;/script&gt; &quot;b&quot;"' in made
    assert '#image("figures/fig-x.svg", width: 100%)' in made
    assert (tmp_path / "figures" / "fig-x.svg").read_text() == "<svg/>"
    assert (tmp_path / "rows" / "fig-x.csv").read_text() == "state,elapsed_s\nFL,1.5\n"


def test_a_number_that_is_none_ends_the_build_with_chapter_and_label(tmp_path: Path) -> None:
    table = executed(tmp_path, "#| label: tbl-x\n", shown({"text/markdown": "| a |\n|---|\n| nan |"}), TEXT)
    with pytest.raises(InputError, match=r"show-x\.ipynb \(tbl-x\): text is '.*nan.*': shows nan"):
        chapter(table, tmp_path, STAMP)
    assert chapter(executed(tmp_path, "#| label: fig-x\n", CHART, shown({"text/markdown": "None was fitted."})), tmp_path, STAMP)
    with pytest.raises(InputError, match=r"show-x\.ipynb \(fig-x\)"):
        chapter(
            executed(tmp_path, "#| label: fig-x\n", shown({**CHART.data, VEGA_MIME: {"description": "d", "title": "nan ms"}}), TEXT),
            tmp_path,
            STAMP,
        )


def test_the_query_of_a_table_is_a_script_beside_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundles: list[dict[str, object]] = []
    monkeypatch.setattr(display, "show", bundles.append)
    run = open_run(raw=paths.reference())
    sql = "select count(*) as n from timings where study = $study"
    made = Made(queries=(of_run(run.folder, sql, {"study": "ram_or_ssd"}),), steps=("tierwise.x",))
    Table(["n"], [["1"]], "A table.", made=made.model_dump(mode="json"))._ipython_display_()
    text = chapter(executed(tmp_path, "#| label: tbl-x\nshow()", *map(shown, bundles)), tmp_path, STAMP)
    assert text.endswith("A table. Query: `queries/tbl-x.sql`.\n\n:::\n")
    assert "-- The rows.\nselect count(*) as n from timings where study = 'ram_or_ssd';" in (tmp_path / "queries" / "tbl-x.sql").read_text()


@pytest.mark.parametrize(
    ("source", "outputs", "rule"),
    [
        ("show()", [CHART, TEXT], "under a label"),
        ("#| label: fig-x\nshow()", [CHART], "under a label"),
        ("#| label: pic-x\nshow()", [CHART, TEXT], "must begin with fig- or tbl-"),
        ("show()", [nbformat.v4.new_output("error", ename="E", evalue="no luck", traceback=[])], "no luck"),
        ("show()", [shown({"text/plain": "<object>"})], "figures, tables and sentences only"),
    ],
    ids=["no label", "no caption", "wrong label", "error", "other"],
)
def test_a_notebook_that_is_no_chapter_is_refused(tmp_path: Path, source: str, outputs: list[nbformat.NotebookNode], rule: str) -> None:
    with pytest.raises(InputError, match=r"show-x\.ipynb") as caught:
        chapter(executed(tmp_path, source, *outputs), tmp_path, STAMP)
    assert rule in str(caught.value)


def test_a_chapter_that_was_not_executed_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="chapter show-x"):
        chapter(tmp_path / "show-x.ipynb", tmp_path, STAMP)


Program = Callable[[str], Path]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:

    def put(version: str) -> Path:
        path = tmp_path / "quarto"
        path.write_text(f"#!/bin/sh\necho {version}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "elsewhere" / "python"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return put


def test_the_oldest_version_is_that_of_the_conda_route_and_the_pin_is_not_older() -> None:
    conda = yaml.safe_load((home() / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    assert f"quarto>={quarto.OLDEST_TEXT},<2" in conda
    (pin,) = re.findall(r"quarto-cli==([\d.]+) --hash=sha256:[0-9a-f]{64}", (home() / "scripts" / "quarto.txt").read_text(encoding="utf-8"))
    assert quarto.OLDEST <= tuple(map(int, pin.split("."))) < (2,)


def test_auto_takes_a_quarto_that_is_new_enough_and_plain_is_never_quarto(program: Program) -> None:
    program("1.10.18")
    assert choose("auto").name == choose("quarto").name == "Quarto 1.10.18"
    assert choose("plain").name.startswith("Pandoc")
    assert doctor.examine_quarto().status is doctor.Status.OK


def test_one_that_is_too_old_is_passed_over_and_doctor_says_so(program: Program) -> None:
    program("1.9.17")
    assert choose("auto").name.startswith("Pandoc")
    with pytest.raises(MissingError, match=r"Quarto 1\.9\.18 or newer: make quarto"):
        choose("quarto")
    found = doctor.examine_quarto()
    assert (found.status, found.detail) == (doctor.Status.OPTIONAL, "1.9.17 is older than 1.9.18")


def test_one_that_does_not_run_is_none(program: Program) -> None:
    program("; exit 1")
    assert not quarto.usable()
    assert doctor.examine_quarto().detail == "not found"


RENDERS = """
printf '\\r[1/2] index.qmd\\n' >&2; printf '\\r[2/2] method.qmd\\n' >&2
mkdir "$2/_book"; echo '<body>a page</body>' > "$2/_book/index.html"; echo '[{"text": "a page"}]' > "$2/_book/search.json"
[ -f "$2/tierwise.qmd" ] && pdf=tierwise || pdf=tierwise-annex; echo "$pdf" > "$2/_book/$pdf.pdf"
"""


def book_of(folder: Path) -> Book:
    shutil.copytree(home() / "report", folder, ignore=shutil.ignore_patterns(*OUTPUTS))
    return Book(folder, "A title", "", {"index.qmd": "# One\n", "method.qmd": "# Two\n"}, {"run": "r"})


def test_it_renders_book_and_paper(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.defpath, prepend=os.pathsep)
    program(f"1.10.18{RENDERS}".replace("\n", "\n[ $1 = --version ] && exit\n", 1))
    engine, book = choose("quarto"), book_of(tmp_path / "book")
    engine.build(book, tmp_path / "site")
    paper = replace(book_of(tmp_path / "paper"), chapters={"tierwise.qmd": "# One\n"}, paper=True)
    (paper.folder / "tierwise.qmd").write_text("# One\n", encoding="utf-8")
    engine.typeset(paper, tmp_path / "site")
    assert {name: (tmp_path / "site" / file).read_text(encoding="utf-8") for name, file in PDFS.items()} == {
        "paper": "tierwise\n",
        "annex": "tierwise-annex\n",
    }


def test_quarto_s_search_gets_its_index_as_a_script_where_nothing_may_be_fetched(tmp_path: Path) -> None:
    (tmp_path / "search.json").write_text('[{"text": "a turn"}]\n', encoding="utf-8")
    page = '<html><body><nav class="quarto-secondary-nav">Bar</nav><nav id="quarto-sidebar" class="sidebar">All</nav>\n</body></html>'
    (tmp_path / "index.html").write_text(page, encoding="utf-8")
    quarto.finish(tmp_path)
    made = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert '<nav class="quarto-secondary-nav" aria-label="This page">' in made
    assert '<nav id="quarto-sidebar" aria-label="Chapters" class="sidebar">' in made
    assert made.endswith("</script>\n</body></html>")
    assert '<script src="search.js">' not in made.replace("document.write('<script src", ""), "a server's page does not load it"
    assert 'fuseIndex = new Fuse([{"text": "a turn"}], kFuseIndexOptions);' in (tmp_path / "search.js").read_text(encoding="utf-8")


def test_what_fails_says_what_quarto_said(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.defpath, prepend=os.pathsep)
    program("1.10.18\n[ $1 = --version ] && exit\necho no space left >&2; exit 1")
    with pytest.raises(TierwiseError, match="quarto render: no space left"):
        choose("quarto").build(book_of(tmp_path / "book"), tmp_path / "site")
    assert not (tmp_path / "site").exists()


def attempt(environment: Path, *arguments: str) -> str:
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PATH": "/usr/bin:/bin", "PYTHONPATH": str(home() / "src")}
    command = [sys.executable, "scripts/setup_quarto.py", str(environment), *arguments]
    done = subprocess.run(command, cwd=home(), env=offline, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_an_attempt_without_network_is_recorded_and_made_once_unless_requested(tmp_path: Path) -> None:
    outcome = "Quarto 1.10.18 is not installed: no network, or no mirror with quarto-cli; `make quarto` tries again\n"
    assert attempt(tmp_path, "--once").endswith(outcome)
    assert (tmp_path / "quarto.txt").read_text(encoding="utf-8") == outcome
    assert attempt(tmp_path, "--once") == ""
    assert attempt(tmp_path).endswith(outcome)
