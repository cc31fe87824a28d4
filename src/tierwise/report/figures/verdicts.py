"""The strip of verdicts: every published statement as a mark, whose shape and colour say what came out."""

from collections import Counter
from typing import Final

import altair as alt
import polars as pl

from tierwise.analysis.claims import load_claims
from tierwise.analysis.rules import Verdict
from tierwise.analysis.verdicts import DECIDED
from tierwise.core.vocabulary import Evidence
from tierwise.report import theme
from tierwise.report.display import Figure, Sentence
from tierwise.report.figures import parts
from tierwise.report.formats import count, listed
from tierwise.report.prices import run_note
from tierwise.report.run import Run
from tierwise.report.words import found

LOOKS: Final = {
    Verdict.CONFIRMED: ("circle", theme.GREEN),
    Verdict.CONTRADICTED: ("cross", theme.VERMILLION),
    Verdict.UNDECIDED: ("diamond", theme.ORANGE),
    Verdict.REPORTED: ("square", theme.BLUE),
    Verdict.INPUT: ("triangle-up", theme.MARK),
    Verdict.MIXED: ("triangle-down", theme.MARK),
    Verdict.NOT_MEASURED: ("M-1,-0.25H1V0.25H-1Z", theme.MARK),
}
"""Shape (a name or a path of Vega's) and colour of each verdict: the shape alone tells them apart in grey."""
ROW_PX: Final = 36
BELOW_PX: Final = 15
"""How far below its mark a statement's id stands."""
ID: Final = "width < 400 ? slice(datum.claim, 1) : datum.claim"
"""A statement's id; where there is no space for its letter, which is its row's, the number alone."""


def judged(run: Run) -> pl.DataFrame:
    """List every statement of `run`: source (its name), position (from 1, within it), claim, statement, found, evidence, verdict."""
    sources, places = load_claims().sources, Counter[str]()
    rows = []
    for claim in run.verdicts:
        places[claim.source] += 1
        rows.append(
            {
                "source": sources[claim.source].name.removeprefix("the "),
                "position": places[claim.source],
                "claim": claim.id,
                "statement": claim.statement,
                "found": found(claim),
                "evidence": str(claim.evidence or ""),
                "verdict": claim.verdict.mark,
            }
        )
    return pl.DataFrame(rows)


def told(rows: pl.DataFrame) -> str:
    """Return how many statements of `rows` (as of `judged`) are decided, in a line."""
    words = Counter(rows["verdict"])
    decided = [f"{count(words[word.mark])} {word.mark}" for word in DECIDED if words[word.mark]]
    number = sum(words[word.mark] for word in DECIDED)
    if not number:
        return f"None of {count(len(rows))} published statements is decided"
    return f"{count(number)} of {count(len(rows))} published statements {'is' if number == 1 else 'are'} decided: {listed(decided)}"


def strip(run: Run, rows: pl.DataFrame) -> Figure | Sentence:
    """Return a row for each source with a mark for each of its statements, of `rows` as of `judged`."""
    if rows.is_empty():
        return Sentence("")
    sources = rows["source"].unique(maintain_order=True).to_list()
    looks = {word.mark: look for word, look in LOOKS.items() if word.mark in set(rows["verdict"])}
    width_px = parts.label_px(sources)
    scale = alt.Scale(domain=[0.4, rows["position"].to_numpy().max() + 0.6], nice=False)
    base = alt.Chart(rows).encode(
        x=alt.X("position:Q", scale=scale, axis=None), y=alt.Y("source:N", sort=sources, title=None, axis=parts.labels(width_px))
    )
    legend = alt.Legend(title=None, columns=3)
    tips = [alt.Tooltip(f"{name}:N") for name in ("claim", "statement", "found", "evidence", "verdict")]
    marks = base.mark_point(filled=True, size=150, opacity=1).encode(
        shape=alt.Shape("verdict:N", legend=legend, scale=alt.Scale(domain=list(looks), range=[shape for shape, _ in looks.values()])),
        color=alt.Color("verdict:N", legend=legend, scale=alt.Scale(domain=list(looks), range=[colour for _, colour in looks.values()])),
        tooltip=tips,
    )
    chart = alt.LayerChart(
        layer=[marks, base.mark_text(dy=BELOW_PX, fontSize=10, text=alt.expr(ID))],
        title=told(rows),
        width=parts.PLOT_PX,
        height=alt.Step(ROW_PX),
        description=f"{told(rows)}. A row for each source, a mark for each of its statements.",
    )
    evidence_kinds = {Evidence(word) for word in rows["evidence"] if word}
    caption = (
        "Every published statement by its source; shape and colour say the verdict by the rules of @sec-rules. @tbl-claims has each in "
        f"words. {run_note(run, Evidence.of(evidence_kinds or {Evidence.PUBLISHED}), len(rows), 'statements')} "
        "Input: `data/published/claims.toml`."
    )
    return Figure(chart, caption, width_px + parts.BESIDE_PX, rows)
