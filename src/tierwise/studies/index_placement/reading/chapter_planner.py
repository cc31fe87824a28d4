"""The part on the census study's planner (M6): what it estimated, what today's makes of it, and what explains the difference."""

import math
from collections.abc import Sequence
from typing import Any, Final

from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, count, listed, number, percent, span
from tierwise.report.run import Run

STUDY: Final = "index_placement"
PUBLISHED_PLANNER: Final[dict[str, dict[str, float]]] = {
    "12": {"rows": 12_800, "found_rows": 54_445, "total_cost": 36_708.78},
    "33": {"rows": 11_686, "total_cost": 33_965.20},
}
"""EXPLAIN output in the census study, by place of birth."""
PLACES: Final = {"12": "Florida", "72": "Puerto Rico", "32": "Nevada", "33": "New Hampshire"}
ORDERS: Final = {"state": "state by state", "random": "at random"}
"""Order of the rows of the sampled table."""
ESTIMATED: Final = ("rows_at_published_size", "cost_at_published_size")
SAMPLED: Final = ("12", "33")
"""The two places of birth whose plans the census study printed."""


def planner(run: Run, pair: str) -> Table | Sentence:
    """Tabulate for M6 what the planner estimates with the published switches and today, beside the published figures."""
    facts = _facts(run, pair)
    estimates: dict[str, dict[str, Any]] = facts.get("published_switches") or {}
    if not estimates:
        return Sentence(f"This run has no planner figures for the pair `{pair}`.")
    rows = []
    for code, here_ in estimates.items():
        published = PUBLISHED_PLANNER.get(code, {})
        rows.append(
            [
                PLACES.get(code, f"pob = {code}"),
                count(here_["rows"]),
                count(here_["found_rows"]),
                number(here_["rows"] / here_["found_rows"]) if here_["found_rows"] else DASH,
                number(published["rows"] / published["found_rows"]) if "found_rows" in published else DASH,
                f"{here_['total_cost']:,.2f}",
                f"{published['total_cost']:,.2f}" if published else DASH,
                str(facts.get("today", {}).get(code, {}).get("scan", DASH)),
            ]
        )
    return Table(
        ["Place of birth", "Estimated", "Found", "Estimated / found", "Published", "Cost", "Published", "Scan chosen today"],
        rows,
        "The planner's estimates with the published switches (M6), and the scan that it chooses today without them. Costs and counts "
        "grow with the data, so compare estimated over found. The columns Published are **published**. "
        f"{run.facts_note(pair, len(rows), 'statements')}",
        align="lrrrrrrl",
    )


def samples(run: Run, pair: str) -> Table | Sentence:
    """Return what the planner estimates at the published size, by order of the rows and by how much ANALYZE looks at."""
    found = _facts(run, pair).get("samples") or []
    if not found:
        return Sentence("")
    published = (PUBLISHED_PLANNER[code] for code in SAMPLED)
    told = (text for of in published for text in (count(round(of["rows"])), f"{of['total_cost']:,.2f}"))
    rows = [["the census study", DASH, DASH, DASH, *told]]
    for sample in found:
        estimates = (sample["estimates"][code][name] for code in SAMPLED for name in ESTIMATED)
        described = [ORDERS.get(sample["order"], sample["order"]), count(sample["statistics_target"])]
        known = [_range(sample["correlation"], 2), span(sample["most_common"])]
        rows.append([*described, *known, *(_range(values) for values in estimates)])
    places = [PLACES[code] for code in SAMPLED]
    header = [text for place in places for text in (f"{place}: rows", "cost")]
    return Table(
        ["Order of rows", "Statistics target", "Correlation", "Values listed", *header],
        rows,
        "Rows and cost that the planner estimates for the two published plans, brought to the published size, over "
        f"{count(len(found[0]['correlation']))} runs of ANALYZE each, which look at different samples. Values listed: places of birth "
        "whose frequency it keeps; the others share what is left. The row of the census study is **published**. "
        f"{run.facts_note(pair, sum(len(sample['correlation']) for sample in found), 'runs of ANALYZE')}",
        align="lrrrrrrr",
    )


def explained(run: Run, pair: str) -> Sentence:
    """Return which statistics come nearest to the published estimates, and which order of the rows the published costs imply."""
    facts = _facts(run, pair)
    found, implied = facts.get("samples") or [], facts.get("explained") or {}
    if not found or not implied:
        return Sentence("")
    nearest = min(found, key=_distance)
    target = nearest["statistics_target"]
    alike = (one for one in found if one["statistics_target"] == target)
    here = listed(f"{_range(one['correlation'], 2)} with the rows {ORDERS.get(one['order'])}" for one in alike)
    correlations = listed(number(of["correlation"]) for of in implied.values() if of.get("correlation") is not None)
    off = percent(math.expm1(_distance(nearest)))
    return Sentence(
        f"Nearest to both published plans come a statistics target of {target} and rows that lie {ORDERS.get(nearest['order'])}: no "
        f"published figure, of rows or of cost, is further than {off} from an estimate. The published costs "
        f"imply a correlation between place of birth and the order of the rows of {correlations} (but for its sign); here it is {here}."
    )


def _facts(run: Run, pair: str) -> dict[str, Any]:
    record = run.record(STUDY, pair)
    return (record.facts.get("planner") or {}) if record else {}


def _distance(sample: dict[str, Any]) -> float:
    keys = zip(ESTIMATED, ("rows", "total_cost"), strict=True)
    return max(
        min(abs(math.log(value / PUBLISHED_PLANNER[code][published])) for value in sample["estimates"][code][ours])
        for ours, published in keys
        for code in SAMPLED
    )


def _range(values: Sequence[float], digits: int = 3) -> str:
    low, high = number(min(values), digits), number(max(values), digits)
    return low if low == high else f"{low} to {high}"
