"""The rules of a raw row, one line each."""

import json
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

import polars as pl

from tierwise.core.errors import InputError
from tierwise.core.vocabulary import Cache, ClockKind, Evidence, IoMode, RelationClass
from tierwise.timings.references import FORMAT_VERSION
from tierwise.timings.schema import SCHEMA

KEY: Final = ("run_id", "study", "pair", "trial", "replicate", "step")
PARTS: Final = ("cpu_s", "device_s", "wall_s", "run_delay_s", "steal_s", "reference_s")
NULLABLE: Final = {"result_rows", *PARTS}
COUNTS: Final = ("reads", "read_bytes", "writes", "write_bytes", "intended_s", "actual_s")


class Rule(NamedTuple):
    column: str
    broken: pl.Expr  # true in each row that breaks the rule
    text: str


def validate_rows(rows: pl.DataFrame, *, where: str = "timings") -> None:
    """Raise `InputError` for the first column, then the first rule and row, of `where` that is not as `SCHEMA` and `RULES` say."""
    _check_columns(rows, where)
    if not any(rows.select(rule.broken.any().alias(str(number)) for number, rule in enumerate(RULES)).row(0)):
        return
    for rule in RULES:
        broken = rows.with_row_index("row_number", 1).filter(rule.broken)
        if not broken.is_empty():
            value = broken.get_column(rule.column).to_list()[0]
            raise InputError(where, field=f"{rule.column}, row {broken['row_number'][0]}", value=value, rule=rule.text)


def _check_columns(rows: pl.DataFrame, where: str) -> None:
    there = rows.schema
    for column in [*SCHEMA, *there]:
        if column not in there:
            raise InputError(where, field=column, rule="column is missing")
        if column not in SCHEMA:
            raise InputError(where, field=column, rule="column is not in the schema")
        if there[column] != SCHEMA[column]:
            raise InputError(where, field=column, value=str(there[column]), rule=f"type must be {SCHEMA[column]}")
    if list(there) != list(SCHEMA):
        raise InputError(where, field="columns", value=list(there), rule=f"order must be {list(SCHEMA)}")


@lru_cache(maxsize=1 << 14)
def _is_object(text: str) -> bool:
    """Return whether `text` is a JSON object; most rows of a run repeat the text of another."""
    try:
        return isinstance(json.loads(text), dict)
    except json.JSONDecodeError:
        return False


def _words(column: str, words: type[StrEnum], *, but: Iterable[StrEnum] = ()) -> Rule:
    allowed = [str(word) for word in words if word not in set(but)]
    return Rule(column, ~pl.col(column).is_in(allowed), f"must be one of {', '.join(allowed)}")


def _elements(column: str, broken: pl.Expr, text: str) -> Rule:
    return Rule(column, pl.col(column).list.eval(broken).list.any(), text)


def _field(name: str) -> pl.Expr:
    return pl.element().struct.field(name)


def _negative(*names: str) -> pl.Expr:
    return pl.any_horizontal(_field(name) < 0 for name in names)


def _unknown(name: str, words: type[StrEnum]) -> pl.Expr:
    return ~_field(name).is_in([str(word) for word in words])


def _incomplete(*names: str) -> pl.Expr:
    return pl.element().is_null() | pl.any_horizontal(_field(name).is_null() for name in names)


RULES: Final = (
    *(Rule(column, pl.col(column).is_null(), "must not be null") for column in SCHEMA if column not in NULLABLE),
    Rule("format_version", pl.col("format_version") != FORMAT_VERSION, f"must be {FORMAT_VERSION}"),
    *(Rule(column, pl.col(column) == "", "must not be empty") for column in ("run_id", "study", "pair", "trial")),
    _words("evidence", Evidence, but={Evidence.PUBLISHED}),
    _words("io_mode", IoMode),
    _words("cache", Cache),
    _words("clock", ClockKind),
    *(Rule(column, pl.col(column) < 0, "must be at least 0") for column in ("replicate", "step", "sequence", "result_rows", *PARTS)),
    Rule("elapsed_s", ~((pl.col("elapsed_s") > 0) & pl.col("elapsed_s").is_finite()), "must be more than 0 and finite"),
    *(
        Rule(column, ~pl.col(column).map_elements(_is_object, return_dtype=pl.Boolean), "must be a JSON object")
        for column in ("cell", "proof")
    ),
    _elements("flags", pl.element().is_null(), "a flag must not be null"),
    _elements("relation_io", _incomplete("relation", "relation_class", "tier", "hits", "reads", "io_basis"), "only io_s may be null"),
    _elements("relation_io", _unknown("relation_class", RelationClass), f"relation_class must be one of {', '.join(RelationClass)}"),
    _elements("relation_io", _negative("hits", "reads", "io_s"), "hits, reads and io_s must be at least 0"),
    _elements("relation_io", _field("io_basis") == "", "io_basis must say how io_s was found, or why it is null"),
    _elements("tier_io", _incomplete("tier", "evidence"), "tier and evidence must not be null"),
    _elements("tier_io", _unknown("evidence", Evidence), f"evidence must be one of {', '.join(Evidence)}"),
    _elements("tier_io", _negative(*COUNTS), "no count and no time may be below 0"),
    Rule("step", ~pl.struct(KEY).is_first_distinct(), f"({', '.join(KEY)}) must be unique"),
)
