"""The placement problem: relations, tiers, their times and prices, and its answer by looking at every placement.

No file is read here and no device is built: `Problem` holds numbers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

from tierwise.core.errors import InputError
from tierwise.core.vocabulary import Goal

MOST_RELATIONS: Final = 12  # the largest number of relations, of which every placement is looked at
ALIKE: Final = 1e-9  # relative difference of two sums that count as equal: they then differ by rounding alone

Placement = Mapping[str, str]  # a placement maps each relation to the tier that it lies on


@dataclass(frozen=True)
class Problem:
    """What may be placed where. A device serves one request after the other: it is busy `jobs_per_s` times the seconds of a job."""

    sizes_bytes: Mapping[str, int]  # relation -> bytes
    service_s: Mapping[str, Mapping[str, float]]  # relation -> tier -> seconds that its requests of one job take there
    capacity_bytes: Mapping[str, int]  # tier -> bytes that may be used; a tier that is not named has no limit
    devices_bytes: Mapping[str, int]  # tier -> bytes of one of its devices
    prices: Mapping[str, float]  # tier -> money a month for one of its devices; empty where no money is counted
    jobs_per_s: float = 0.0  # how often a job comes
    budget: float | None = None  # most money a month

    @property
    def relations(self) -> list[str]:
        return list(self.sizes_bytes)

    @property
    def tiers(self) -> list[str]:
        return list(self.devices_bytes)

    def time_s(self, placement: Placement) -> float:
        """Return seconds of the storage for one job."""
        return float(sum(self.service_s[relation][placement[relation]] for relation in self.relations))

    def used_bytes(self, placement: Placement, tier: str) -> int:
        return sum(self.sizes_bytes[relation] for relation in self.relations if placement[relation] == tier)

    def devices(self, placement: Placement) -> dict[str, float]:
        """Return shares of a device that the placement takes of each tier: of its package or of its time, whichever is more."""
        busy = {tier: sum(self.service_s[name][tier] for name in self.relations if placement[name] == tier) for tier in self.tiers}
        return {tier: max(self.used_bytes(placement, tier) / self.devices_bytes[tier], self.jobs_per_s * busy[tier]) for tier in self.tiers}

    def cost_a_month(self, placement: Placement) -> float | None:
        """Return money for `devices`; `None` where no price is counted."""
        if not self.prices:
            return None
        return sum(share * self.prices[tier] for tier, share in self.devices(placement).items())

    def fits(self, placement: Placement) -> bool:
        """Return whether every tier has space for what `placement` puts there."""
        return all(self.used_bytes(placement, tier) <= space for tier, space in self.capacity_bytes.items())

    def affordable(self, placement: Placement) -> bool:
        cost = self.cost_a_month(placement)
        return self.budget is None or cost is None or cost <= self.budget * (1 + ALIKE)

    def feasible(self, placement: Placement) -> bool:
        return self.fits(placement) and self.affordable(placement)

    def objective(self, placement: Placement, goal: Goal) -> float:
        """Return what `goal` wants least of: seconds a job, or money a month."""
        if goal is Goal.QUICKEST:
            return self.time_s(placement)
        cost = self.cost_a_month(placement)
        assert cost is not None, "a cheapest placement needs prices"
        return cost


def solve(problem: Problem, goal: Goal) -> Placement:
    """Return the best placement; of equally good ones one with the fewest bytes on limited tiers. An `InputError` says which limit no
    placement keeps, and what it would have to be.
    """
    if len(problem.relations) > MOST_RELATIONS:
        rule = f"must be at most {MOST_RELATIONS}, because every placement is looked at"
        raise InputError("tables and indexes", value=len(problem.relations), rule=rule, remedy="choose another --workload")
    feasible = [placement for placement in every(problem) if problem.feasible(placement)]
    if not feasible:
        raise _infeasible(problem)
    least = min(problem.objective(placement, goal) for placement in feasible)
    return min(
        (placement for placement in feasible if problem.objective(placement, goal) <= least * (1 + ALIKE)),
        key=lambda placement: sum(problem.used_bytes(placement, tier) for tier in problem.capacity_bytes),
    )


def _infeasible(problem: Problem) -> InputError:
    """Why nothing is within the limits: the space of all tiers together, or the budget."""
    costs = [cost for placement in every(problem) if problem.fits(placement) and (cost := problem.cost_a_month(placement)) is not None]
    if problem.budget is None or not costs:
        rule = f"the tables and indexes take {sum(problem.sizes_bytes.values()):,} bytes and do not fit"
        return InputError("tiers", field="capacity_bytes", value=dict(problem.capacity_bytes), rule=rule, remedy="give more space")
    rule = f"no placement is that cheap; the cheapest one costs {min(costs):.3g} a month"
    return InputError("--budget", value=problem.budget, rule=rule, remedy="give a larger budget, or fewer jobs per hour")


def every(problem: Problem) -> Iterator[Placement]:
    for tiers in product(problem.tiers, repeat=len(problem.relations)):
        yield dict(zip(problem.relations, tiers, strict=True))
