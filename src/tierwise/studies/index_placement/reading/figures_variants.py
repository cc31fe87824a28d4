"""What the index on SSD brings in each variant of the census study's question, beside what was published."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import altair as alt
import polars as pl

from tierwise.analysis.claims import Bounds
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.rules import CaseVerdict, Verdict
from tierwise.analysis.statistics import estimable
from tierwise.report import theme
from tierwise.report.display import Figure, Sentence
from tierwise.report.figures import parts
from tierwise.report.formats import interval, number
from tierwise.report.run import Run
from tierwise.report.variants import variants
from tierwise.report.words import CASES, IO_MODES, case_name, variant_label
from tierwise.studies.index_placement.reading.figures import QUERY, io_modes, main_io_mode, named, nothing

CLAIMS: Final = {"M1": "Cold cache", "M3": "Cross"}
"""The claims on the ratio from disks that must read, and what their panels are called."""
SEEN: Final = {
    "inside the band": theme.GREEN,
    "outside": theme.VERMILLION,
    "undecided": theme.ORANGE,
    "no verdict": theme.MARK,
}
WORDS: Final = {Verdict.CONFIRMED: "inside the band", Verdict.CONTRADICTED: "outside", Verdict.UNDECIDED: "undecided"}
STATE_MARKS: Final = {"Florida": "circle", "Puerto Rico": "square", "Nevada": "triangle-up"}
"""The mark of each point, by the state that is counted."""
LANE_PX: Final = 10
GAP_PX: Final = 10


def ratios_by_variant(run: Run, pair: str, repeats: pl.DataFrame) -> Figure | Sentence:
    """Draw every variant's ratio in each state, with its interval, beside the published band; sorted.

    `repeats`: those behind the means (I/O mode, variant, cache, state, replicate, both times, ratio), of any number of replicates.
    """
    return _ratios(run, pair, main_io_mode(run, pair), repeats)


def ratios_by_other_io_mode(run: Run, pair: str, repeats: pl.DataFrame) -> Figure | Sentence:
    """Return the same with the other way of I/O, where it was measured."""
    others = [io for io in io_modes(run, pair) if io != main_io_mode(run, pair)]
    return _ratios(run, pair, others[0], repeats) if others else Sentence("")


def _ratios(run: Run, pair: str, io: str, repeats: pl.DataFrame) -> Figure | Sentence:
    claims = {claim.id: claim for claim in run.verdicts if claim.id in CLAIMS}
    shown = {name: _ratio_rows(one for one in variants(claim) if one.io_mode == io) for name, claim in claims.items()}
    shown = {name: rows for name, rows in shown.items() if not rows.is_empty()}
    if not shown:
        return nothing(run, pair)
    whole = pl.concat(shown.values())
    look = _Look(
        scale=alt.Scale(type="log", domain=[min(0.02, *whole["low"]) / 1.2, max(1.0, *whole["high"]) * 1.9], nice=False),
        seen=[name for name in SEEN if name in set(whole["seen"])],
        states=[name for name in STATE_MARKS if name in set(whole["state"])],
        width_px=parts.label_px(whole["label"]),
    )
    panels = []
    for name, rows in shown.items():
        lower, upper = claims[name].bounds or (None, None)
        bounds = Bounds(lower=lower, upper=upper)
        panels.append(_ratio_panel(rows, f"{CLAIMS[name]} (grey: {name}, {bounds})", bounds, look))
    chart = parts.stacked(panels, "What the index on SSD leaves of the time, in each variant and state, beside the published bands.")
    repeats = estimable(repeats.filter(io_mode=io), ["cache", "variant", "state"])
    caption = (
        f"What the index on SSD leaves of the time, by variant, with {IO_MODES[io]}: geometric mean of the ratio to that with the index on "
        "HDD, with its 95 % interval, for each state; log axis, the smallest first, the range of the states' means at the right. "
        f"Grey: as published by the census study; left of it is saved more. {run.note(pair, len(repeats), 'paired ratios', QUERY)}"
    )
    return Figure(chart, caption, look.width_px + parts.BESIDE_PX, named(repeats))


@dataclass(frozen=True)
class _Look:
    """What the panels of a figure share: axis, verdicts and states that occur, width of the labels."""

    scale: alt.Scale
    seen: list[str]
    states: list[str]
    width_px: int


def _ratio_rows(shown: Iterable[ClaimVerdict]) -> pl.DataFrame:
    return pl.DataFrame([_ratio_row(one, case) for one in shown for case in one.cases if case.estimate is not None])


def _ratio_row(one: ClaimVerdict, case: CaseVerdict) -> dict[str, Any]:
    assert case.estimate is not None
    assert case.low is not None, "an estimate has an interval"
    assert case.high is not None, "an estimate has an interval"
    estimates = [one.estimate for one in one.cases if one.estimate is not None]
    lowest, highest = number(min(estimates), 2), number(max(estimates), 2)
    return {
        "label": variant_label(one.variant),
        "queried": case_name(case.case),
        "state": CASES[case.case[-2:]],
        "ratio": case.estimate,
        "low": case.low,
        "high": case.high,
        "interval": interval(case.low, case.high),
        "seen": WORDS.get(case.verdict, "no verdict"),
        "repeats": case.pairs,
        "range": lowest if lowest == highest else f"{lowest} to {highest}",
    }


def _ratio_panel(rows: pl.DataFrame, title: str, bounds: Bounds, look: _Look) -> alt.LayerChart:
    order = list(dict.fromkeys(rows["label"]))
    low, high = look.scale["domain"]
    x = alt.X("ratio:Q", scale=look.scale, title=None, axis=alt.Axis(values=parts.log_ticks(low, high), format="~g"))
    y = alt.Y("label:N", sort=order, title=None, axis=parts.labels(look.width_px), scale=alt.Scale(paddingInner=0.3))
    colour = alt.Color(
        "seen:N",
        scale=alt.Scale(domain=look.seen, range=[SEEN[name] for name in look.seen]),
        legend=alt.Legend(title=None, symbolType="stroke"),
    )
    shape = alt.Shape(
        "state:N",
        scale=alt.Scale(domain=look.states, range=[STATE_MARKS[name] for name in look.states]),
        legend=alt.Legend(title=None, orient="bottom", symbolFillColor=theme.MARK, symbolStrokeColor=theme.MARK),
    )
    tips = [
        alt.Tooltip(f"{name}:N", title=told) for name, told in (("label", "variant"), ("queried", "state"), ("interval", "95 % interval"))
    ]
    tips += [alt.Tooltip("ratio:Q", format=".3r"), alt.Tooltip("repeats:Q"), alt.Tooltip("seen:N", title="published band")]
    band = pl.DataFrame({"from": [bounds.lower or low], "to": [bounds.upper or high]})
    middle = look.states[len(look.states) // 2]
    state = pl.when(pl.len() == 1).then(pl.col("state").first()).otherwise(pl.lit(middle))
    ends = rows.group_by("label", maintain_order=True).agg(pl.col("high").max(), pl.col("range").first(), state.alias("state"))
    lane = alt.YOffset("state:N", sort=look.states)
    base = alt.Chart(rows).encode(y=y, yOffset=lane, color=colour, tooltip=tips)
    layers = [
        alt.Chart(band).mark_rect(opacity=0.22, color=theme.MARK).encode(x=alt.X("from:Q", scale=look.scale), x2="to:Q"),
        alt.Chart(pl.DataFrame({"ratio": [1.0]})).mark_rule(strokeDash=[3, 3]).encode(x=x),
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", scale=look.scale), x2="high:Q"),
        base.mark_point(size=55, filled=True, opacity=1).encode(x=x, shape=shape),
        alt.Chart(ends)
        .mark_text(align="left", dx=9, fontWeight=600)
        .encode(x=alt.X("high:Q", scale=look.scale), y=y, yOffset=lane, text="range:N"),
    ]
    height = len(order) * (max(2, len(look.states)) * LANE_PX + GAP_PX)
    return alt.LayerChart(layer=layers, width=parts.PLOT_PX, height=height, title=title)
