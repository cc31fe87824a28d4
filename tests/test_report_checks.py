"""What ends a build: a number that is none, an empty sentence, a caption that names what its chart has not, one number from other rows."""

from pathlib import Path
from typing import Any

import altair as alt
import nbformat
import polars as pl
import pytest

from report_run import STAMP
from tierwise.core.errors import InputError
from tierwise.report import theme
from tierwise.report.checks import check_chart, check_numbers, check_text
from tierwise.report.display import ROWS_MIME, VEGA_MIME
from tierwise.report.notebooks import chapter, compare_figures


@pytest.mark.parametrize(
    "text",
    [
        "It takes nan ms.",
        "It takes NaN.",
        "From 3 to inf %.",
        "None times as quick.",
        "The value is None.",
        "| x | None |",
        "n = None, **emulated**",
        "It was found. . Then more.",
        "The cause: .",
        "It holds () here.",
        "**** is bold.",
        "**What to do.** \n\n**What it costs.** Much.",
    ],
)
def test_text_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"chapter: text is '.*': (shows|has) "):
        check_text(text, "chapter")


def spec(**told: Any) -> dict[str, Any]:
    """Return a chart of grey bars and diamonds."""
    rows = pl.DataFrame({"x": [1.0, 2.0], "told": ["1 ms", "2 ms"]})
    bars = alt.Chart(rows).mark_bar(color=theme.MARK).encode(x="x:Q")
    points = alt.Chart(rows).mark_point(shape="diamond").encode(x="x:Q", text="told:N")
    return {**alt.layer(bars, points).to_dict(), **told}


@pytest.mark.parametrize(
    "caption", ["Lines cross.", "Squares: published.", "Triangles.", "dashed: fewer", "Crosses.", "Blue: disks.", "The tick is"]
)
def test_a_caption_that_names_a_mark_or_a_colour_which_is_not_drawn_is_refused(caption: str) -> None:
    with pytest.raises(
        InputError, match=r"fig-x: caption is '.*': names a mark or a colour that its chart has not; it is drawn with bar, point"
    ):
        check_chart(spec(), caption, "fig-x")


@pytest.mark.parametrize("told", [{"title": "nan ms"}, {"datasets": {"rows": [{"told": "None ms"}]}}])
def test_a_chart_that_shows_a_number_which_is_none_is_refused(told: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"fig-x: chart is .*: shows (nan|None), which is no number"):
        check_chart(spec(**told), "Bars.", "fig-x")


REPEATS = pl.DataFrame({"state": ["FL", "FL", "NV"], "replicate": [1, 2, 1], "time_ms": [5.0, 6.0, 7.0], "ratio": [0.9, 0.8, 0.7]})


@pytest.mark.parametrize(
    ("other", "numbers"),
    [
        (REPEATS, 6),
        (REPEATS.drop("ratio").reverse(), 3),
        (REPEATS.with_columns(pl.col("time_ms") * (1 + 1e-12)).head(1), 2),
        (REPEATS.with_columns(state=pl.lit("PR"), time_ms=1.0).unique("replicate"), 0),
        (pl.concat([REPEATS, REPEATS.with_columns(time_ms=1.0)]), 0),
        (REPEATS.drop("replicate").with_columns(time_ms=1.0), 0),
        (REPEATS.rename({"time_ms": "rate", "ratio": "gain"}), 0),
    ],
    ids=["same", "in another order", "last digit", "other cells", "coordinates that do not tell apart", "no repeats", "other values"],
)
def test_two_figures_that_agree_may_stand_side_by_side(other: pl.DataFrame, numbers: int) -> None:
    assert check_numbers({"fig-a": REPEATS, "fig-b": other}) == numbers


def test_two_figures_with_one_number_from_different_rows_are_refused() -> None:
    other = REPEATS.with_columns(time_ms=pl.when(state="NV").then(7.5).otherwise("time_ms"))
    rule = r"fig-a and fig-c: time_ms is '7 and 7\.5 at state NV, replicate 1': two figures have one number from different rows"
    with pytest.raises(InputError, match=rule):
        check_numbers({"fig-a": REPEATS, "fig-b": REPEATS.drop("time_ms"), "fig-c": other})


def executed(folder: Path, source: str, *shown: dict[str, Any]) -> Path:
    """Return a notebook that shows these outputs in one cell."""
    outputs = [nbformat.v4.new_output("display_data", data=data) for data in shown]
    cell = nbformat.v4.new_code_cell(source, outputs=outputs)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), folder / "show-x.ipynb")
    return folder / "show-x.ipynb"


def test_a_build_ends_with_the_chapter_and_the_label(tmp_path: Path) -> None:
    table = executed(tmp_path, "#| label: tbl-x\n", {"text/markdown": "| a |\n|---|\n| nan |"}, {"text/markdown": "A table."})
    with pytest.raises(InputError, match=r"show-x\.ipynb \(tbl-x\): text is '\| nan \|': shows nan"):
        chapter(table, tmp_path, STAMP)
    chart = {VEGA_MIME: spec(description="d"), "image/svg+xml": "<svg/>", ROWS_MIME: "x\n1\n"}
    figure = executed(tmp_path, "#| label: fig-x\n", chart, {"text/markdown": "Lines of times."})
    with pytest.raises(InputError, match=r"show-x\.ipynb \(fig-x\): caption is 'Lines'"):
        chapter(figure, tmp_path, STAMP)
    other = {**chart, VEGA_MIME: spec(description="e"), ROWS_MIME: "replicate,x\n1,2.5\n"}
    shown = [executed(tmp_path, "#| label: fig-x\n", chart | {ROWS_MIME: "replicate,x\n1,2.0\n"}, {"text/markdown": "Bars."})]
    shown.append(shown[0].rename(tmp_path / "show-y.ipynb"))
    executed(tmp_path, "#| label: fig-z\n", other, {"text/markdown": "Bars."})
    with pytest.raises(InputError, match=r"fig-z of show-x and fig-x of show-y: x is '2.5 and 2 at replicate 1'"):
        compare_figures(shown)
    sentence = executed(tmp_path, "", {"text/markdown": "It takes None s."})
    with pytest.raises(InputError, match=r"show-x\.ipynb \(.+\): text is 'It takes None s\.'"):
        chapter(sentence, tmp_path, STAMP)
