"""The strip of verdicts: every published statement as a mark, whose shape and colour say what came out."""

from typing import Final

import altair as alt
import polars as pl

from tierwise.analysis.rules import Verdict
from tierwise.report import colours
from tierwise.report.figures import parts
from tierwise.report.run import Run
from tierwise.report.values.verdicts import judged

UNIT: Final = "statements"
PARAMETERS: Final = {"source": ""}
LOOKS: Final = {
    Verdict.CONFIRMED: ("circle", colours.GREEN),
    Verdict.CONTRADICTED: ("cross", colours.VERMILLION),
    Verdict.UNDECIDED: ("diamond", colours.ORANGE),
    Verdict.REPORTED: ("square", colours.BLUE),
    Verdict.INPUT: ("triangle-up", colours.MARK),
    Verdict.MIXED: ("triangle-down", colours.MARK),
    Verdict.NOT_MEASURED: ("M-1,-0.25H1V0.25H-1Z", colours.MARK),
}
"""Shape (a name or a path of Vega's) and colour of each verdict: the shape alone tells them apart in grey."""
ROW_PX: Final = 36
BELOW_PX: Final = 15  # how far below its mark a statement's id stands
ID_PX: Final = 22  # the width of an id


def rows(run: Run, pair: str, source: str = "") -> pl.DataFrame:  # noqa: ARG001  of all pairs
    return judged(run, source).select("source", "position", "claim", "statement", "found", "evidence", "verdict")


def draw(rows: pl.DataFrame) -> alt.LayerChart:
    sources = rows["source"].unique(maintain_order=True).to_list()
    looks = {word.mark: look for word, look in LOOKS.items() if word.mark in set(rows["verdict"])}
    width_px = parts.label_px(sources)
    last = int(rows["position"].to_numpy().max())
    scale = alt.Scale(domain=[0.4, last + 0.6], nice=False)
    y = alt.Y("source:N", sort=sources, title=None, axis=parts.labels(width_px))
    base = alt.Chart(rows).encode(x=alt.X("position:Q", scale=scale, axis=None), y=y)
    legend = alt.Legend(title=None, columns=3)
    tips = [alt.Tooltip(f"{name}:N") for name in ("claim", "statement", "found", "evidence", "verdict")]
    marks = base.mark_point(filled=True, size=150, opacity=1).encode(
        shape=alt.Shape("verdict:N", legend=legend, scale=alt.Scale(domain=list(looks), range=[shape for shape, _ in looks.values()])),
        color=alt.Color("verdict:N", legend=legend, scale=alt.Scale(domain=list(looks), range=[colour for _, colour in looks.values()])),
        tooltip=tips,
    )
    number_where_narrow = f"width < {ID_PX * last} ? slice(datum.claim, 1) : datum.claim"  # the letter is the row's
    names = base.mark_text(dy=BELOW_PX, fontSize=10, text=alt.expr(number_where_narrow))
    chrome = {"chrome_px": width_px + parts.BESIDE_PX}
    return alt.LayerChart(layer=[marks, names], width=parts.PLOT_PX, height=alt.Step(ROW_PX), usermeta=chrome)
