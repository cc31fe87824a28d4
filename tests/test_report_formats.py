"""How numbers, tables and charts look."""

import shutil
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest

from support import SMOKE_RUN
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.rules import Verdict
from tierwise.analysis.statistics import geometric_estimate
from tierwise.bench.inputs import Inputs
from tierwise.core.profiles import load_profile
from tierwise.report import formats
from tierwise.report.display import FADED, LINE, PADDING, Table, selectable, shares
from tierwise.report.figures import parts
from tierwise.report.run import open_run
from tierwise.report.values.provenance import run_items
from tierwise.report.words import marked
from tierwise.timings.manifest import load_manifest


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.98123, "0.981"), (0.0302, "0.0302"), (8211.0, "8,210"), (9.996, "10.0"), (0.09996, "0.100"), (1e6, "1,000,000"), (0, "0")],
)
def test_numbers_have_three_significant_digits_and_no_exponent(value: float, text: str) -> None:
    assert formats.number(value) == text


@pytest.mark.parametrize(("value_s", "text"), [(8.214, "8.21 s"), (0.6409, "641 ms"), (0.000052, "52.0 µs"), (0.99999, "1,000 ms")])
def test_times_have_the_unit_that_keeps_them_short(value_s: float, text: str) -> None:
    assert formats.seconds(value_s) == text.replace(" ", "\N{NO-BREAK SPACE}")


def test_counts_are_not_rounded() -> None:
    assert formats.count(2_458_285) == "2,458,285"
    assert formats.span([16, 7]) == "7\N{EN DASH}16"
    assert formats.span([7, 7]) == "7"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.0236, "+2.4 %"), (0.9877, "\N{MINUS SIGN}1.2 %"), (0.9997, "0.0 %"), (1.0004, "0.0 %"), (9.5, "+850.0 %"), (140.45, "140-fold")],
)
def test_a_difference_has_a_sign_unless_it_is_none(ratio: float, text: str) -> None:
    assert formats.difference(ratio) == text.replace(" ", "\N{NO-BREAK SPACE}")


def test_a_number_keeps_its_unit_on_its_line() -> None:
    text = "at most 20 % of 5 ms, on 32 GiB or 250 IOPS, from 3 to 10 sizes"
    assert formats.tied(text) == "at most 20~% of 5~ms, on 32~GiB or 250~IOPS, from 3 to 10 sizes".replace("~", "\N{NO-BREAK SPACE}")


def test_an_interval_without_a_width_is_none() -> None:
    assert formats.with_interval(0.981, 0.979, 0.983) == "0.981 (0.979 to 0.983)"
    assert formats.with_interval(1.72, 1.72, 1.72 * (1 + 1e-12)) == "1.72 (no interval)"


def test_only_the_word_of_a_verdict_is_marked() -> None:
    assert marked(Verdict.CONFIRMED) == "**confirmed**"
    undecided = ClaimVerdict(verdict=Verdict.UNDECIDED, reason="1 pair", cure="PROFILE=full")
    assert marked(undecided) == "**undecided** (1 pair; needs PROFILE=full)"
    assert marked(ClaimVerdict(verdict=Verdict.CONFIRMED, conditions=("a", "b"))) == "**confirmed** (a, b)"
    assert marked(ClaimVerdict(verdict=Verdict.INPUT)) == "**not testable**: it is an input"


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert "| a \\| b |" in Table(["x"], [["a | b"]], "caption").markdown()
    assert Table(["**x**"], [["a \\> b\\*"]], "caption").csv() == "x\na > b*\n", "a table's file has no marks of Markdown"


def test_a_sentence_gets_most_of_the_line_and_every_word_fits() -> None:
    narrow, wide = shares([("Pairs", "5"), ("Statement", "a sentence that goes on and on " * 5)])
    assert (narrow, narrow + wide) == (len("Pairs") + PADDING, LINE)


def test_one_very_long_cell_does_not_starve_the_columns_of_every_other_row() -> None:
    by_row = [("a " * 100, "b " * 20)] * 9 + [("a " * 20, "b " * 200)]
    often, once = shares(list(zip(*by_row, strict=True)))
    assert often > once


def test_the_clock_of_several_sessions_is_named_where_it_is_real(raw: Path) -> None:
    folder = Path(shutil.copytree(SMOKE_RUN, raw / SMOKE_RUN.name))
    for needed, why in ((None, None), ("no right to trace", "real time: no right to trace")):
        inputs = Inputs(load_profile("smoke"), (), None, 1, "18.0", needs_real_time=needed)
        load_manifest(folder).model_copy(update={"clocks": inputs.clocks}).save(folder)
        assert dict(run_items(open_run(folder.name)).rows()).get("Several sessions") == why


SCATTERED = (0.05, 1.2, 0.7, 2.0, 0.9)  # one window of five that a checkpoint struck: its interval goes far below what the others show


def rows(*ratios: float) -> pl.DataFrame:
    return pl.DataFrame([{"placement": "ssd", "replicate": replicate, "ratio": ratio} for replicate, ratio in enumerate(ratios)])


@pytest.mark.parametrize("ratios", [SCATTERED, (9.0, 9.1, 9.2, 9.0, 9.1), (1.0, 1.01, 0.99, 1.0, 1.02)])
def test_every_ratio_and_its_interval_lie_within_the_axis(ratios: tuple[float, ...]) -> None:
    low, high = parts.ratio_range(rows(*ratios), ["placement"], low=0.8, high=1.6, headroom=1.2)
    interval = geometric_estimate(dict(enumerate(ratios))).interval
    assert interval is not None
    assert low < min(*ratios, *interval)
    assert high >= 1.2 * max(*ratios, *interval)
    assert low <= 0.8
    assert high >= 1.6


ROWS = pl.DataFrame({"row": ["a", "b"], "device": ["x", "y"], "time_s": [1, 2]})


def made(chart: alt.TopLevelMixin) -> dict[str, Any]:
    return selectable(chart.to_dict())


def bars(**more: Any) -> alt.Chart:
    chart: alt.Chart = alt.Chart(ROWS).mark_bar(**more).encode(x="time_s:Q", y="row:N", color="device:N")
    return chart


def test_an_entry_of_the_legend_and_a_row_can_be_picked() -> None:
    legend, row = made(bars())["params"]
    assert (legend["select"]["fields"], legend["bind"]) == (["device"], "legend")
    assert row["select"]["fields"] == ["row"]
    assert "bind" not in row


def test_what_is_not_picked_fades_and_what_is_keeps_its_opacity() -> None:
    opacity = made(bars(opacity=0.7))["encoding"]["opacity"]
    assert opacity == {"condition": {"test": {"and": [{"param": "picked_1"}, {"param": "picked_2"}]}, "value": 0.7}, "value": FADED}


def test_one_selection_serves_all_panels_and_each_panel_is_one_of_its_views() -> None:
    spec = made(alt.vconcat(bars(), bars()))
    views = [panel["name"] for panel in spec["vconcat"]]
    assert len(set(views)) == 2
    assert [param["views"] for param in spec["params"]] == [views, views]


def test_a_selection_that_the_chart_declares_stays_the_only_one_on_its_field() -> None:
    own = alt.selection_point(name="own", fields=["device"], bind="legend")
    spec = made(bars().add_params(own).encode(opacity=alt.condition(own, alt.value(0.9), alt.value(0.1))))
    assert [param["name"] for param in spec["params"]] == ["own", "picked_2"]
    assert spec["encoding"]["opacity"]["condition"] == {"test": {"and": [{"param": "own"}, {"param": "picked_2"}]}, "value": 0.9}
