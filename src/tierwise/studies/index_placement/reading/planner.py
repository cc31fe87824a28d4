"""What the planner estimates for the census study's counts, as the run's manifest keeps it, beside the published EXPLAIN output."""

import math
from typing import Any, Final

import polars as pl

from tierwise.report.run import Run
from tierwise.report.text_template import Value
from tierwise.studies.index_placement.reading.names import STUDY

PUBLISHED: Final[dict[str, dict[str, float]]] = {
    "12": {"rows": 12_800, "found_rows": 54_445, "total_cost": 36_708.78},
    "33": {"rows": 11_686, "total_cost": 33_965.20},
}
"""EXPLAIN output in the census study, by place of birth."""
PLACES: Final = {"12": "Florida", "72": "Puerto Rico", "32": "Nevada", "33": "New Hampshire"}
ESTIMATED: Final = {"rows": "rows_at_published_size", "total_cost": "cost_at_published_size"}
"""Published figure -> the estimate to compare it with."""
FIGURES: Final = [(code, name) for code in PUBLISHED for name in ESTIMATED]


def facts_of(run: Run, pair: str) -> dict[str, Any]:
    """Return what the manifest keeps of the study on `pair`; empty where it was not measured."""
    record = run.record(STUDY, pair)
    return record.facts if record else {}


def planner_of(run: Run, pair: str) -> dict[str, Any]:
    return facts_of(run, pair).get("planner") or {}


def samples(run: Run, pair: str) -> pl.DataFrame:
    """Return a row for each order of the rows, statistics target and run of ANALYZE: the estimates at the published size."""
    return pl.DataFrame(
        [
            {
                **{name: sample[name] for name in ("order", "statistics_target")},
                **{name: sample[name][number] for name in ("correlation", "most_common")},
                **{f"{name}_{code}": float(sample["estimates"][code][ESTIMATED[name]][number]) for code, name in FIGURES},
            }
            for sample in planner_of(run, pair).get("samples") or []
            for number in range(len(sample["correlation"]))
        ]
    )


def explained(run: Run, pair: str) -> dict[str, Value]:
    """Return the statistics that come nearest to the published plans, how far off they are (percent), and the correlation implied there."""
    planner, rows = planner_of(run, pair), samples(run, pair)
    implied = [of["correlation"] for of in (planner.get("explained") or {}).values() if of.get("correlation") is not None]
    groups = rows.group_by("order", "statistics_target", maintain_order=True) if rows.height else ()
    off, order, target = min(((_off(part), str(order), int(str(target))) for (order, target), part in groups), default=(None, None, None))
    return {
        "planner_known": bool(rows.height and implied),
        "planner_order": order,
        "planner_target": target,
        "planner_off": off and 100 * math.expm1(off),
        "planner_implied_least": min(implied, default=None),
        "planner_implied_most": max(implied, default=None),
        "planner_correlation": planner.get("correlation"),
    }


def _off(sample: pl.DataFrame) -> float:
    """Return how far the published figure that is furthest from every estimate of `sample` is from the nearest one, as a log."""
    return max(min(abs(math.log(value / PUBLISHED[code][name])) for value in sample[f"{name}_{code}"]) for code, name in FIGURES)
