"""The census: synthetic, with the real sample's counts and structure at any size, and from a file, whose faults are named."""

import bz2
import re
import runpy
from collections.abc import Callable
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
from tierwise.datasets.dataset import Dataset

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


NAMES = list(census.TYPES)
Rows = list[list[str]]


def acquire(path: Path, folder: Path) -> Dataset:
    return census.acquire(f"file:{path}", fraction=0.5, seed=1, folder=folder)


def good_rows(count: int) -> Rows:
    plain = {"boolean": "0", "integer": "-7", "text": "P"}
    rows = [[plain[kind] for kind in census.TYPES.values()] for _ in range(count)]
    for place, row in enumerate(rows):
        row[NAMES.index("AGE")] = str(place)
    return rows


def tab_separated(rows: Rows) -> str:
    """Write rows as the real raw file has them: no header, a blank line at the end."""
    return "".join("\t".join(row) + "\n" for row in rows) + "\n"


def with_header(rows: Rows) -> str:
    """Write rows as the real sample has them: a header and a leading row index."""
    return "".join(",".join(row) + "\n" for row in [["", *NAMES], *([str(place), *row] for place, row in enumerate(rows))])


def ages(data: Dataset) -> list[int]:
    return pl.read_parquet(data.parquet)["AGE"].to_list()


def test_all_of_the_real_sample_comes_through(tmp_path: Path) -> None:
    source = shared("realdata", "census1990", "hUSCensus1990raw50K.csv.bz2")
    data = acquire(source, tmp_path)
    expected = pl.read_csv(bz2.decompress(source.read_bytes())).drop("")
    frame = pl.read_parquet(data.parquet)
    assert data.rows == frame.height == 50_000
    assert frame.columns == NAMES
    for name in NAMES:
        assert (
            frame[name]
            .cast(pl.Int8 if frame[name].dtype == pl.Boolean else frame[name].dtype)
            .cast(pl.String)
            .equals(expected[name].cast(pl.String))
        ), name
    assert "fraction" in data.provenance["what"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("blank_lines", [0, 1, 2])
def test_lines_may_end_as_on_windows_and_the_file_with_blank_lines_or_with_none(tmp_path: Path, end: str, blank_lines: int) -> None:
    source = tmp_path / "USCensus1990raw.data.txt"
    source.write_bytes((tab_separated(good_rows(5)).strip("\n").replace("\n", end) + end * blank_lines).encode())
    assert ages(acquire(source, tmp_path)) == [0, 1, 2, 3, 4]


def test_columns_with_a_header_may_stand_in_any_order(tmp_path: Path) -> None:
    source = tmp_path / "rows.csv"
    rows = good_rows(3)
    source.write_text("".join(",".join(reversed(row)) + "\n" for row in [NAMES, *rows]))
    data = acquire(source, tmp_path)
    assert pl.read_parquet(data.parquet).columns == NAMES
    assert ages(data) == [0, 1, 2]


MALFORMED = [
    ("AGE", "x", "a whole number of 32 bits is needed"),
    ("AGE", "1.5", "a whole number of 32 bits is needed"),
    ("AGE", "", "a whole number of 32 bits is needed"),
    ("INCOME1", "2147483648", "a whole number of 32 bits is needed"),
    ("AAGE", "2", "0 or 1 is needed"),
    ("AAGE", "", "0 or 1 is needed"),
    ("SERIALNO", "", "a value is needed"),
    ("RECTYPE", "\udcff", "UTF-8 text is needed"),
]


@pytest.mark.parametrize("written", [tab_separated, with_header])
@pytest.mark.parametrize(("column", "value", "rule"), MALFORMED)
def test_a_malformed_value_is_named_by_line_column_value_and_rule(
    tmp_path: Path, written: Callable[[Rows], str], column: str, value: str, rule: str
) -> None:
    source = tmp_path / "rows.txt"
    rows = good_rows(50)
    rows[40][NAMES.index(column)] = value
    source.write_text(written(rows), errors="surrogateescape")
    with pytest.raises(InputError) as caught:
        acquire(source, tmp_path / "made")
    error = caught.value
    shown = None if value == "\udcff" else value
    assert (error.where, error.field, error.value) == (f"rows.txt line {41 + (written is with_header)}", column, shown)
    assert error.rule == rule
    assert list((tmp_path / "made").iterdir()) == []


def test_a_fault_far_into_a_large_file_is_found_at_its_line(tmp_path: Path) -> None:
    source = tmp_path / "rows.txt"
    rows = good_rows(60_000)
    rows[47_654][NAMES.index("POB")] = "?"
    source.write_text(tab_separated(rows))
    with pytest.raises(InputError, match=r"rows\.txt line 47655: POB is '\?': a whole number of 32 bits is needed"):
        acquire(source, tmp_path)


@pytest.mark.parametrize(
    ("change", "line", "count"),
    [
        pytest.param(lambda rows: rows[7].append("0"), 8, 126, id="one too many"),
        pytest.param(lambda rows: rows[7].pop(), 8, 124, id="one too few"),
        pytest.param(lambda rows: rows[9].clear(), 10, 1, id="only a blank"),
        pytest.param(lambda rows: rows[0].pop(), 1, 124, id="in the first line"),
    ],
)
def test_a_wrong_number_of_fields_is_named(tmp_path: Path, change: Callable[[Rows], None], line: int, count: int) -> None:
    source = tmp_path / "rows.txt"
    rows = good_rows(10)
    change(rows)
    source.write_text("".join(("\t".join(row) or " ") + "\n" for row in rows))
    with pytest.raises(InputError, match=rf"rows\.txt line {line}: number of fields is {count}: 125 fields are needed"):
        acquire(source, tmp_path)


def test_an_empty_line_before_the_end_is_no_row(tmp_path: Path) -> None:
    source = tmp_path / "rows.txt"
    rows = tab_separated(good_rows(6)).splitlines()
    source.write_text("\n".join([*rows[:3], "", *rows[3:6]]) + "\n")
    with pytest.raises(InputError, match=r"rows\.txt line 4: AAGE is '': 0 or 1 is needed"):
        acquire(source, tmp_path)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (["", *NAMES[:-1]], r"line 1: header is 'YRSSERV': the column is missing"),
        (["", *NAMES, "EXTRA"], r"line 1: header is 'EXTRA': not one of the 125 columns"),
        (["", *NAMES, "AAGE"], r"line 1: header is 'AAGE': .*more than once"),
        ([*NAMES, ""], r"line 1: header is '': not one of the 125 columns"),
    ],
)
def test_a_header_must_name_the_125_columns_once_each(tmp_path: Path, header: list[str], message: str) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("".join(",".join(row) + "\n" for row in [header, *good_rows(2)]))
    with pytest.raises(InputError, match=message):
        acquire(source, tmp_path)


@pytest.mark.parametrize("content", ["", "\n\n", ",".join(NAMES) + "\n"])
def test_a_file_without_rows_is_refused(tmp_path: Path, content: str) -> None:
    source = tmp_path / "rows.csv"
    source.write_text(content)
    with pytest.raises(InputError, match=r"rows\.csv: rows is 0: at least one is needed"):
        acquire(source, tmp_path)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.csv.*cannot be read: No such file"):
        acquire(tmp_path / "absent.csv", tmp_path)


@pytest.mark.parametrize("source", ["downloaded", "file:", "real", ""])
def test_an_unknown_source_names_the_ones_there_are(tmp_path: Path, source: str) -> None:
    with pytest.raises(InputError, match=r"name one of: synthetic, download, file:PATH"):
        census.acquire(source, fraction=1, seed=1, folder=tmp_path)
