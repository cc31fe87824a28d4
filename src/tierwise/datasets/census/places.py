"""Places of birth of the synthetic file, which decide how many heap pages an index scan on POB touches: by state, area and household."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from tierwise.datasets.census.facts import Facts, Floats, Ints, State
from tierwise.datasets.census.households import StateBlock

LEAST_AREAS: Final = 4


def shares(states: Sequence[State], rows: Ints, wanted: Mapping[int, int]) -> tuple[Ints, Floats]:
    """Return the codes, and each state's shares of them: the sample's, with those of `wanted` scaled to their counts in all `rows`."""
    codes = np.array(sorted({code for state in states for code in state.pob} | set(wanted)))
    table = np.array([[state.pob.get(int(code), 0) for code in codes] for state in states], dtype=np.float64)
    table /= table.sum(axis=1, keepdims=True)
    fixed = np.isin(codes, list(wanted))
    counts = np.array([wanted[int(code)] for code in codes[fixed]])
    table[:, fixed] *= counts / (rows @ table[:, fixed])
    table[:, ~fixed] *= ((1 - table[:, fixed].sum(axis=1)) / table[:, ~fixed].sum(axis=1))[:, None]
    return codes, table


def draw(block: StateBlock, codes: Ints, share: Floats, facts: Facts, rng: np.random.Generator) -> Ints:
    rows = len(block)
    areas = max(LEAST_AREAS, round(rows / facts.places["area_rows"]))
    mixes = _mixes(areas, share, codes == block.state.fips, facts, rng)
    edges = (mixes.cumsum(axis=1) + np.arange(areas)[:, None]).ravel()
    area = block.head * areas // rows

    own, households = (np.searchsorted(edges, area + rng.random(rows), side="right") - area * len(codes) for _ in range(2))
    place = np.where(rng.random(rows) < facts.shared["POB"], households[block.head], own)
    drawn: Ints = codes[place.clip(0, len(codes) - 1)]
    return drawn


def _mixes(areas: int, share: Floats, home: Ints, facts: Facts, rng: np.random.Generator) -> Floats:
    """Each area's shares of the codes: beta for those born in the state, Dirichlet for the others; their mean is the state's."""
    at_home = share[home].sum()
    strength = facts.places["home_concentration"]
    native = rng.beta(strength * at_home, strength * (1 - at_home), size=areas)
    others = rng.standard_gamma(facts.places["else_concentration"] * share / (1 - at_home), size=(areas, len(share)))
    others[:, home] = 0
    mixes: Floats = others / others.sum(axis=1, keepdims=True) * (1 - native)[:, None]
    mixes[:, home] = native[:, None]
    mean = mixes.mean(axis=0)
    mixes *= np.divide(share, mean, out=np.zeros_like(share), where=mean > 0)
    mixes /= mixes.sum(axis=1, keepdims=True)
    return mixes


def make_exact(pob: Ints, wanted: Mapping[int, int], rng: np.random.Generator) -> None:
    """Change as few places of birth as it takes for the counts of `wanted` to hold."""
    fixed = list(wanted)
    for code, count in wanted.items():
        while missing := count - int(np.count_nonzero(pob == code)):
            is_code, is_free = pob == code, ~np.isin(pob, fixed)
            here, before = (is_free, is_code) if missing > 0 else (is_code, is_free)
            able = 1 + np.flatnonzero(here[1:] & before[:-1])
            rows = rng.permutation(able if len(able) else 1 + np.flatnonzero(here[1:]))[: abs(missing)]
            pob[rows] = code if missing > 0 else pob[rows - 1]  # as its neighbour, so that runs stay runs
