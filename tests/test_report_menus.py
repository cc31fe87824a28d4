"""What a reader takes from a figure: its menu, the query that makes its rows from the published files, what describes them."""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb
import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal

import cells
from browsing import browsing, look
from report_built import FIGURES, Built
from report_run import RUN_ID
from support import SHIPPED_RUN
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.report import dictionary, queries
from tierwise.report.display import Figure
from tierwise.report.queries import Query
from tierwise.report.run import Run
from tierwise.timings.reads import sources

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHAPTERS: Final = [path.stem.removeprefix("show-") for path in sorted((paths.home() / "notebooks").glob("show-*.ipynb"))]
DRAWN: Final = [chapter for chapter in CHAPTERS if cells.labels(chapter) and chapter != "paper"]  # the paper has the chapters' figures
NO_ROWS_OF_A_RUN: Final = {"fig-answer", "fig-cost-break-evens", "fig-memory-map", "fig-verdicts"}
"""Figures of all workloads, of prices, of verdicts, and of what was simulated and stands in the manifest."""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, reference: Run) -> Path:
    folder = tmp_path_factory.mktemp("published")
    shutil.copytree(reference.folder, folder / "run")
    (folder / "rows").mkdir()
    return folder


def shown(chapter: str, run: Run) -> dict[str, Figure]:
    return {label: figure for label, figure in cells.drawn(chapter, run).items() if isinstance(figure, Figure)}


@pytest.fixture(scope="module")
def by_chapter(reference: Run) -> Callable[[str], dict[str, Figure]]:
    return cache(lambda chapter: shown(chapter, reference))


@pytest.mark.parametrize("chapter", [chapter for chapter in DRAWN if not {*cells.labels(chapter)} <= NO_ROWS_OF_A_RUN])
def test_each_query_makes_the_figure_s_rows_from_the_published_files_alone(
    chapter: str, by_chapter: Callable[[str], dict[str, Figure]], reference: Run, published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queried: list[str] = []

    def from_files(run: Run, sql: str, parameters: Sequence[Any] = ()) -> pl.DataFrame:
        queried.append(sql)
        with duckdb.connect(":memory:") as connection:
            return pl.DataFrame(connection.sql(queries.script([query_of(run, sql, parameters)])).to_arrow_table())

    here = by_chapter(chapter)
    monkeypatch.chdir(published)
    monkeypatch.setattr(Run, "query", from_files)
    there = shown(chapter, reference)
    assert here
    assert queried
    assert here.keys() == there.keys()
    for label, figure in here.items():
        assert not figure.rows.is_empty()
        assert_frame_equal(csv(there[label]), csv(figure), rel_tol=1e-9)


def query_of(run: Run, sql: str, parameters: Sequence[Any] = ()) -> Query:
    return Query(run_id=run.run_id, has_reads=bool(sources(run.folder)), sql=queries.bound(sql, parameters))


def csv(figure: Figure) -> pl.DataFrame:
    """Return the rows that a reader downloads, but for their order and a number's last digits: threads add in any order."""
    rows = pl.read_csv(figure.csv().encode())
    return rows.with_columns(cs.float().round_sig_figs(10)).sort(rows.columns)


def test_every_figure_has_a_menu_with_its_image_rows_query_and_citation(built: Built) -> None:
    figures = built.page.select(FIGURES)
    assert len(figures) == len(built.page.select("details.figure-menu > summary")) >= 3
    for figure in figures:
        label = str(figure["id"])
        menu = figure.select_one("details.figure-menu")
        assert menu is not None
        targets = [str(link["href"]) for link in menu.select("a[download]")]
        wanted = [f"figures/{label}.svg", f"rows/{label}.csv", f"rows/{label}.json", "citation.bib"]
        assert set(wanted) <= set(targets)
        assert all((built.site / target).is_file() for target in targets)
        assert (f"queries/{label}.sql" in targets) == bool(menu.select("pre")) == (label not in NO_ROWS_OF_A_RUN)
        found_text = " ".join(menu.get_text(" ").split())
        assert re.search(r"in Python: tierwise\.[\w., ]+\.", found_text, re.IGNORECASE)
        assert f"Figure {label}, run {RUN_ID}" in found_text
        assert re.search(r"commit ([0-9a-f]{40}(-dirty)?|unversioned)\.", found_text)
        assert menu.select_one("button.png[hidden]") is not None, "a page without scripts offers no PNG"


def test_the_menu_works_by_keyboard_gives_a_png_and_is_not_printed(built: Built, chromium: "Browser") -> None:
    with browsing(chromium, "file:", 390, "dark") as page:
        look(page, (built.site / "show-index_placement.html").as_uri(), 390)
        menu = page.locator("#fig-times .figure-menu")
        menu.locator("summary").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "SVG"
        page.keyboard.press("Tab")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        with page.expect_download() as handed:
            page.keyboard.press("Enter")
        assert handed.value.suggested_filename == "fig-times.png"
        assert Path(handed.value.path()).read_bytes().startswith(b"\x89PNG")
        page.emulate_media(media="print")
        assert not menu.is_visible()


def test_beside_each_figure_stand_its_columns_with_units_its_run_and_its_host(built: Built) -> None:
    for path in (built.site / "rows").glob("*.json"):
        found_text = json.loads(path.read_text(encoding="utf-8"))
        columns = pl.read_csv(path.with_suffix(".csv")).columns
        assert [column["name"] for column in found_text["columns"]] == columns
        assert all(column["meaning"] and column["type"] for column in found_text["columns"])
        assert found_text["run"]["id"] == RUN_ID
        assert found_text["host"]["cores"] >= 1
        assert found_text["report"]["version"] == built.site.name
    (elapsed,) = (column for column in described_in(built, "fig-times") if column["name"] == "time_ms")
    assert elapsed["unit"] == "ms"


def described_in(built: Built, label: str) -> list[dict[str, str]]:
    columns: list[dict[str, str]] = json.loads((built.site / "rows" / f"{label}.json").read_text(encoding="utf-8"))["columns"]
    return columns


def test_what_each_table_requested_runs_from_the_published_files_alone(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (built.root / "raw" / RUN_ID, SHIPPED_RUN):
        (tmp_path / folder.name).mkdir()
        (tmp_path / folder.name / "run").symlink_to(folder)
    scripts = sorted((built.site / "queries").glob("tbl-*.sql"))
    assert len(scripts) >= 2
    for path in scripts:
        script = path.read_text(encoding="utf-8")
        (run_id,) = re.findall(r"of the published run (\S+)\. ", script.splitlines()[0])
        monkeypatch.chdir(tmp_path / run_id)
        with duckdb.connect(":memory:") as connection:
            assert connection.execute(script).description, path.name
    asking = [table for table in built.page.select("figure.tbl") if table.select("figcaption a[href^='queries/']")]
    assert {f"{table['id']}.sql" for table in asking} == {path.name for path in scripts if not path.stem.endswith("-2")}


@pytest.fixture(scope="module")
def with_rows(published: Path, by_chapter: Callable[[str], dict[str, Figure]]) -> Path:
    for chapter in DRAWN:
        for label, figure in by_chapter(chapter).items():
            (published / "rows" / f"{label}.csv").write_text(figure.csv(), encoding="utf-8")
    return published


def columns_of(schema: Any, above: str = "") -> Iterator[str]:
    for name, kind in schema.items():
        yield f"{above}{name}"
        inner = kind.inner if isinstance(kind, pl.List) else kind
        if isinstance(inner, pl.Struct):
            yield from columns_of(inner.to_schema(), f"{above}{name}.")


def test_every_column_of_the_published_files_is_in_the_data_dictionary(with_rows: Path) -> None:
    found_text = dictionary.dictionary(with_rows)
    tables = {text.split("`")[0].split("/")[0].removesuffix(".parquet"): text for text in found_text.split("\n## `run/")[1:]}
    files = sorted((with_rows / "run").rglob("*.parquet"))
    assert {path.relative_to(with_rows / "run").parts[0].removesuffix(".parquet") for path in files} == set(tables)
    for path in files:
        table = tables[path.relative_to(with_rows / "run").parts[0].removesuffix(".parquet")]
        for column in columns_of(pl.read_parquet_schema(path)):
            assert re.search(rf"^\| `{re.escape(column)}` \| [^|]+ \| [^|]*\| [^|]{{10,}} \|", table, re.MULTILINE), (path.name, column)
    behind = found_text.split("\n## `rows/")[1]
    for path in (with_rows / "rows").glob("*.csv"):
        for column in pl.read_csv(path).columns:
            assert re.search(rf"^\| `{column}` \| .*`{path.stem}`", behind, re.MULTILINE), (path.name, column)


def test_a_column_without_a_meaning_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "fig-x.csv").write_text("state,colour\nFL,red\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"fig-x\.csv: column is 'colour': has no meaning"):
        dictionary.described(tmp_path / "fig-x.csv")


@pytest.mark.parametrize(
    ("sql", "parameters", "query"),
    [
        ("select 'a?' as x where y = ? and z = ?", ["it's", 2.5], "select 'a?' as x where y = 'it''s' and z = 2.5"),
        ("-- which?\nselect $2, $1, $2", [True, None], "-- which?\nselect null, true, null"),
        ("select list_contains(?, x)", [["a", "b"]], "select list_contains(['a', 'b'], x)"),
    ],
)
def test_a_query_is_reported_with_its_parameters_in_it(sql: str, parameters: list[Any], query: str) -> None:
    assert queries.bound(sql, parameters) == query
