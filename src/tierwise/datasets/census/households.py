"""The skeleton of the synthetic file: state blocks, households within them, and the role of each person."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierwise.datasets.census.columns import ROWS
from tierwise.datasets.census.facts import HEAD, PARTNERED_HEAD, RESOLUTION, SPOUSE, Facts, Ints, State


@dataclass(frozen=True)
class StateBlock:
    state: State
    serial: Ints
    head: Ints  # place (within the block) of the first row of the same household
    role: Ints  # code of RELAT1, or `PARTNERED_HEAD`

    def __len__(self) -> int:
        return len(self.role)


def ranks(rng: np.random.Generator, rows: int) -> Ints:
    return rng.integers(0, RESOLUTION, rows, dtype=np.uint16).astype(np.int32)


def apportion(total: int, weights: npt.ArrayLike) -> Ints:
    """Return `total` split in proportion to `weights` into whole numbers, by largest remainder."""
    exact = np.asarray(weights, dtype=np.float64) * (total / np.sum(weights))
    whole: Ints = exact.astype(np.int64)
    whole[np.argsort(whole - exact, kind="stable")[: total - whole.sum()]] += 1
    return whole


def mean_size(facts: Facts) -> float:
    """Return the mean number of persons in a household, those in group quarters counted as one each."""
    shape = facts.households
    quarters = shape["group_quarters_per_household"]
    return (1 + shape["partnered"] + shape["more"] * (1 + shape["further_mean"]) + quarters) / (1 + quarters)


def lay_out(state: State, rows: int, facts: Facts, rng: np.random.Generator) -> StateBlock:
    """Return a block of `rows` rows; its last household is cut where the block ends."""
    shape = facts.households
    quarters = shape["group_quarters_per_household"]
    in_quarters = rng.random(rows) < quarters / (1 + quarters)
    partnered = ~in_quarters & (rng.random(rows) < shape["partnered"])
    further = np.where(~in_quarters & (rng.random(rows) < shape["more"]), 1 + rng.poisson(shape["further_mean"], rows), 0)
    size = 1 + partnered + further
    first = np.cumsum(size) - size
    household = np.repeat(np.arange(rows), size)[:rows]
    head = first[household]
    place = np.arange(rows) - head
    role = facts.relations.draw(ranks(rng, rows))
    role[place == 0] = HEAD
    role[(place == 0) & partnered[household]] = PARTNERED_HEAD
    role[(place == 1) & partnered[household]] = SPOUSE
    role = np.where(in_quarters[household], facts.group_quarters.draw(ranks(rng, rows)), role)
    households_at_full_size = state.rows * ROWS / facts.sample_rows / mean_size(facts)
    step = max(1.0, state.last_serial / households_at_full_size)
    return StateBlock(state, np.floor((household + 1) * step).astype(np.int32), head, role)
