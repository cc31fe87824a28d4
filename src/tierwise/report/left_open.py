"""Tables of what a text leaves open: the value of its claim at each setting, on one page with the share that agrees."""

from tierwise.analysis.left_open import OpenMap, Point
from tierwise.analysis.rules import Verdict
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, count, interval, number
from tierwise.report.run import Run
from tierwise.report.words import bounds, marked


def answer(run: Run, claim_id: str) -> Sentence:
    """Say how much of the map agrees with the claim, and what it and one setting alone would say."""
    claim = next(one for one in run.verdicts if one.id == claim_id)
    mapped = claim.open_map
    if mapped is None:
        return Sentence(f"This run has no map of what the text of {claim_id} leaves open.")
    text = mapped.agreement.replace(str(mapped.evidence), f"**{mapped.evidence}**")
    return Sentence(f"Of the map of {claim_id}, {text}; one setting alone says {marked(mapped.at_one)}, the whole {marked(claim.verdict)}.")


def table(run: Run, claim_id: str, what: str, source: str) -> Table | Sentence:
    """Tabulate the map, a column for each setting of its last axis; `what` is the value's name, `source` where it comes from."""
    claim = next(one for one in run.verdicts if one.id == claim_id)
    mapped = claim.open_map
    if mapped is None:
        return Sentence("")
    *beside, last = mapped.axes
    columns = list(dict.fromkeys(point.setting[last] for point in mapped.points))
    rows = list(dict.fromkeys(tuple(point.setting[axis] for axis in beside) for point in mapped.points))
    at = {tuple(point.setting.values()): point for point in mapped.points}
    return Table(
        [*(axis.capitalize() for axis in beside), *(f"{last.capitalize()}: {column}" for column in columns)],
        [[*row, *(_cell(at.get((*row, column))) for column in columns)] for row in rows],
        f"{what}, over what the text of {claim_id} leaves open (95 % interval; in bold what lies wholly within {bounds(claim)}, with a "
        f"question mark what holds a bound): {_counted(mapped)}. {run.stamp}, pair `{claim.pair}`, **{mapped.evidence}**, "
        f"n = {count(len(mapped.points))} settings of {_repeats(mapped)} repeats each; {source}.",
        align="l" * len(beside) + "r" * len(columns),
    )


def _counted(mapped: OpenMap) -> str:
    return mapped.agreement.split(" (")[0]


def _cell(point: Point | None) -> str:
    if point is None:
        return DASH
    text = f"{number(point.estimate)} ({interval(point.low, point.high)})"
    return {Verdict.CONFIRMED: f"**{text}**", Verdict.UNDECIDED: f"{text}?"}.get(point.verdict, text)


def _repeats(mapped: OpenMap) -> str:
    found = sorted({point.pairs for point in mapped.points})
    return count(found[0]) if len(found) == 1 else f"{count(found[0])} to {count(found[-1])}"
