"""Prose is a file that an editor can change: sections by label, numbers by name; a caption names the modes of its rows."""

import datetime as dt
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest
from jinja2 import meta

from rows import make_rows, save_run
from tierwise.analysis.claims import load_claims
from tierwise.core import studies
from tierwise.core.errors import InputError
from tierwise.report.exhibit_registry import declared, find
from tierwise.report.page import Page, open_page, open_shared
from tierwise.report.run import Run, open_run
from tierwise.report.text_template import Text, Value, prose_environment, read_text, shared_text
from tierwise.report.words import IO_MODES

CONVERTED = studies.having("reading/text.md")
CAPTIONED = {"n", "flagged", "note"}  # what only a caption gets, beside the facts of its exhibit
SAMPLE = """# {% if gain %}It gains {{ gain | number(2) }}{% else %}Does it gain?{% endif %} {#sec-one}

First.

::: {#fig-x alt="A chart."}
Caption with {{ n | count }}.
:::

Behind.

## Second {#sec-two}
{{ word }} on {{ day | date }}, {{ low | to(high) }}
"""
VALUES: dict[str, Value] = {"gain": 1.234, "n": 5, "word": "emulated", "day": dt.date(2026, 11, 26), "low": 1.96, "high": 2.01}


def text(tmp_path: Path, source: str = SAMPLE) -> Text:
    (tmp_path / "text.md").write_text(source, encoding="utf-8")
    return read_text(tmp_path / "text.md")


def variables(text: Text) -> frozenset[str]:
    parsed = (prose_environment().parse(part.source) for part in text.parts.values())
    return frozenset(name for tree in parsed for name in meta.find_undeclared_variables(tree))


def test_a_file_is_cut_into_sections_captions_and_what_is_behind_them(tmp_path: Path) -> None:
    found = text(tmp_path)
    assert list(found.parts) == ["sec-one", "fig-x", "after fig-x", "sec-two"]
    assert found.render("sec-one", VALUES) == "# It gains 1.2 {#sec-one}\n\nFirst."
    assert found.render("sec-one", {"gain": None}).startswith("# Does it gain? {#sec-one}")
    assert (found.render("fig-x", VALUES), found.alt("fig-x")) == ("Caption with 5.", "A chart.")
    assert found.render("after fig-x", VALUES) == "Behind."
    assert found.render("sec-two", VALUES) == "## Second {#sec-two}\nemulated on 2026-11-26, 2.0"
    assert variables(found) == VALUES.keys()


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("# T {#sec-a}\n\n{{ gain }}\n", "line 3.*1.234 is shown: give it a filter"),
        ("# T {#sec-a}\n\n{{ nothing | number }}\n", "line 3.*'nothing' is undefined"),
        ("# T {#sec-a}\n\n{% if gain %}\n", "line 3|Unexpected end of template"),
        ("# T {#sec-a}\n\n## T {#sec-a}\n", "sec-a.*stands twice"),
        ("Text.\n\n# T {#sec-a}\n", "begins with a heading"),
    ],
)
def test_what_is_no_number_or_no_section_is_refused_with_its_line(tmp_path: Path, source: str, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        text(tmp_path, source).render("sec-a", VALUES)


@pytest.fixture(scope="module", params=["reference", "rejected", "empty"])
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, reference: Run, rejected: Run) -> Run:
    if request.param == "reference":
        return reference
    if request.param == "rejected":
        return rejected
    raw = tmp_path_factory.mktemp("raw")
    folder = save_run(raw, make_rows())
    pl.read_parquet(folder / "timings.parquet").clear().write_parquet(folder / "timings.parquet")
    return open_run(folder.name, raw)


def pair_of(study: str) -> str:
    sources = load_claims().sources
    return next(
        (claim.pair or sources[claim.source].pair for claim in load_claims().every for case in claim.cases if case.study == study),
        "wal-placement",
    )


def exhibits(study: str) -> Iterator[str]:
    """Yield the labels of the exhibits of a study, or of several studies."""
    modules = files(f"tierwise.studies.{study}.reading") if study else files("tierwise.report.exhibits.figures")
    names = [one.name[:-3] if study else f"fig_{one.name[:-3]}" for one in modules.iterdir() if one.name.endswith(".py")]
    yield from (name.replace("_", "-") for name in names if name.startswith("fig_") and "__" not in name)
    yield from declared(study)


def rendered(page: Page) -> None:
    for label in page.text.parts:
        if label.startswith("sec-"):
            assert page.section(label).text.startswith("#")
        elif label.startswith("after "):
            page.after(label.removeprefix("after "))
        else:
            assert page.exhibit(label).caption


@pytest.mark.parametrize("study", CONVERTED)
def test_every_section_and_caption_renders_whatever_a_run_has(shown: Run, study: str) -> None:
    rendered(page := open_page(shown, study, pair_of(study)))
    if "answered" not in page.own:  # a study that the reference run lacks has no such value
        return
    assert page.own["answered"] == (page.reference is None)
    assert page.own["answered"] == shown.is_reference or study == "ram_or_ssd", (
        "other runs lack clean replicates, but not of simulated rows"
    )


@pytest.mark.parametrize("study", CONVERTED)
def test_values_and_templates_name_the_same_things(shown: Run, study: str) -> None:
    page: Page = open_page(shown, study, pair_of(study))
    facts = {name for label in exhibits(study) for name in find(label, study).facts(page.rows(label))}
    assert variables(page.text) - CAPTIONED - facts == page.own.keys() - {"answered"}
    assert all(value is None or isinstance(value, int | float | str | dt.date | list) for value in page.own.values())


def test_a_text_is_named_by_its_path_in_the_checkout() -> None:
    with pytest.raises(InputError, match=r"^src/tierwise/report/text/summary\.md: section is 'sec-none'"):
        shared_text("summary").render("sec-none", {})


@pytest.mark.parametrize("name", ["front", "summary", "ledger", "advice", "provenance", "validation"])
def test_every_shared_page_renders_whatever_a_run_has(shown: Run, name: str) -> None:
    rendered(open_shared(shown, name))


@pytest.mark.parametrize("study", CONVERTED)
def test_every_exhibit_has_a_caption_and_every_caption_an_exhibit(study: str) -> None:
    parts = read_text(Path(str(files(f"tierwise.studies.{study}.reading") / "text.md"))).parts
    assert {label for label in parts if label.startswith(("fig-", "tbl-"))} - set(exhibits("")) == set(exhibits(study))


SOURCES = load_claims().sources
PAIRS = {
    "wal_placement": "wal-placement",
    **{case.study: SOURCES[claim.source].pair for claim in load_claims().every for case in claim.cases},
}


def said(caption: str) -> set[str]:
    note = caption.splitlines()[-1]
    return {mode for mode in IO_MODES if " I/O, " in note and mode in note.partition(" I/O, ")[0].rpartition("**")[2]}


@pytest.mark.parametrize("study", PAIRS)
def test_the_mode_of_a_caption_is_the_mode_of_its_rows(reference: Run, study: str) -> None:
    page = open_page(reference, study, PAIRS[study])
    for label in page.text.parts:
        if label.startswith(("fig-", "tbl-")):
            holds(page, label, study)


def test_the_first_page_names_the_modes_of_its_rows(reference: Run) -> None:
    page = open_shared(reference, "front")
    for label in ("tbl-answer", "fig-answer"):
        holds(page, label, "")
        assert "assumed processors" in page.exhibit(label).caption


def holds(page: Page, label: str, study: str) -> None:
    rows = find(label, study).rows(page.run, page.pair).frame
    if rows.height and "io_mode" in rows.columns:
        assert said(page.exhibit(label).caption) == set(rows["io_mode"]), label
