"""The placement problem solved by mixed-integer programming (SciPy's `milp`, which is HiGHS).

The answer is exact all the same: what the solver's tolerances let through beyond a limit is cut off, and solved again.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
import scipy

from tierwise.advisor.placing import ALIKE, Placement, Problem
from tierwise.core.errors import InputError, TierwiseError
from tierwise.core.vocabulary import Goal

SCALE: Final = 1e6
"""The largest coefficient of the objective, so that the solver's absolute gap (1e-6) is far below any difference that matters."""
INFEASIBLE: Final = 2
"""The status by which `scipy.optimize.milp` says that nothing meets all constraints."""

Row = Mapping[int, float]
"""A row of the problem maps the number of a column to its coefficient."""


def solve(problem: Problem, goal: Goal) -> Placement:
    """Return the best placement; of equally good ones one with the fewest bytes on limited tiers.

    Raises:
        InputError: no placement is within the limits; says which limit, and the least that it would have to be.
    """
    model = _Model(problem)
    best = model.best(goal)
    if best is None:
        raise _infeasible(problem)
    return model.best(goal, at_most=problem.objective(best, goal)) or best


class _Model:
    """Columns: a yes or no for each relation on each tier, then devices of each tier. Rows are shares: the solver wants them near one."""

    def __init__(self, problem: Problem):
        self._problem = problem
        self._cells = [(relation, tier) for relation in problem.relations for tier in problem.tiers]
        self._devices = {tier: len(self._cells) + number for number, tier in enumerate(problem.tiers)}
        self._rows: list[tuple[Row, float, float]] = []
        for relation in problem.relations:
            self._rows.append(({number: 1.0 for number, (name, _) in enumerate(self._cells) if name == relation}, 1.0, 1.0))
        whole = sum(problem.sizes_bytes.values()) or 1
        for tier, space in problem.capacity_bytes.items():
            self._at_most(self._on(tier, {name: size / whole for name, size in problem.sizes_bytes.items()}), space / whole)
        for tier, column in self._devices.items():
            space_taken = {name: size / problem.devices_bytes[tier] for name, size in problem.sizes_bytes.items()}
            time_taken = {name: problem.jobs_per_s * at[tier] for name, at in problem.service_s.items()}
            for taken in (space_taken, time_taken):
                self._at_most({**self._on(tier, taken), column: -1.0}, 0.0)
        if problem.budget is not None and problem.prices:
            self._at_most({column: price / problem.budget for column, price in self._money().items()}, 1 + ALIKE)

    def best(self, goal: Goal, *, at_most: float | None = None) -> Placement | None:
        """Return the placement with the least of `goal`, or with `at_most` of it and the fewest bytes on limited tiers; `None`: there is
        none.
        """
        wanted = self._wanted(goal)
        extra: list[tuple[Row, float, float]] = []
        if at_most is not None:
            scale = at_most or 1.0
            extra = [({column: value / scale for column, value in wanted.items()}, -np.inf, at_most / scale * (1 + ALIKE))]
            wanted = self._limited_bytes()
        while (found := self._solved(wanted, extra)) is not None:
            alike = at_most is None or self._problem.objective(found, goal) <= at_most * (1 + ALIKE)
            if self._problem.feasible(found) and alike:
                return found
            cut = {number: 1.0 for number, (name, tier) in enumerate(self._cells) if found[name] == tier}
            extra.append((cut, -np.inf, len(found) - 1.0))
        return None

    def _solved(self, wanted: Row, extra: list[tuple[Row, float, float]]) -> Placement | None:
        columns, tiers = len(self._cells) + len(self._devices), self._problem.tiers
        objective = np.zeros(columns)
        for column, value in wanted.items():
            objective[column] = value
        whole = np.arange(columns) < len(self._cells)
        found = scipy.optimize.milp(
            objective * SCALE / (np.abs(objective).max() or 1.0),
            constraints=_constraint([*self._rows, *extra], columns),
            integrality=whole.astype(int),
            bounds=scipy.optimize.Bounds(0, np.where(whole, 1.0, np.inf)),
            options={"mip_rel_gap": 0.0},
        )
        if found.x is None:
            if found.status == INFEASIBLE:
                return None
            raise TierwiseError(f"the solver gave up: {found.message}")
        chosen = found.x[: len(self._cells)].reshape(-1, len(tiers)).argmax(axis=1)
        return {relation: tiers[number] for relation, number in zip(self._problem.relations, chosen, strict=True)}

    def _wanted(self, goal: Goal) -> Row:
        if goal is Goal.CHEAPEST:
            return self._money()
        return {number: self._problem.service_s[name][tier] for number, (name, tier) in enumerate(self._cells)}

    def _money(self) -> Row:
        return {column: self._problem.prices[tier] for tier, column in self._devices.items()}

    def _limited_bytes(self) -> Row:
        limited = self._problem.capacity_bytes
        return {number: self._problem.sizes_bytes[name] for number, (name, tier) in enumerate(self._cells) if tier in limited}

    def _on(self, tier: str, amounts: Mapping[str, float]) -> Row:
        return {number: amounts[name] for number, (name, at) in enumerate(self._cells) if at == tier}

    def _at_most(self, row: Row, limit: float) -> None:
        self._rows.append((row, -np.inf, limit))


def _constraint(rows: list[tuple[Row, float, float]], columns: int) -> "scipy.optimize.LinearConstraint":
    entries = [(number, column, value) for number, (row, _, _) in enumerate(rows) for column, value in row.items()]
    numbers, of, values = zip(*entries, strict=True)
    low, high = zip(*((low, high) for _, low, high in rows), strict=True)
    return scipy.optimize.LinearConstraint(scipy.sparse.csr_array((values, (numbers, of)), shape=(len(rows), columns)), low, high)


def _infeasible(problem: Problem) -> InputError:
    """Why nothing is within the limits: the space of all tiers together, or the budget."""
    free = replace(problem, budget=None)
    cheapest = _Model(free).best(Goal.CHEAPEST) if problem.prices else None
    if problem.budget is None or cheapest is None:
        rule = f"the tables and indexes take {sum(problem.sizes_bytes.values()):,} bytes and do not fit"
        return InputError("tiers", field="capacity_bytes", value=dict(problem.capacity_bytes), rule=rule, remedy="give more space")
    rule = f"no placement is that cheap; the cheapest one costs {free.cost_a_month(cheapest):.3g} a month"
    return InputError("--budget", value=problem.budget, rule=rule, remedy="give a larger budget, or fewer jobs per hour")
