"""Whether a run would take a file of the reader's: its format, rows, columns and values without one, and the first fault."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from tierwise.core.errors import InputError
from tierwise.core.paths import short
from tierwise.core.text_table import table
from tierwise.datasets.dataset import Reading, located

FIRST_ROWS: Final = 10_000  # what is checked of a file before a run begins
_READERS: Final = {"census": "tierwise.datasets.census.raw_file", "sky": "tierwise.datasets.sky.reader"}


class Checked(BaseModel):
    """What is read of a file; `columns` (our name: the file's) is empty where the file names none."""

    data_set: str
    file: str
    format: str
    rows: int
    columns: dict[str, str]
    absent: list[str]
    nulls: dict[str, int]
    fault: str | None


def check(data_set: str, source: str) -> Checked:
    return _read(data_set, source)[0]


def check_first_rows(sources: Mapping[str, str]) -> dict[str, str]:
    """Refuse, before anything runs, a file whose header or first rows are wrong; returns the sources."""
    for data_set, source in sources.items():
        if source.startswith("file:") and (fault := _read(data_set, source, FIRST_ROWS)[1]):
            raise fault
    return dict(sources)


def _read(data_set: str, source: str, most_rows: int | None = None) -> tuple[Checked, InputError | None]:
    kind, _, name = source.partition(":")
    if kind != "file" or not name:
        raise InputError(f"--{data_set}", value=source, rule="must be file:PATH", remedy=f"--{data_set} file:PATH names the file to check")
    read: Callable[[Path], Reading] = import_module(_READERS[data_set]).read
    reading = read(located(name))
    reading.most_rows = most_rows
    rows, nulls, fault = 0, dict[str, int](), None
    columns: list[str] = []
    try:
        for part in reading.tables:
            columns = part.schema.names
            rows += part.num_rows
            for column in columns:
                nulls[column] = nulls.get(column, 0) + part[column].null_count
            if most_rows is not None and rows >= most_rows:
                break
        if not rows:
            raise InputError(short(reading.source), field="rows", value=0, rule="at least one is needed")
    except InputError as error:
        fault = error
    absent = [column for column in columns if column not in reading.columns] if reading.columns else []
    checked = Checked(
        data_set=data_set,
        file=short(reading.source),
        format=reading.format,
        rows=rows,
        columns=reading.columns,
        absent=absent,
        nulls={column: count for column, count in nulls.items() if count and column not in absent},
        fault=str(fault) if fault else None,
    )
    return checked, fault


def as_text(checked: Checked) -> str:
    shown = {
        "format": checked.format or "unknown",
        "rows": f"{checked.rows:,}",
        "columns": ", ".join(ours if ours == theirs else f"{ours} ({theirs})" for ours, theirs in checked.columns.items()),
        "absent": ", ".join(checked.absent),
        "NULLs": ", ".join(f"{column} {count:,}" for column, count in checked.nulls.items()),
        "first fault": checked.fault or "none",
    }
    return table((checked.data_set, checked.file), [(name, text) for name, text in shown.items() if text])
