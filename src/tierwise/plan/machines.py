"""How long and how expensive a run is on several machines: whole replicates, the longest first, each on the machine that is free first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final

from tierwise.core.errors import InputError
from tierwise.core.text_table import table
from tierwise.plan.estimate import Plan

MOST: Final = 100_000


@dataclass(frozen=True)
class Fleet:
    """Estimated minutes of a run on `machines`, with the time of the report, and the price of all machines until then."""

    machines: int
    minutes: float
    price: float | None


def parsed(text: str) -> list[int]:
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


def as_text(found: Sequence[Fleet]) -> str:
    rows = [(str(one.machines), f"{one.minutes:.1f}", "" if one.price is None else f"{one.price:.2f}") for one in found]
    return table(("machines", "minutes", "price"), rows, numbers=range(3))
