"""A table as its archive declares it: columns with SQL types, key and indexes; its Parquet schema and its DDL follow from that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from tierwise.core.toml import Strict

_ARROW: Final[dict[str, pa.DataType]] = {  # every other SQL type is text: ``character(n)``, ``text``
    "double precision": pa.float64(),
    "real": pa.float32(),
    "bigint": pa.int64(),
    "integer": pa.int32(),
    "smallint": pa.int16(),
    "date": pa.date32(),
    "boolean": pa.bool_(),
}


class Declared(Strict):
    """Columns as a TOML file has them: (SQL type, names) of runs of columns of one type, in the archive's order."""

    columns: tuple[tuple[str, str], ...]

    @property
    def types(self) -> dict[str, str]:
        return {name: kind for kind, names in self.columns for name in names.split()}


def arrow_type(sql_type: str) -> pa.DataType:
    return _ARROW.get(sql_type, pa.string())


@dataclass(frozen=True)
class Table:
    name: str
    types: Mapping[str, str]  # SQL types by column, in the archive's order
    key: Sequence[str]
    indexed: Sequence[Sequence[str]] = ()  # the columns of each index
    nullable: frozenset[str] = frozenset()

    @property
    def columns(self) -> list[str]:
        return list(self.types)

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(name, arrow_type(kind), nullable=name in self.nullable) for name, kind in self.types.items()])

    def ddl(self) -> str:
        """Return the CREATE TABLE with the primary key. Names are not quoted: in the server they are lower-case."""
        columns = [f"    {name} {kind}{'' if name in self.nullable else ' NOT NULL'}" for name, kind in self.types.items()]
        body = ",\n".join([*columns, f"    PRIMARY KEY ({', '.join(self.key)})"])
        return f"CREATE TABLE {self.name} (\n{body}\n)"

    def indexes(self) -> dict[str, str]:
        """Return a CREATE INDEX for each of `indexed`, by the index's name: ``table_column_column``, in lower case."""
        names = {"_".join((self.name, *columns)).lower(): columns for columns in self.indexed}
        return {name: f"CREATE INDEX {name} ON {self.name} ({', '.join(columns)})" for name, columns in names.items()}
