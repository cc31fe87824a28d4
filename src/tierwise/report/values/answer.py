"""The tables of the answer: what to move for each workload, the cheapest placement, and every placement, on each pair's drives."""

from typing import Any, Final

import polars as pl

from tierwise.advisor.ranking import NOTHING, SPEEDUP
from tierwise.analysis.model_interval import Key
from tierwise.report.estimates import cell, estimates
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, number, seconds, with_interval
from tierwise.report.reference import open_reference
from tierwise.report.run import Run
from tierwise.report.values.front import LOG, MODEL, advice, answers, beside
from tierwise.report.values.workloads import NAMES, cheapest, costs, gather, name_of, speedups, title

SOURCE_PAIRS, REFERENCE = "source", "reference"
TITLES: Final = {SOURCE_PAIRS: "The studies' drives", REFERENCE: "The reference run"}
NOT_MEASURED: Final = "not measured"
UNCLEAR: Final = "unclear: "  # the drives' unknown values can turn the advice
PROCESSORS: Final = "; with processors "
NOT_COMPARABLE: Final = "not comparable"  # the drives of today were slowed by another factor than the source's


def advised(run: Run) -> pl.DataFrame:
    """Return the rows of `front.answers` with `whose`: a pair of today, the sources' drives, or the reference run's."""
    reference = None if run.is_reference else open_reference()
    parts = {one: answers(run, one) for one in run.manifest.todays_pairs if one != run.manifest.reader_pair}
    parts[SOURCE_PAIRS] = answers(run)
    parts |= {REFERENCE: answers(reference)} if reference else {}
    return pl.concat(part.with_columns(whose=pl.lit(whose), flag=pl.lit("none")) for whose, part in parts.items())


def advised_facts(rows: pl.DataFrame) -> dict[str, object]:
    """Return the cells, among them the reasons that stand in place of an answer, and whether one has a model interval, for the caption."""
    found = advised_cells(rows)
    cells = {cell for row in found.rows for cell in row} if found else set()
    marks = {"with_model": MODEL, "unclear": UNCLEAR, "processors": PROCESSORS}
    fewer = rows.group_by("workload", maintain_order=True).agg(pl.col("queries").n_unique()).filter(pl.col("queries") > 1)["workload"]
    return {
        "reasons": cells,
        "fewer": [str(one).partition(" (")[0] for one in fewer],
        **{name: any(mark in cell for cell in cells) for name, mark in marks.items()},
    }


def advised_cells(rows: pl.DataFrame) -> Cells | None:
    own = rows.filter(whose=SOURCE_PAIRS)
    if own.is_empty():
        return None
    groups = {str(whose): part for (whose,), part in rows.group_by("whose", maintain_order=True)}
    kinds = dict(own.group_by("workload").agg(pl.col("evidence").unique().sort().str.join(", ")).rows())
    cells = [
        [str(workload), *(_advice(part, str(workload)) for part in groups.values()), kinds[workload]]
        for workload in own["workload"].unique(maintain_order=True)
    ]
    return Cells(["Workload", *(TITLES.get(whose) or title(whose) for whose in groups), "Evidence"], cells, "l" * (len(groups) + 2))


def _advice(rows: pl.DataFrame, workload: str) -> str:
    found = rows.filter(workload=workload)
    if found.is_empty():
        return NOT_MEASURED
    best = NOT_COMPARABLE if not found["comparable"].all() else advice(found)
    mark = UNCLEAR if found["unclear"].any() else ""
    if best == NOTHING and set(found["placement"]) == {LOG}:  # the one move: it may cost more than it is worth
        gain = estimates(found, ["placement"], "speedup")[LOG,]
        best, mark = ((LOG, gain), f"{NOTHING}: ") if (gain.high or 1.0) < 1 else (best, mark)
    if isinstance(best, str):
        return best
    key = Key(found["pair"][0], SPEEDUP, workload, best[0], "", found["io_mode"][0])
    paced = estimates(found.filter(placement=best[0]).drop_nulls("with_processors"), ["placement"], "with_processors")
    processors = "".join(f"{PROCESSORS}{cell(one)}" for one in paced.values())
    return f"{mark}{best[0]}, {cell(best[1])}{beside(key, best[1])}{processors}"


ANY: Final = "any placement"
NEAR: Final = 1.1  # costs up to this ratio are not ranked (assumed): replicates and prices are not surer than that


def cheapest_placements(run: Run) -> pl.DataFrame:
    """Return the cheapest placement of each operation: on drives of today at prices of now, on the source's at prices of then."""
    todays = [one for one in run.manifest.todays_pairs if one != run.manifest.reader_pair]
    whose = pl.when(pl.col("pair").is_in(todays)).then("pair").otherwise(pl.lit(SOURCE_PAIRS))
    every, of = costs(run), ["workload", "pair"]
    near = pl.col("shared_usd") <= NEAR * pl.col("shared_usd").min().over(of)
    by_cost = every.sort("shared_usd", maintain_order=True).with_columns(near=near).group_by(of, maintain_order=True)
    found = by_cost.agg(near=pl.col("placement").filter("near").slice(1), any=pl.col("near").all() & (pl.len() > 2))
    return cheapest(every).join(found, on=of, how="left").with_columns(whose=whose)


def cheapest_cells(rows: pl.DataFrame) -> Cells | None:
    if rows.is_empty():
        return None
    found = {(row["operation"], row["whose"]): row for row in rows.rows(named=True)}
    groups = sorted(rows["whose"].unique(maintain_order=True), key=lambda whose: whose == SOURCE_PAIRS)
    cells = [
        [operation[0].upper() + operation[1:], *(_cheapest(found.get((operation, whose))) for whose in groups)]
        for operation in rows["operation"].unique(maintain_order=True)
    ]
    return Cells(["Operation", *(TITLES.get(whose) or title(whose) for whose in groups)], cells, "l" * (len(groups) + 1))


def _cheapest(row: dict[str, Any] | None) -> str:
    if row is None:
        return DASH
    placement = ANY if row["any"] else " or ".join([row["placement"], *row["near"]])
    return f"{placement}, {number(row['shared_usd'], 2)}"


SCHEMA: Final[dict[str, Any]] = {
    **dict.fromkeys(("workload", "placement", "pair", "evidence"), pl.String),
    "job_s": pl.Float64,
    "job_rank": pl.Int64,
    **dict.fromkeys(("today", "today_low", "today_high"), pl.Float64),
}


def placements(run: Run) -> pl.DataFrame:
    """Return each placement of each workload: the time of a job on the source's drives, and the speed-up on the pairs of today."""
    gains = {one: speedups(run, one) for one in run.manifest.todays_pairs}
    found: list[tuple[Any, ...]] = []
    for workload in gather(run):
        known = {name: one for name, one in workload.measured.items() if one.estimate.value is not None}
        ordered = sorted(known, key=lambda name: known[name].estimate.value or 0.0)
        for rank, name in enumerate(ordered if len(ordered) > 1 else (), start=1):
            shown, measured = (name_of(workload), NAMES[name]), known[name]
            found.append((*shown, workload.pair, str(measured.evidence), measured.estimate.value, rank, None, None, None))
            for other, one in gains.items():
                if gain := one.get((workload.study, workload.name, name)):
                    found.append((*shown, other, str(workload.evidence), None, None, gain.value, gain.low, gain.high))
    return pl.DataFrame(found, schema=SCHEMA, orient="row")


def placement_cells(rows: pl.DataFrame) -> Cells:
    own, pairs = rows.drop_nulls("job_s"), rows.drop_nulls("today")["pair"].unique(maintain_order=True).to_list()
    gains = {(row["workload"], row["placement"], row["pair"]): row for row in rows.drop_nulls("today").rows(named=True)}
    cells = [
        [
            row["workload"],
            row["placement"],
            f"{seconds(row['job_s'])} ({row['job_rank']})",
            *(_gain(gains.get((row["workload"], row["placement"], pair))) for pair in pairs),
        ]
        for row in own.rows(named=True)
    ]
    return Cells(["Workload", "Placement", "A job (rank)", *map(title, pairs)], cells, "llr" + "r" * len(pairs))


def _gain(row: dict[str, float | None] | None) -> str:
    value, low, high = (row[name] if row else None for name in ("today", "today_low", "today_high"))
    return DASH if value is None or low is None or high is None else with_interval(value, low, high)
