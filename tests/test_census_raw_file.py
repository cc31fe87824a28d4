"""The census from a file: the raw tab-separated file or a CSV; whatever is malformed is named by line, column, value and rule."""

import bz2
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from support import shared
from tierwise.core.errors import InputError
from tierwise.datasets import census
from tierwise.datasets.dataset import Dataset

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
