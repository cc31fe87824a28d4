"""Distil ``data/datasets/census1990.json`` from the real sample: ``PYTHONPATH=src .venv/bin/python scripts/distil_census.py``.

Needs ../shared. The sample is in file order and a random draw of about 1 row in 49 (1.3 thousand of its neighbouring rows share a
household, as such a draw gives and a strict step of 49 never would). What is taken from it: counts per state block, marginals by
stage of life, and how alike two rows are that share a household or stand next to each other. No row of it is kept.
"""

import bz2
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from tierwise.core import paths
from tierwise.core.files import write_whole
from tierwise.datasets.census.facts import HEAD, OTHER_RELATIVE, PARTNERED_HEAD, ROWS, SPOUSE, STAGES, TYPES, Bools, Ints, stage

SAMPLE = paths.home().parent / "shared" / "realdata" / "census1990" / "hUSCensus1990raw50K.csv.bz2"
SOURCE = (
    "1990 PUMS, 1 % sample, person records (US Census Bureau, public domain): counts and likenesses distilled from an excerpt of"
    " 50,000 rows in file order; SERIALNO falls where a state block begins, and the code of RPOB = 10 (born here) names the state"
)
ASSUMED = (
    "household size is one, a spouse (share of the sample), and nobody more or 1 + Poisson more: two moments fitted, the shape assumed",
    "order of persons within a household: householder, spouse, others",
    "between neighbouring households places of birth are as alike as 49 rows apart, the least distance that the sample resolves",
    "within a state, areas (runs of rows with their own mix of places of birth) of one length, their mixes beta and Dirichlet",
    "each member of a household takes the household's place of birth with one probability, whatever the age or role",
    "at a fraction below 1 an area keeps its length in rows and a state has fewer of them, but at least four",
    "given stage of life, household and universe, columns are independent; POWPUMA and MIGPUMA have no geography",
    "vacant housing units take serial numbers evenly, as many as the state's last serial number tells",
)
DERIVED = ("SERIALNO", "RECTYPE", "POB", "RPOB", "REARNING", "RPINCOME", "RELAT1", "AGE", "SEX", "CITIZEN")
FAMILY = ("ANCSTRY1", "HISPANIC", "LANG1", "MIGPUMA", "MIGSTATE", "MOBILITY", "POVERTY", "PWGT1", "RACE")
GIVEN_BY_BIRTH_OR_ROLE = ("IMMIGR", "RELAT2")
FEW, MANY, QUANTILES = 16, 600, 256


def histogram(values: Ints) -> dict[str, Any]:
    """Values and counts; beyond `MANY` distinct values, equally heavy quantiles."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) > MANY:
        steps = (np.arange(QUANTILES) + 0.5) / QUANTILES
        distinct, counts = np.unique(np.quantile(values, steps, method="inverted_cdf"), return_counts=True)
    return {"values": distinct.tolist(), "counts": counts.tolist()}


def by_key(values: Ints, keys: Ints, size: int) -> dict[str, Any]:
    """Values and their counts for each key in [0, size)."""
    distinct, place = np.unique(values, return_inverse=True)
    counts = np.zeros((size, len(distinct)), dtype=int)
    np.add.at(counts, (keys, place), 1)
    assert counts.sum(axis=1).all(), "a key without rows"
    return {"values": distinct.tolist(), "counts": counts.tolist()}


class Sample:
    """The sample's columns as arrays, and what row stands in which state block and household."""

    def __init__(self) -> None:
        frame = pl.read_csv(bz2.decompress(SAMPLE.read_bytes())).drop("")
        assert set(frame.columns) == set(TYPES)
        self.columns: dict[str, Ints] = {name: frame[name].to_numpy() for name in frame.columns if name != "RECTYPE"}
        serial = self["SERIALNO"]
        self.block = np.concatenate([[0], np.cumsum(np.diff(serial) < 0)])
        self.fips = np.array([np.unique(self["POB"][(self.block == b) & (self["RPOB"] == 10)]).item() for b in range(self.block[-1] + 1)])
        self.home: Bools = self["POB"] == self.fips[self.block]
        neighbours = self.block[1:] == self.block[:-1]
        self.together: Bools = neighbours & (serial[1:] == serial[:-1])
        self.apart: Bools = neighbours & ~self.together
        self.role = np.where((self["RELAT1"] == HEAD) & (self["RSPOUSE"] == 1), PARTNERED_HEAD, self["RELAT1"])
        self.partnered: Bools = np.isin(self.role, (SPOUSE, PARTNERED_HEAD))
        self.employed = np.isin(self["RLABOR"], (1, 2, 4, 5)).astype(int)
        self.stage = stage(self["AGE"], self["SEX"], self.employed, self.partnered)

    def __getitem__(self, name: str) -> Ints:
        return self.columns[name]

    def __len__(self) -> int:
        return len(self.block)


def copying(sample: Sample, name: str) -> float:
    """Probability of each member to take the household's value: two members are equal by it with its square, beyond neighbours."""
    values = sample[name]
    equal, both = values[1:] == values[:-1], (values[1:] != 0) & (values[:-1] != 0)
    inside, outside = equal[sample.together & both].mean(), equal[sample.apart & both].mean()
    return float(np.sqrt((inside - outside) / (1 - outside)))


def places(sample: Sample) -> dict[str, float]:
    """How strongly places of birth cluster within a state, from rows about 49 apart and more."""
    pob, block, home = sample["POB"], sample.block, sample.home
    shares = np.zeros((len(sample.fips), pob.max() + 1))
    np.add.at(shares, (block, pob), 1)
    shares /= shares.sum(axis=1, keepdims=True)
    at_home = shares[np.arange(len(sample.fips)), sample.fips]
    others = (shares**2).sum(axis=1) - at_home**2
    away = (1 - at_home) ** 2

    def excess(lag: int) -> float:
        same = (block[lag:] == block[:-lag]) & (sample["SERIALNO"][lag:] != sample["SERIALNO"][:-lag])
        return float((pob[lag:] == pob[:-lag])[same].mean() - (shares**2).sum(axis=1)[block[lag:]][same].mean())

    near, blocks = sample.apart, block[1:][sample.apart]
    spread = at_home * (1 - at_home)
    beta = spread[blocks].mean() / ((home[1:] & home[:-1])[near].mean() - (at_home**2)[blocks].mean())
    alike = ((pob[1:] == pob[:-1]) & ~home[1:])[near].mean()
    both_away = (away + spread / beta)[blocks]
    by_chance = (both_away * (others / away)[blocks]).mean()
    dirichlet = (both_away.mean() - by_chance) / (alike - by_chance)
    lags = np.array([1, 2, 3, 5, 10, 20, 50, 100])
    falling = np.array([excess(int(lag)) for lag in lags])
    half_lag = np.interp(-falling[0] / 2, -falling, lags)
    return {
        "area_rows": round(2 * float(half_lag) * ROWS / len(sample)),
        "home_concentration": round(float(beta) - 1, 2),
        "else_concentration": round(float(dirichlet) - 1, 2),
    }


def households(sample: Sample) -> dict[str, float]:
    """Shares of heads, and the zero-inflated 1 + Poisson number of further members that meets mean and pairs of the sample."""
    roles = sample["RELAT1"]
    heads, spouses, alone = ((roles == HEAD).sum(), (roles == SPOUSE).sum(), (roles >= 12).sum())
    shared = pl.DataFrame({"block": sample.block, "serial": sample["SERIALNO"]}).group_by("block", "serial").len()["len"].to_numpy()
    pairs = (shared * (shared - 1) / 2).sum() * ROWS / len(sample)
    mean = (len(sample) - heads - spouses - alone) / heads
    couple = spouses / heads
    square = 2 * pairs / heads - 2 * couple - mean - 2 * couple * mean
    ratio = square / mean
    more = (ratio - 3 + np.sqrt((ratio - 3) ** 2 + 4 * (ratio - 1))) / 2
    assert abs(mean / (1 + more) * (1 + 3 * more + more**2) - square) < 1e-9
    return {
        "group_quarters_per_household": round(float(alone / heads), 5),
        "partnered": round(float(couple), 5),
        "more": round(float(mean / (1 + more)), 5),
        "further_mean": round(float(more), 5),
    }


def universes(sample: Sample, names: Iterable[str], few: Iterable[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns that are 0 for the same persons share a universe, named by another column's values where one gives it exactly."""
    groups: dict[bytes, list[str]] = {}
    for name in names:
        groups.setdefault((sample[name] != 0).tobytes(), []).append(name)
    found: dict[str, Any] = {}
    applying: dict[str, Any] = {}
    for key, members in groups.items():
        applies = np.frombuffer(key, dtype=bool)
        found[members[0]] = _determined_by(sample, applies, few) or {"counts": by_key(applies, sample.stage, STAGES)["counts"]}
        for name in members:
            strange = sample[name] != sample.fips[sample.block] if name.endswith("STATE") else True
            applying[name] = {"universe": members[0], **histogram(sample[name][applies & strange])}
    return found, applying


def _determined_by(sample: Sample, applies: Bools, few: Iterable[str]) -> dict[str, Any] | None:
    for name in few:
        inside = np.unique(sample[name][applies])
        if not np.isin(sample[name][~applies], inside).any():
            return {"column": name, "values": inside.tolist()}
    return None


def own_state(sample: Sample, name: str) -> float:
    applies = sample[name] != 0
    return round(float((sample[name] == sample.fips[sample.block])[applies].mean()), 5)


def couples(sample: Sample) -> float:
    """Rank correlation of the ages of householder and spouse."""
    pair = sample.together & (sample.role[:-1] == PARTNERED_HEAD) & (sample.role[1:] == SPOUSE)
    ages = pl.DataFrame({"head": sample["AGE"][:-1][pair], "spouse": sample["AGE"][1:][pair]})
    return round(float(ages.select(pl.corr("head", "spouse", method="spearman")).item()), 3)


def distil(sample: Sample) -> dict[str, Any]:
    """Everything that `tierwise.datasets.census.facts` reads."""
    assert np.array_equal(sample["REARNING"], sum(sample[f"INCOME{i}"] for i in (1, 2, 3)))
    assert np.array_equal(sample["RPINCOME"], sum(sample[f"INCOME{i}"] for i in range(1, 9)))
    assert np.array_equal(sample["RELAT2"] > 0, sample["RELAT1"] == OTHER_RELATIVE)
    assert np.array_equal(sample["CITIZEN"] == 0, sample["POB"] < 60)
    assert np.array_equal(sample["CITIZEN"] == 1, (sample["POB"] >= 60) & (sample["POB"] < 100))
    free = [name for name in TYPES if name not in DERIVED]
    zeros = {name: (sample[name] != 0).tobytes() for name in free}
    wide = {zeros[name] for name in free if len(np.unique(sample[name])) > FEW or name in GIVEN_BY_BIRTH_OR_ROLE}
    many = [name for name in free if zeros[name] in wide]
    few = [name for name in free if zeros[name] not in wide]
    found, applying = universes(sample, many, ["RELAT1", "POB", *few])
    roles = sample["RELAT1"]
    return {
        "sample_rows": len(sample),
        "states": [_state(sample, block) for block in range(len(sample.fips))],
        "places": places(sample),
        "households": households(sample),
        "relations": histogram(roles[(roles > SPOUSE) & (roles < 12)]),
        "group_quarters": histogram(roles[roles >= 12]),
        "shared": {name: round(copying(sample, name), 3) for name in ("POB", *FAMILY)} | {"AGE": couples(sample)},
        "own_state": {name: own_state(sample, name) for name in ("MIGSTATE", "POWSTATE")},
        "person": {
            "AGE": by_key(sample["AGE"], sample.role, PARTNERED_HEAD + 1),
            "SEX": by_key(sample["SEX"], sample.role, PARTNERED_HEAD + 1),
            "EMPLOYED": _employed(sample),
        },
        "by_stage": {name: by_key(sample[name], sample.stage, STAGES) for name in few},
        "birth": {"abroad": histogram(sample["CITIZEN"][sample["POB"] >= 100]), "recode": _recode(sample)},
        "universes": found,
        "applying": applying,
    }


def _state(sample: Sample, block: int) -> dict[str, Any]:
    rows = sample.block == block
    codes, counts = np.unique(sample["POB"][rows], return_counts=True)
    return {
        "fips": int(sample.fips[block]),
        "rows": int(rows.sum()),
        "last_serial": int(sample["SERIALNO"][rows][-1]),
        "pob": {str(code): int(n) for code, n in zip(codes, counts, strict=True)},
    }


def _recode(sample: Sample) -> dict[str, int]:
    """RPOB of each place of birth under the United States' flag, for who lives elsewhere (10 is: born in the state of residence)."""
    elsewhere = (sample["POB"] < 100) & ~sample.home
    codes = {(int(pob), int(recode)) for pob, recode in zip(sample["POB"][elsewhere], sample["RPOB"][elsewhere], strict=True)}
    assert len(dict(codes)) == len(codes), "RPOB is not a function of POB"
    return {str(pob): recode for pob, recode in sorted(codes)}


def _employed(sample: Sample) -> dict[str, Any]:
    unemployed = stage(sample["AGE"], sample["SEX"], np.zeros_like(sample.employed), sample.partnered)
    return by_key(np.append(sample.employed, np.zeros(STAGES, dtype=int)), np.append(unemployed, np.arange(STAGES)), STAGES)


def as_text(facts: dict[str, Any]) -> str:
    """JSON with one line for each entry, so that a change can be read."""

    def lines(value: Any, depth: int) -> str:
        if depth == 0 or not isinstance(value, dict | list) or not value:
            return json.dumps(value, separators=(",", ":"))
        opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
        inner = (
            [f"{json.dumps(k)}: {lines(v, depth - 1)}" for k, v in value.items()]
            if isinstance(value, dict)
            else [lines(v, 0) for v in value]
        )
        return opening + "\n" + ",\n".join(inner) + "\n" + closing

    return lines(facts, 2) + "\n"


def text() -> str:
    """Return the whole file, from the sample."""
    return as_text({"source": SOURCE, "made_by": "scripts/distil_census.py", "assumed": list(ASSUMED), **distil(Sample())})


if __name__ == "__main__":
    target = paths.data() / "datasets" / "census1990.json"
    write_whole(target, text())
    print(f"{paths.short(target)}: {target.stat().st_size:,} bytes")
