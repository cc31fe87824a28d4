"""A raw row that breaks a rule is refused, naming file, column, row, value and rule."""

from typing import Any

import polars as pl
import pytest

from rows import make_rows
from tierwise.core.errors import InputError
from tierwise.timings.schema import SCHEMA
from tierwise.timings.validation import NULLABLE, validate_rows

ROWS = make_rows(replicates=1)


def with_value(column: str, value: Any, row: int = 3) -> pl.DataFrame:
    values = ROWS[column].to_list()
    values[row - 1] = value
    return ROWS.with_columns(pl.Series(column, values, dtype=SCHEMA[column]))


def with_field(column: str, **fields: Any) -> pl.DataFrame:
    first, *others = ROWS[column].to_list()[2]
    return with_value(column, [{**first, **fields}, *others])


def test_rows_as_the_bench_writes_them_are_valid() -> None:
    validate_rows(ROWS)


@pytest.mark.parametrize(
    ("column", "value", "rule"),
    [
        ("format_version", 3, "must be 4"),
        ("run_id", "", "must not be empty"),
        ("study", "", "must not be empty"),
        ("pair", "", "must not be empty"),
        ("trial", "", "must not be empty"),
        ("evidence", "guessed", "must be one of measured, emulated, simulated, mixed"),
        ("evidence", "published", "must be one of measured, emulated, simulated, mixed"),
        ("io_mode", "mapped", "must be one of direct, buffered"),
        ("cache", "lukewarm", "must be one of cold, hot, cross, none"),
        ("replicate", -1, "must be at least 0"),
        ("step", -1, "must be at least 0"),
        ("sequence", -1, "must be at least 0"),
        ("result_rows", -1, "must be at least 0"),
        ("elapsed_s", 0.0, "must be more than 0 and finite"),
        ("elapsed_s", -0.5, "must be more than 0 and finite"),
        ("elapsed_s", float("inf"), "must be more than 0 and finite"),
        ("elapsed_s", float("nan"), "must be more than 0 and finite"),
        ("cell", "[1]", "must be a JSON object"),
        ("cell", "{", "must be a JSON object"),
        ("proof", "cold, really", "must be a JSON object"),
        ("flags", ["overshoot", None], "a flag must not be null"),
        ("clock", "guessed", "must be one of real, virtual-one, virtual-several"),
        ("cpu_s", -0.1, "must be at least 0"),
    ],
)
def test_a_value_that_breaks_a_rule_is_named(column: str, value: Any, rule: str) -> None:
    with pytest.raises(InputError) as caught:
        validate_rows(with_value(column, value), where="x/timings.parquet")
    message = str(caught.value)
    assert message.startswith(f"x/timings.parquet: {column}, row 3")
    assert rule in message
    assert repr(value) in message


@pytest.mark.parametrize("column", [name for name in SCHEMA if name not in NULLABLE])
def test_null_is_refused(column: str) -> None:
    with pytest.raises(InputError, match=f"{column}, row 3: must not be null"):
        validate_rows(with_value(column, None))


def test_only_the_result_may_be_null() -> None:
    validate_rows(with_value("result_rows", None))


@pytest.mark.parametrize(
    ("column", "fields", "rule"),
    [
        ("relation_io", {"reads": -1}, "hits, reads and io_s must be at least 0"),
        ("relation_io", {"hits": -1}, "hits, reads and io_s must be at least 0"),
        ("relation_io", {"reads": None}, "only io_s may be null"),
        ("relation_io", {"io_s": -1e-9}, "hits, reads and io_s must be at least 0"),
        ("relation_io", {"io_basis": ""}, "io_basis must say how io_s was found, or why it is null"),
        ("relation_io", {"io_basis": None}, "only io_s may be null"),
        ("relation_io", {"relation": None}, "only io_s may be null"),
        ("relation_io", {"relation_class": "view"}, "relation_class must be one of table, index, wal"),
        ("tier_io", {"tier": None}, "tier and evidence must not be null"),
        ("tier_io", {"evidence": "guessed"}, "evidence must be one of"),
        ("tier_io", {"writes": -1}, "no count and no time may be below 0"),
        ("tier_io", {"actual_s": -0.1}, "no count and no time may be below 0"),
    ],
)
def test_a_count_that_breaks_a_rule_is_named(column: str, fields: dict[str, Any], rule: str) -> None:
    with pytest.raises(InputError, match=f"{column}, row 3.*{rule}"):
        validate_rows(with_field(column, **fields))


def test_a_directory_counts_nothing_and_that_is_valid() -> None:
    validate_rows(
        with_field("tier_io", device=None, reads=None, read_bytes=None, writes=None, write_bytes=None, intended_s=None, actual_s=None)
    )


def test_a_relations_time_may_be_unknown() -> None:
    validate_rows(with_field("relation_io", io_s=None, io_basis="strace is missing"))


def test_a_row_stands_once() -> None:
    with pytest.raises(InputError, match=r"step, row 37 is 0: \(run_id, study, pair, trial, replicate, step\) must be unique"):
        validate_rows(pl.concat([ROWS, ROWS.head(1)]))


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        (ROWS.drop("flags"), "flags: column is missing"),
        (ROWS.with_columns(note=pl.lit("x")), "note: column is not in the schema"),
        (ROWS.cast({"elapsed_s": pl.Float32}), "elapsed_s is 'Float32': type must be Float64"),
        (ROWS.with_columns(pl.col("started_at").dt.replace_time_zone(None)), "started_at is .*: type must be Datetime.*UTC"),
        (ROWS.with_columns(pl.col("started_at").dt.convert_time_zone("Europe/Rome")), "started_at is .*: type must be Datetime.*UTC"),
        (ROWS.select(sorted(SCHEMA)), "columns is .*: order must be"),
    ],
)
def test_columns_are_exactly_the_schema(rows: pl.DataFrame, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        validate_rows(rows)
