"""The synthetic census: at full size it looks like the real sample, at any size it has the source's counts and structure."""

import bz2
import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow.parquet as pq
import pytest
from scipy.stats import spearmanr

from support import shared
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.datasets import census
from tierwise.datasets.census import synthetic

SAMPLE = ("realdata", "census1990", "hUSCensus1990raw50K.csv.bz2")
DDL = ("seeds", "000_5de5bc8a0ae4186f.txt")
STEP = 49
SEED = 1

Array = npt.NDArray[Any]


@pytest.fixture(scope="module")
def sample() -> pl.DataFrame:
    return pl.read_csv(bz2.decompress(shared(*SAMPLE).read_bytes())).drop("")


class Full:
    """The full-size file: its places of birth and serial numbers, and of all columns every 49th row."""

    def __init__(self) -> None:
        pob, serial, every = [], [], []
        seen = 0
        for batch in synthetic.state_batches(1.0, SEED):
            frame = pl.from_arrow(batch)
            assert isinstance(frame, pl.DataFrame)
            pob.append(frame["POB"].to_numpy())
            serial.append(frame["SERIALNO"].cast(pl.Int64).to_numpy())
            every.append(frame[-seen % STEP :: STEP])
            seen += frame.height
        self.pob, self.serial = np.concatenate(pob), np.concatenate(serial)
        self.every = pl.concat(every).with_columns(pl.col(pl.Boolean).cast(pl.Int8), pl.col("SERIALNO").cast(pl.Int64))


@pytest.fixture(scope="module")
def full() -> Full:
    """Made once: some ten seconds."""
    return Full()


def distance(one: pl.Series, other: pl.Series) -> float:
    shares = [dict(column.value_counts(normalize=True).iter_rows()) for column in (one, other)]
    values = shares[0].keys() | shares[1].keys()
    return float(sum(abs(shares[0].get(value, 0) - shares[1].get(value, 0)) for value in values)) / 2


def alike(values: Array, lag: int) -> float:
    return float(np.mean(values[lag:] == values[:-lag]))


def pages_touched(pob: Array, code: int) -> float:
    """Share of heap pages, of 19 rows each as in the source's table, that hold a row of this place of birth."""
    pages = np.unique(np.flatnonzero(pob == code) // 19)
    return float(len(pages) * 19 / len(pob))


def state_blocks(serial: Array) -> Array:
    return np.concatenate([[0], np.cumsum(np.diff(serial) < 0)])


def in_one_household(serial: Array) -> Array:
    equal: Array = np.diff(serial) == 0
    return equal


def test_the_table_is_the_one_that_the_source_declares() -> None:
    declared = shared(*DDL).read_text(encoding="utf-8").split("create table census (")[1].split(");")[0]
    ours = census.ddl("census")
    read = [re.findall(r"(\w+) (boolean|integer|int|text|serial primary key)\b", text, re.IGNORECASE) for text in (declared, ours)]
    source, made = ([(name.upper(), kind.lower().replace("integer", "int")) for name, kind in found] for found in read)
    assert made == source
    assert len(source) == 126
    assert ours.startswith("CREATE TABLE census (")


def test_the_facts_are_what_the_script_distils_from_the_real_sample() -> None:
    shared(*SAMPLE)
    script = runpy.run_path(str(paths.home() / "scripts" / "distil_census.py"))
    committed = paths.data() / "datasets" / "census1990.json"
    assert script["text"]() == committed.read_text(encoding="utf-8")
    assert committed.stat().st_size < 200 * 1024


def test_the_full_size_has_the_published_rows_and_counts(full: Full) -> None:
    assert len(full.pob) == 2_458_285
    assert {state: int((full.pob == code).sum()) for state, code in census.STATES.items()} == {"FL": 54_445, "PR": 10_134, "NV": 4_722}


def test_places_of_birth_are_clustered_as_in_the_sample(full: Full, sample: pl.DataFrame) -> None:
    assert alike(sample["POB"].to_numpy(), 1) == pytest.approx(0.455, abs=0.001)
    assert alike(full.every["POB"].to_numpy(), 1) == pytest.approx(0.455, abs=0.05)


@pytest.mark.parametrize("lag", [10, 400])
def test_places_of_birth_grow_apart_with_distance_as_in_the_sample(full: Full, sample: pl.DataFrame, lag: int) -> None:
    assert alike(full.every["POB"].to_numpy(), lag) == pytest.approx(alike(sample["POB"].to_numpy(), lag), abs=0.03)


def test_state_blocks_stand_in_the_order_and_size_of_the_sample(full: Full, sample: pl.DataFrame) -> None:
    sizes, real = (np.bincount(state_blocks(serial)) for serial in (full.serial, sample["SERIALNO"].to_numpy()))
    assert len(sizes) == len(real) == 51
    assert np.abs(sizes / sizes.sum() - real / real.sum()).max() < 1e-5
    rank, real_rank = (spearmanr(pob, np.arange(len(pob))).statistic for pob in (full.pob, sample["POB"].to_numpy()))
    assert rank == pytest.approx(real_rank, abs=0.02)
    assert rank == pytest.approx(0.5, abs=0.03), "the planner's figures of the source imply about 0.5"


def test_households_cluster_places_of_birth_as_the_pairs_in_the_sample_do(full: Full, sample: pl.DataFrame) -> None:
    serial, pob = sample["SERIALNO"].to_numpy(), sample["POB"].to_numpy()
    real = (pob[1:] == pob[:-1])[in_one_household(serial)].mean()
    made = (full.pob[1:] == full.pob[:-1])[in_one_household(full.serial)].mean()
    assert made == pytest.approx(real, abs=0.04)
    assert alike(full.pob, 1) > alike(full.pob, STEP) + 0.1


def test_every_column_has_nearly_the_shares_of_the_sample(full: Full, sample: pl.DataFrame) -> None:
    money = ["REARNING", "RPINCOME", *(f"INCOME{kind}" for kind in range(1, 9))]
    others = [column for column in sample.columns if column not in (*money, "SERIALNO")]
    far = {column: distance(full.every[column].cast(pl.String), sample[column].cast(pl.String)) for column in others}
    assert {column: apart for column, apart in far.items() if apart > 0.05} == {}
    for column in money:
        at = np.linspace(0.02, 0.98, 25)
        made, real = np.quantile(full.every[column].to_numpy(), at), np.quantile(sample[column].to_numpy(), at)
        assert np.abs(made - real).max() <= 0.1 * max(np.abs(real).max(), 1), column


def test_columns_that_follow_from_others_do(full: Full) -> None:
    income = [f"INCOME{kind}" for kind in range(1, 9)]
    broken = full.every.select(
        earnings=(pl.col("REARNING") != pl.sum_horizontal(income[:3])).sum(),
        income=(pl.col("RPINCOME") != pl.sum_horizontal(income)).sum(),
        citizen=((pl.col("CITIZEN") == 0) != (pl.col("POB") < 60)).sum(),
        immigration=((pl.col("IMMIGR") == 0) != (pl.col("CITIZEN") == 0)).sum(),
        birth=((pl.col("RPOB") < 30) != (pl.col("POB") < 60)).sum(),
        occupation=((pl.col("OCCUP") == 0) != (pl.col("INDUSTRY") == 0)).sum(),
        move=((pl.col("MIGSTATE") != 0) != (pl.col("MOBILITY") == 2)).sum(),
        relative=((pl.col("RELAT2") != 0) != (pl.col("RELAT1") == 7)).sum(),
    )
    assert broken.row(0, named=True) == dict.fromkeys(broken.columns, 0)


@pytest.mark.parametrize("fraction", [0.001, 0.0137, 0.05])
def test_a_fraction_has_the_counts_in_proportion(tmp_path: Path, fraction: float) -> None:
    data = census.acquire("synthetic", fraction=fraction, seed=SEED, folder=tmp_path)
    pob = pl.read_parquet(data.parquet, columns=["POB"])["POB"]
    assert data.rows == len(pob) == round(2_458_285 * fraction)
    expected = {"FL": round(54_445 * fraction), "PR": round(10_134 * fraction), "NV": round(4_722 * fraction)}
    assert {state: int((pob == code).sum()) for state, code in census.STATES.items()} == expected


def test_a_fraction_keeps_blocks_households_and_clustering(tmp_path: Path, full: Full) -> None:
    parquet = census.acquire("synthetic", fraction=0.05, seed=SEED, folder=tmp_path).parquet
    rows = pl.read_parquet(parquet, columns=["POB", "SERIALNO"])
    pob, serial = rows["POB"].to_numpy(), rows["SERIALNO"].cast(pl.Int64).to_numpy()
    assert pq.ParquetFile(parquet).num_row_groups == state_blocks(serial)[-1] + 1 == 51
    assert in_one_household(serial).mean() == pytest.approx(in_one_household(full.serial).mean(), abs=0.02)
    for lag in (1, 3, 19, STEP):
        assert alike(pob, lag) == pytest.approx(alike(full.pob, lag), abs=0.03), lag
    for state, code in census.STATES.items():
        assert pages_touched(pob, code) == pytest.approx(pages_touched(full.pob, code), rel=0.2), state


def test_the_parquet_has_the_sources_types_and_no_nulls(tmp_path: Path) -> None:
    parquet = census.acquire("synthetic", fraction=0.001, seed=SEED, folder=tmp_path).parquet
    kinds: dict[str, pl.DataType] = {"boolean": pl.Boolean(), "integer": pl.Int32(), "text": pl.String()}
    frame = pl.read_parquet(parquet)
    assert dict(frame.schema) == {name: kinds[kind] for name, kind in census.TYPES.items()}
    assert frame.null_count().sum_horizontal().item() == 0
    assert frame["RECTYPE"].unique().to_list() == ["P"]


@pytest.mark.parametrize("fraction", [0.0009, 1.01, float("nan")])
def test_a_fraction_out_of_range_is_refused(tmp_path: Path, fraction: float) -> None:
    with pytest.raises(InputError, match=r"fraction is .*: from 0\.001 to 1"):
        census.acquire("synthetic", fraction=fraction, seed=SEED, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []
