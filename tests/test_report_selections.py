"""Every chart can be picked in, without asking for it; what a chart declares itself stays."""

from typing import Any

import altair as alt
import polars as pl

from tierwise.report.selections import FADED, selectable

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
