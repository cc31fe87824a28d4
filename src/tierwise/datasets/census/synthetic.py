"""A synthetic census file: seeded, of any size up to the real one's, and clustered as the real one is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tierwise.core.progress import Progress
from tierwise.datasets.census import facts as census
from tierwise.datasets.census.facts import ROWS, SCHEMA, Bools, Chosen, Facts, Floats, Ints, State, load_facts, stage


@dataclass(frozen=True)
class StateBlock:
    state: State
    serial: Ints
    head: Ints  # place (within the block) of the first row of the same household
    role: Ints  # code of RELAT1, or `PARTNERED_HEAD`

    def __len__(self) -> int:
        return len(self.role)


def ranks(rng: np.random.Generator, rows: int) -> Ints:
    return rng.integers(0, census.RESOLUTION, rows, dtype=np.uint16).astype(np.int32)


def apportion(total: int, weights: npt.ArrayLike) -> Ints:
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
    role[place == 0] = census.HEAD
    role[(place == 0) & partnered[household]] = census.PARTNERED_HEAD
    role[(place == 1) & partnered[household]] = census.SPOUSE
    role = np.where(in_quarters[household], facts.group_quarters.draw(ranks(rng, rows)), role)
    households_at_full_size = state.rows * ROWS / facts.sample_rows / mean_size(facts)
    step = max(1.0, state.last_serial / households_at_full_size)
    return StateBlock(state, np.floor((household + 1) * step).astype(np.int32), head, role)


LEAST_AREAS: Final = 4


def birth_shares(states: Sequence[State], rows: Ints, wanted: Mapping[int, int]) -> tuple[Ints, Floats]:
    """Return the codes, and each state's shares of them: the sample's, with those of `wanted` scaled to their counts in all `rows`."""
    codes = np.array(sorted({code for state in states for code in state.pob} | set(wanted)))
    table = np.array([[state.pob.get(int(code), 0) for code in codes] for state in states], dtype=np.float64)
    table /= table.sum(axis=1, keepdims=True)
    fixed = np.isin(codes, list(wanted))
    counts = np.array([wanted[int(code)] for code in codes[fixed]])
    table[:, fixed] *= counts / (rows @ table[:, fixed])
    table[:, ~fixed] *= ((1 - table[:, fixed].sum(axis=1)) / table[:, ~fixed].sum(axis=1))[:, None]
    return codes, table


def draw_births(block: StateBlock, codes: Ints, share: Floats, facts: Facts, rng: np.random.Generator) -> Ints:
    """Draw places of birth, which decide how many heap pages an index scan on POB touches: by state, area and household."""
    rows = len(block)
    areas = max(LEAST_AREAS, round(rows / facts.places["area_rows"]))
    mixes = _mixes(areas, share, codes == block.state.fips, facts, rng)
    edges = (mixes.cumsum(axis=1) + np.arange(areas)[:, None]).ravel()
    area = block.head * areas // rows

    own, households = (np.searchsorted(edges, area + rng.random(rows), side="right") - area * len(codes) for _ in range(2))
    place = np.where(rng.random(rows) < facts.shared["POB"], households[block.head], own)
    return np.asarray(codes[place.clip(0, len(codes) - 1)])


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


class People:
    """Fills the columns of `block`, whose places of birth are `pob`; one instance, one call of `fill`."""

    def __init__(self, block: StateBlock, pob: Ints, facts: Facts, rng: np.random.Generator):
        self.block, self.facts, self.rng = block, facts, rng
        self.columns: dict[str, Ints] = {"POB": pob, "SERIALNO": block.serial}
        self.stage = self._person()

    def fill(self) -> dict[str, Ints]:
        self._birth()
        for name, table in self.facts.by_stage.items():
            self.columns[name] = table.draw(self._ranks(name), self.stage)
        applies = {name: self._applies(name) for name in self.facts.universes}
        for name, (universe, _) in self.facts.applying.items():
            self.columns[name] = np.where(applies[universe], self._answers(name), 0)
        self.columns["REARNING"] = self._income(1, 2, 3)
        self.columns["RPINCOME"] = self._income(*range(1, 9))
        return self.columns

    def _ranks(self, name: str) -> Ints:
        """Draw ranks for a column: some of the household's members have its head's, where the column runs in households."""
        own = ranks(self.rng, len(self.block))
        if name not in self.facts.shared:
            return own
        alike = self.rng.random(len(own), dtype=np.float32) < self.facts.shared[name]
        return np.where(alike, own[self.block.head], own)

    def _person(self) -> Ints:
        role, head, person = self.block.role, self.block.head, self.facts.person
        sex = person["SEX"].draw(self._ranks("SEX"), role)
        sex = np.where(role == census.SPOUSE, 1 - sex[head], sex)
        age = person["AGE"].draw(self._ranks("AGE"), role)
        partnered = (role == census.SPOUSE) | (role == census.PARTNERED_HEAD)
        unemployed = stage(age, sex, np.zeros_like(sex), partnered)
        employed = person["EMPLOYED"].draw(self._ranks("EMPLOYED"), unemployed)
        self.columns |= {"RELAT1": np.where(role == census.PARTNERED_HEAD, census.HEAD, role), "SEX": sex, "AGE": age}
        return stage(age, sex, employed, partnered)

    def _birth(self) -> None:
        """Citizenship and the recode of the place of birth, which follow from it (code book: CITIZEN, RPOB)."""
        pob = self.columns["POB"]
        citizen = np.select([pob < 60, pob < 100], [0, 1], self.facts.birth.abroad.draw(self._ranks("CITIZEN")))
        recode = np.zeros(100, dtype=np.int32)
        recode[list(self.facts.birth.recode)] = list(self.facts.birth.recode.values())
        recode[self.block.state.fips] = 10
        self.columns["CITIZEN"] = citizen
        self.columns["RPOB"] = np.where(pob < 100, recode[np.minimum(pob, 99)], np.array([0, 0, 40, 51, 52])[citizen])

    def _applies(self, name: str) -> Bools:
        universe = self.facts.universes[name]
        if isinstance(universe, Chosen):
            return np.isin(self.columns[universe.column], universe.values)
        return np.asarray(universe.draw(ranks(self.rng, len(self.block)), self.stage) == 1)

    def _answers(self, name: str) -> Ints:
        answers = self.facts.applying[name][1].draw(self._ranks(name))
        if name not in self.facts.own_state:
            return answers
        own = self.rng.random(len(self.block), dtype=np.float32) < self.facts.own_state[name]
        return np.where(own[self.block.head] if name in self.facts.shared else own, self.block.state.fips, answers)

    def _income(self, *kinds: int) -> Ints:
        return np.asarray(np.sum([self.columns[f"INCOME{kind}"] for kind in kinds], axis=0, dtype=np.int32))


VERSION: Final = 1
LEAST_FRACTION: Final = 0.001


def counts_at(fraction: float) -> dict[int, int]:
    return {census.STATES[state]: round(count * fraction) for state, count in census.COUNTS.items()}


def state_batches(fraction: float, seed: int) -> Iterator[pa.RecordBatch]:
    """Yield the file in order, a batch for each state of residence; a fraction has fewer households in each, and these stay whole."""
    facts = load_facts()
    states = facts.states
    layout_seed, people_seed = np.random.SeedSequence(seed).spawn(2)
    rng = np.random.default_rng(layout_seed)
    rows = apportion(round(ROWS * fraction), [state.rows for state in states])
    wanted = counts_at(fraction)
    codes, shares = birth_shares(states, rows, wanted)
    laid: list[StateBlock] = [lay_out(state, int(count), facts, rng) for state, count in zip(states, rows, strict=True)]
    pob = np.concatenate([draw_births(block, codes, share, facts, rng) for block, share in zip(laid, shares, strict=True)])
    make_exact(pob, wanted, rng)
    born = np.split(pob, np.cumsum(rows)[:-1])
    for block, where, block_seed in zip(laid, born, people_seed.spawn(len(states)), strict=True):
        columns = People(block, where, facts, np.random.default_rng(block_seed)).fill()
        yield pa.RecordBatch.from_arrays([_array(name, kind, columns) for name, kind in census.TYPES.items()], schema=SCHEMA)


def write(parquet: Path, *, fraction: float, seed: int) -> dict[str, Any]:
    progress = Progress("census: generating", round(ROWS * fraction))
    with pq.ParquetWriter(parquet, SCHEMA, compression="zstd") as writer:
        for batch in state_batches(fraction, seed):
            writer.write_batch(batch, row_group_size=batch.num_rows)
            progress.step(batch.num_rows)
    facts = load_facts()
    return {
        "what": "synthetic rows drawn from distilled facts of the real file; no row is a real person's",
        "facts": "data/datasets/census1990.json",
        "pob_counts": {state: counts_at(fraction)[code] for state, code in census.STATES.items()},
        "assumed": list(facts.assumed),
    }


def _array(name: str, kind: str, columns: dict[str, Ints]) -> pa.Array:
    if name == "RECTYPE":
        return pa.repeat("P", len(columns["POB"]))
    if kind == "boolean":
        return pa.array(columns[name].astype(np.bool_))
    values = pa.array(columns[name].astype(np.int32))
    return values.cast(pa.string()) if kind == "text" else values
