"""What a budget of minutes buys: whole replicates, in an order that the reference run alone decides (``data/plan/intervals.toml``)."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final

from pydantic import Field

from tierwise.bench.inputs import Inputs
from tierwise.bench.live import turns_of
from tierwise.bench.simulation import SimulatedStudy
from tierwise.bench.study import interleave
from tierwise.bench.study_registry import load_study, pairs_of
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.text_template import render
from tierwise.core.toml import Strict, read_toml
from tierwise.plan.estimate import Plan

LEAST: Final = 5  # replicates from which on a study has intervals: its first ones are bought together
PRIOR: Final = 2  # without an interval, a case counts as wide as after this many replicates
MARGIN: Final = 1.15  # how much longer than expected a replicate may take: none begins that cannot end within the budget then
SECONDS: Final = {"s": 1, "m": 60, "h": 3600}
Unit = tuple[str, int]  # a study and the number of one of its replicates


class Spread(Strict):
    claim: str
    case: str
    log_sd: float = Field(gt=0, description="standard deviation of the logs of one replicate's value, in the reference run")
    decided_from: int = Field(ge=0, description="replicates from which on the case is expected to be decided; 0: more than 100")

    def width(self, replicates: int) -> float:
        """Return the expected width of the 95 % interval, in logs."""
        from scipy.special import stdtrit  # noqa: PLC0415  heavy

        n = replicates if replicates >= LEAST else PRIOR
        return float(2 * stdtrit(n - 1, 0.975) * self.log_sd / n**0.5)


class Intervals(Strict):
    run: str = Field(description="reference run that the spreads come from")
    studies: Mapping[str, tuple[Spread, ...]]

    def widest(self, study: str, replicates: int) -> Spread | None:
        """Return the widest open case of `study` after this many replicates."""
        few, known = replicates < LEAST, self.studies.get(study, ())
        left = [one for one in known if few or not one.decided_from or replicates < one.decided_from]
        return max(left, key=lambda one: one.width(replicates), default=None)


@dataclass(frozen=True)
class Bought:
    """What a budget buys on `machines`: replicates by study, the minutes with the report's, and the machines' price."""

    machines: int
    replicates: Mapping[str, int]
    minutes: float
    price: float | None


def seconds_in(text: str) -> float:
    """Return the seconds of a budget such as ``60m``, ``2h`` or ``90s``; 0 of an empty one."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text.strip())
    if text and (found is None or not float(found[1])):
        raise InputError("BUDGET", value=text, rule="must be a number above 0 with the unit s, m or h", remedy="BUDGET=60m")
    return float(found[1]) * SECONDS[found[2]] if found else 0.0


def load_intervals() -> Intervals:
    return read_toml(paths.data() / "plan" / "intervals.toml", Intervals)


def expected_seconds(plan: Plan, inputs: Inputs) -> dict[Unit, float]:
    """Return the expected seconds of every replicate that `plan` would measure, with loading; the first one has today's pairs, too."""
    found: dict[Unit, float] = {}
    for name in dict.fromkeys(line.study for line in plan.measured):
        if unknown := [line.pair for line in plan.measured if line.study == name and line.minutes is None]:
            rule = f"needs recorded times, which profile {plan.profile} lacks of {name} on {unknown[0]}"
            raise InputError("BUDGET", rule=rule, remedy="use PROFILE=smoke, quick or full")
        turns = _turns_by_replicate(name, inputs)
        each_s = plan.seconds_of(name) / turns.total()
        found |= {(name, number): turns[number] * each_s for number in sorted(turns)}
    return found


def _turns_by_replicate(name: str, inputs: Inputs) -> Counter[int]:
    study, replicates = load_study(name), inputs.profile.replicates_of(name)
    counted: Counter[int] = Counter()
    for pair in pairs_of(study, inputs.pairs, inputs.reader_pair):
        if isinstance(study, SimulatedStudy):
            turns = interleave(study.trials(inputs.profile, pair), replicates=replicates, seed=inputs.seed)
        else:
            turns = turns_of(study, pair, inputs, replicates)
        counted.update(turn.testbed for turn in turns)
    return counted


def ordered(expected_s: Mapping[Unit, float], intervals: Intervals) -> list[list[Unit]]:
    """Return the replicates in the order in which a budget buys them, in steps that are worth nothing by halves.

    Each step is the one by which the widest open interval of its study is expected to shrink most for each minute.
    """
    total = Counter(study for study, _ in expected_s)
    had, steps = Counter[str](), list[list[Unit]]()

    def step(study: str) -> list[Unit]:
        first = had[study]
        return [(study, number) for number in range(first, min(total[study], max(LEAST, first + 1)))]

    def worth(study: str) -> tuple[float, float]:
        units, widest = step(study), intervals.widest(study, had[study])
        cost_s = sum(expected_s[unit] for unit in units)
        shrinks = widest.width(had[study]) - widest.width(had[study] + len(units)) if widest else 0.0
        return shrinks / cost_s if cost_s else 0.0, -cost_s

    while left := [study for study in sorted(total) if had[study] < total[study]]:
        best = max(left, key=worth)
        steps.append(step(best))
        had[best] += len(steps[-1])
    return steps


def bought(steps: Sequence[Sequence[Unit]], expected_s: Mapping[Unit, float], budget_s: float, machines: int) -> tuple[Counter[str], float]:
    """Return the replicates of each study that end within `budget_s` on `machines`, and the seconds until the last of them ends."""
    free, had, last_s = [0.0] * machines, Counter[str](), 0.0
    for units in steps:
        if had[units[0][0]] < units[0][1]:  # an earlier step of this study does not fit
            continue
        tried, ends_s = list(free), list[float]()
        for unit in units:
            ends_s.append(heappop(tried) + expected_s[unit])
            heappush(tried, ends_s[-1])
        if max(ends_s) * MARGIN <= budget_s:
            free, last_s = tried, max(last_s, *ends_s)
            had.update(study for study, _ in units)
    return had, last_s


def offers(plan: Plan, inputs: Inputs, budget_s: float, machines: Sequence[int], price_per_hour: float | None) -> list[Bought]:
    """Return what `budget_s` buys on each number of machines, by default on one."""
    expected_s = expected_seconds(plan, inputs)
    steps, report_s = ordered(expected_s, load_intervals()), plan.report_minutes * 60
    found = []
    for number in machines or [1]:
        replicates, took_s = bought(steps, expected_s, budget_s - report_s, number)
        minutes = (took_s + report_s) / 60 if replicates else 0.0
        names = dict.fromkeys(study for study, _ in expected_s)
        price = None if price_per_hour is None else number * minutes / 60 * price_per_hour
        found.append(Bought(number, {name: replicates[name] for name in names}, minutes, price))
    return found


def as_text(found: Sequence[Bought], inputs: Inputs) -> str:
    intervals, last = load_intervals(), found[-1].replicates
    rows = [
        {
            "study": name,
            "of": inputs.profile.replicates_of(name),
            "replicates": [one.replicates[name] for one in found],
            "widest": intervals.widest(name, last[name]) if last[name] >= LEAST else None,
        }
        for name in last
    ]
    return render("plan/text/budget.txt", found=found, rows=rows)


MOST: Final = 100_000


@dataclass(frozen=True)
class Fleet:
    """Estimated minutes of a run on `machines`, with the time of the report, and the price of all machines until then."""

    machines: int
    minutes: float
    price: float | None


def machines_in(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",") if part]
    except ValueError:
        numbers = [0]
    if any(not 1 <= number <= MOST for number in numbers):
        raise InputError("MACHINES", value=text, rule=f"must be numbers from 1 to {MOST}, with commas between them", remedy="MACHINES=1,10")
    return numbers


def replicate_minutes(plan: Plan) -> list[float]:
    """Return the estimated minutes of each replicate that the plan would measure; a study is measured on all its pairs together."""
    found: list[float] = []
    for study in dict.fromkeys(line.study for line in plan.measured):
        replicates = max(line.replicates for line in plan.measured if line.study == study)
        found += [plan.seconds_of(study) / 60 / replicates] * replicates
    return found


def makespan(durations: Iterable[float], machines: int) -> float:
    """Return when the last of the tasks ends, if each goes to the machine that is free first, the longest tasks first."""
    free = [0.0] * machines
    heapify(free)
    for duration in sorted(durations, reverse=True):
        heappush(free, heappop(free) + duration)
    return max(free)


def fleets(plan: Plan, machines: Sequence[int], price_per_hour: float | None) -> list[Fleet]:
    replicates = replicate_minutes(plan)
    minutes = {number: makespan(replicates, number) + plan.report_minutes for number in machines}
    return [
        Fleet(number, whole, None if price_per_hour is None else number * whole / 60 * price_per_hour) for number, whole in minutes.items()
    ]
