"""The 125 columns of one block of the synthetic file."""

import numpy as np

from tierwise.datasets.census.facts import HEAD, PARTNERED_HEAD, SPOUSE, Bools, Chosen, Facts, Ints, stage
from tierwise.datasets.census.households import StateBlock, ranks


class People:
    """Fills the columns of `block`, whose places of birth are `pob`; one instance, one call of `fill`."""

    def __init__(self, block: StateBlock, pob: Ints, facts: Facts, rng: np.random.Generator):
        self.block, self.facts, self.rng = block, facts, rng
        self.columns: dict[str, Ints] = {"POB": pob, "SERIALNO": block.serial}
        self.stage = self._person()

    def fill(self) -> dict[str, Ints]:
        """Return every column of `COLUMNS` but RECTYPE, which is the same in every row."""
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
        sex = np.where(role == SPOUSE, 1 - sex[head], sex)
        age = person["AGE"].draw(self._ranks("AGE"), role)
        partnered = (role == SPOUSE) | (role == PARTNERED_HEAD)
        unemployed = stage(age, sex, np.zeros_like(sex), partnered)
        employed = person["EMPLOYED"].draw(self._ranks("EMPLOYED"), unemployed)
        self.columns |= {"RELAT1": np.where(role == PARTNERED_HEAD, HEAD, role), "SEX": sex, "AGE": age}
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
        applies: Bools = universe.draw(ranks(self.rng, len(self.block)), self.stage) == 1
        return applies

    def _answers(self, name: str) -> Ints:
        answers = self.facts.applying[name][1].draw(self._ranks(name))
        if name not in self.facts.own_state:
            return answers
        own = self.rng.random(len(self.block), dtype=np.float32) < self.facts.own_state[name]
        return np.where(own[self.block.head] if name in self.facts.shared else own, self.block.state.fips, answers)

    def _income(self, *kinds: int) -> Ints:
        income: Ints = np.sum([self.columns[f"INCOME{kind}"] for kind in kinds], axis=0, dtype=np.int32)
        return income
