"""The first screen: what was found, what to do, what it costs and how far to trust it, in at most `MOST_WORDS` words and one chart.

All of it is made from the run's numbers by rules, so that it is true of any run, one in which little was decided too.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import altair as alt
import polars as pl

from tierwise.advisor.ranking import Gain, advised, gains_of
from tierwise.analysis import heat
from tierwise.analysis.rejections import rejections
from tierwise.analysis.rules import Verdict
from tierwise.analysis.statistics import MINIMUM_REPEATS, geometric_estimate, paired_ratios
from tierwise.analysis.verdicts import DECIDED
from tierwise.core import studies
from tierwise.core.vocabulary import Evidence
from tierwise.report import study_registry, theme
from tierwise.report.chapters import volumes
from tierwise.report.chapters.advice import NAMES
from tierwise.report.chapters.conclusion_rows import Found, cheapest_with_flash, gather, name_of
from tierwise.report.display import Figure, Sentence
from tierwise.report.figures import parts
from tierwise.report.formats import count, listed, number, percent, percents
from tierwise.report.prices import book_of
from tierwise.report.reference import open_reference
from tierwise.report.run import Run

MOST_WORDS: Final = 150
INDEXES, TABLES, EVERYTHING = "indexes ssd", "tables ssd", "all ssd"
NOTHING: Final = "nothing"
"""What is moved where no placement saves time."""
HEAT: Final = "reading/heat.sql"
"""The query of a study with the requests to each relation, and in what time."""
APART: Final = ": "
"""What stands between workload and placement in a row's name."""
DIGITS: Final = 12
"""Digits of a share that are kept: threads add in any order, and the last ones differ from run to run."""
WAL: Final = "WAL"
"""The topic of a study's `answer` on where the log belongs."""


@dataclass(frozen=True)
class Compared:
    """The gains of one workload, and which comes first: a table or the indexes (`Verdict` of "a table saves more")."""

    workload: str
    evidence: str
    gains: tuple[Gain, ...]

    @property
    def table(self) -> Gain | None:
        tables = [gain for gain in self.gains if gain.placement not in {INDEXES, EVERYTHING}]
        return min(tables, key=lambda gain: gain.estimate.value or 1.0, default=None)

    @property
    def indexes(self) -> Gain | None:
        """Return the gain of all indexes on the SSD; `None` where that was not measured."""
        return next((gain for gain in self.gains if gain.placement == INDEXES), None)

    @property
    def tables_first(self) -> Verdict:
        """Return whether a table saves more: confirmed where the whole interval of table over indexes lies below 1, contradicted where it
        lies above.
        """
        if self.table is None or self.indexes is None:
            return Verdict.NOT_MEASURED
        ratio = geometric_estimate(paired_ratios(self.table.ratios, self.indexes.ratios))
        if ratio.low is None or ratio.high is None:
            return Verdict.UNDECIDED
        return Verdict.CONFIRMED if ratio.high < 1 else Verdict.CONTRADICTED if ratio.low > 1 else Verdict.UNDECIDED


def compared(found: Found) -> list[Compared]:
    """Return the workloads of a run that have five clean repeats of some placement and of everything on disks."""
    told = []
    names = heat.brief(map(name_of, found.workloads))
    for workload in found.workloads:
        if gains := gains_of(workload):
            told.append(Compared(names[name_of(workload)], str(workload.evidence), gains))
    return told


def finding(every: Sequence[Compared]) -> str:
    words = Counter(one.tables_first for one in every)
    outcomes = {Verdict.CONFIRMED: ("tables", "come"), Verdict.CONTRADICTED: ("indexes", "come"), Verdict.UNDECIDED: ("neither", "comes")}
    there = [(*outcome, words[word]) for word, outcome in outcomes.items() if words[word]]
    asked = sum(words[word] for word in outcomes)
    if not asked:
        return "Tables first or indexes first: no answer yet"
    (who, come, times), *others = there
    told = [f"{who} {come} first in {count(times)} of {_workloads(asked)}", *(f"{other} in {count(number)}" for other, _, number in others)]
    return f"On the SSD, {listed(told)}"


def _workloads(asked: int) -> str:
    return f"{count(asked)} {'workload' if asked == 1 else 'workloads'}"


def answer(run: Run) -> Sentence:
    return Sentence("\n\n".join(f"**{head}.** {' '.join(filter(None, sentences))}" for head, sentences in paragraphs(run).items()))


def paragraphs(run: Run) -> dict[str, list[str]]:
    """Return what the answer says of what was found, what to do, what it costs, and how far to trust it, sentence by sentence, as
    Markdown.
    """
    found = gather(run)
    every = compared(found)
    return {
        "What was found": [_first(run, every), *_topics(run)],
        "What to do": [_advice(every)],
        "What it costs": [_cheapest(found), _cloud(run)],
        "How far to trust it": [_trust(run)],
    }


def answering(run: Run) -> Run:
    """Return `run`; the reference run where no workload of `run` has an answer."""
    return run if run.is_reference or compared(gather(run)) else open_reference() or run


def shares(run: Run, asked: pl.DataFrame) -> pl.DataFrame:
    """Return what each placement leaves of a job's time: a row for each workload, placement and replicate, of those that `compared` takes.

    `asked`: the rows of `heat.every` in `run`. Columns: run, evidence, workload, placement, replicate (from 1) and share (time over that
    with everything on disks; 1: nothing gained).
    """
    return pl.DataFrame(
        [
            (run.run_id, one.evidence, one.workload, gain.placement, replicate + 1, round(ratio, DIGITS))
            for one in compared(gather(run, asked))
            for gain in one.gains
            for replicate, ratio in gain.ratios.items()
        ],
        schema={
            "run": pl.String,
            "evidence": pl.String,
            "workload": pl.String,
            "placement": pl.String,
            "replicate": pl.Int64,
            "share": pl.Float64,
        },
        orient="row",
    )


def gains(run: Run, rows: pl.DataFrame) -> Figure | Sentence:
    """Draw what each placement leaves of a job's time, by workload, from the rows of `shares`: those of `run`, or of the reference run."""
    if rows.is_empty():
        return Sentence("")
    every = [
        Compared(
            str(workload),
            str(evidence),
            tuple(
                Gain(str(placement), dict(part.select("replicate", "share").rows()))
                for (placement,), part in of.group_by("placement", maintain_order=True)
            ),
        )
        for (workload, evidence), of in rows.group_by("workload", "evidence", maintain_order=True)
    ]
    found = finding(every)
    shown = rows["run"][0]
    title = found if shown == run.run_id else f"No answer yet; the reference run: {found[0].lower()}{found[1:]}"
    chart, width_px = _chart(every, title)
    evidence_kinds = listed(sorted(f"**{evidence}**" for evidence in rows["evidence"].unique()))
    reference = None if shown == run.run_id else open_reference()
    stamp = reference.stamp if reference else f"{run.stamp}{_others(run)}"
    pace = (
        "; slowed: on tiers slowed so far that they bind and not the processors"
        if any(heat.SLOWED in one.workload for one in every)
        else ""
    )
    caption = (
        "Time of a job over that with everything on disks (100 %: nothing gained; further left: more gained): geometric mean "
        f"over the replicates with its 95 % interval, log axis{pace}. {stamp}, {evidence_kinds} tiers, "
        f"n = {count(len(rows))} repeats. Query: {listed(f'`{studies.path(study, HEAT)}`' for study in heat.placeable())}."
    )
    return Figure(chart, caption, width_px + parts.BESIDE_PX, rows.with_columns(pl.col("placement").replace(NAMES)))


def _others(run: Run) -> str:
    others = [f"`{device}` as {tier} of `{pair}`" for pair, tiers in run.devices.items() for tier, device in tiers.items()]
    return f" with {listed(others)}" if others else ""


def _first(run: Run, every: Sequence[Compared]) -> str:
    both = [one for one in every if one.table and one.indexes]
    if not both:
        worst = max(rejections(run.connection), key=lambda one: one.share, default=None)
        why = f": {percent(worst.share)} of the {worst.evidence} rows are rejected" if worst and worst.rejected else ""
        return f"Tables or indexes first: no answer yet, since no workload has {MINIMUM_REPEATS} clean repeats{why}."
    stamp = listed(sorted({one.evidence for one in both}))
    ahead = [one for one in both if one.tables_first in DECIDED]
    if not ahead:
        return f"{finding(both)} ({stamp})."
    left = {
        side: percents(gain.estimate.value for one in ahead if (gain := getattr(one, side)) and gain.estimate.value is not None)
        for side in ("table", "indexes")
    }
    where = "A" if len(ahead) == len(both) else "Where decided, a"
    return f"{finding(both)}. {where} table leaves {left['table']} of a job's time, indexes {left['indexes']} ({stamp})."


def _topics(run: Run) -> list[str]:
    told: dict[str, str] = {module.TOPIC: module.answer(run) for module in study_registry.modules("answer")}
    told.setdefault(WAL, "")
    return [f"{topic}: {text or 'not measured.'}" for topic, text in sorted(told.items())]


def _advice(every: Sequence[Compared]) -> str:
    if not every:
        return "No advice yet: @sec-conclusion says what is missing."
    moved: dict[str, list[str]] = {}
    for one in every:
        moved.setdefault(_moved(one), []).append(one.workload.removeprefix("The ").replace(" study's ", "'s "))
    there = sorted(moved.items(), key=lambda item: item[0] == NOTHING)
    told = {
        what: "; ".join(name for name in names if not (name.endswith(heat.SLOWED) and name.removesuffix(heat.SLOWED) in names))
        for what, names in there
    }
    return f"Move {', '.join(f'{what} ({names})' for what, names in told.items())}."


def _moved(one: Compared) -> str:
    """Return what to move to the SSD, by the rule of `advisor.ranking`."""
    best = advised(one.gains)
    name = best.placement if best else NOTHING
    among = {INDEXES: "all indexes", TABLES: "all tables", EVERYTHING: "everything", NOTHING: NOTHING}
    return among.get(name, f"`{name.removesuffix(' ssd')}`")


def _cheapest(found: Found) -> str:
    flash, every = cheapest_with_flash(found)
    if not every:
        return "What a job costs has no answer yet."
    return f"Cheapest with an SSD: {count(flash)} of {count(every)} workloads (@sec-cost)."


def _cloud(run: Run) -> str:
    priced = volumes.priced(run)
    if not priced:
        return "Cloud: no price is known."
    offer, per_month = priced[0]
    return f"Cloud, published prices: {volumes.told()} from {number(per_month)} {book_of(run).currency}/month (`{offer.volume}`)."


def _trust(run: Run) -> str:
    decided = [claim for claim in run.verdicts if claim.verdict in DECIDED]
    models = sum(claim.evidence is Evidence.SIMULATED for claim in decided)
    smoke = " A smoke run is no answer." if run.manifest.profile.get("name") == "smoke" else ""
    return (
        f"{count(len(decided))} of {count(len(run.verdicts))} published statements decided (@sec-summary), {count(models)} on models "
        f"alone. One run, one machine.{smoke}"
    )


def _look(placement: str) -> tuple[str, str]:
    return {INDEXES: ("square", theme.BLUE), EVERYTHING: ("diamond", theme.GREEN)}.get(placement, ("circle", theme.VERMILLION))


def _headed(width_px: int) -> alt.Axis:
    """Labels of workloads as heads, and below each those of its placements alone: a phone has space for the plot."""
    of_placement = f"indexof(datum.label, '{APART}') > 0"
    weight = {"condition": {"test": of_placement, "value": "normal"}, "value": 600}
    return parts.labels(width_px, labelExpr=f"{of_placement} ? split(datum.label, '{APART}')[1] : datum.label", labelFontWeight=weight)


def _chart(every: Sequence[Compared], title: str) -> tuple[alt.LayerChart, int]:
    rows = pl.DataFrame(
        [
            {
                "row": f"{one.workload}{APART}{NAMES.get(gain.placement, gain.placement)}",
                "share": gain.estimate.value,
                "low": gain.estimate.low,
                "high": gain.estimate.high,
                "told": percent(gain.estimate.value or 0.0),
                "shape": _look(gain.placement)[0],
                "colour": _look(gain.placement)[1],
            }
            for one in every
            for gain in sorted(one.gains, key=lambda gain: gain.estimate.value or 1.0)
        ]
    )
    width_px = parts.label_px(line for row in rows["row"] for line in row.split(APART))
    low, high = min(0.1, *rows["low"]) / 1.3, max(1.0, *rows["high"]) * 1.05
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    named = [(row.split(APART)[0], row) for row in rows["row"]]
    heads = [*dict.fromkeys(row for pair in named for row in pair)]  # each workload above its placements
    y = alt.Y("row:N", scale=alt.Scale(domain=heads), title=None, axis=_headed(width_px))
    axis = alt.Axis(
        format="%", values=parts.log_ticks(low, high), title="time of a job (all on disks: 100 %)", labelOverlap="greedy", labelSeparation=6
    )
    base = alt.Chart(rows).encode(y=y)
    rule = base.mark_rule(strokeWidth=2, color=theme.MARK).encode(x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q")
    points = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=alt.X("share:Q", scale=scale, axis=axis),
        shape=alt.Shape("shape:N", scale=None),
        color=alt.Color("colour:N", scale=None),
        tooltip=[alt.Tooltip("row:N", title="placement"), *(alt.Tooltip(f"{name}:Q", format=".1%") for name in ("share", "low", "high"))],
    )
    text = base.mark_text(align="left", dx=8).encode(x=alt.datum(high, scale=scale), text="told:N")  # beside the plot, clear of its lines
    one = alt.Chart(pl.DataFrame({"one": [1.0]})).mark_rule(strokeDash=[4, 4], color=theme.QUIET).encode(x=alt.X("one:Q", scale=scale))
    chart = alt.LayerChart(
        layer=[one, rule, points, text],
        title=title,
        width=parts.PLOT_PX,
        height=alt.Step(18),
        description=f"{title}. What each placement leaves of a job's time.",
    )
    return chart, width_px + parts.label_px(rows["told"])
