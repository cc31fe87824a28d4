"""The registry of figures and tables: each is found by its label, as an entry of ``exhibits/tables.toml`` or as a module.

``fig-wal-rates`` is ``reading/fig_wal_rates.py`` of the study whose chapter it is in, or ``report/exhibits/figures/wal_rates.py``; a table
``tbl-wal-ratios`` is ``reading/tbl_wal_ratios.py``, or in ``tables``. A module declares

- `QUERY`, the SQL of its rows, unless a file of its name beside it (``.sql``) has them, with named parameters (``$pair``, ``$io_mode``,
  which is the I/O mode that decides, and those of `PARAMETERS`); or `rows(run, pair)`, which returns them where no SQL does;
- `UNIT`, what a row is, and `EVIDENCE`, where it is not that of the run's rows;
- `OF_RUN`, what is of the run where its rows are not used: ``nothing`` (the caption names no run) or ``prices`` (of the run's day; the
  caption leaves out the run's note);
- `PARAMETERS`, name -> the value that is used where a reader gives no other;
- `derive(run, pair, rows)`, where prices, models or the manifest add columns;
- `draw(rows)`, which returns a chart, or `tabulate(rows)`, which returns a `Cells`; None where too few replicates are clean;
- `facts(rows)`, what only its caption needs.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import polars as pl
from pydantic import Field

from tierwise.analysis.claim_rows import mode_in
from tierwise.analysis.views import ROWS
from tierwise.core import studies
from tierwise.core.errors import InputError
from tierwise.core.toml import Strict, read_table, validate
from tierwise.report import queries
from tierwise.report.queries import Made
from tierwise.report.run import Run
from tierwise.report.text_template import prose_environment

FOLDERS: Final = {"fig": "figures", "tbl": "tables"}
NAMED: Final = re.compile(r"\$([a-z_]+)")
IO_MODE: Final = "io_mode"
TABLES: Final = Path(str(files("tierwise.report"))) / "exhibits" / "tables.toml"
FLAG: Final = ("flag", "flags")  # columns that say why a row is rejected; ``none``, or nothing, where it is not


@dataclass(frozen=True)
class Cells:
    """A table as text: `align` has a letter for each column, ``l`` or ``r``."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    align: str


class Declared(Strict):
    """A table of several studies, an entry of `TABLES`; its functions lie below ``tierwise.report``, its `query` below ``tierwise``."""

    unit: str
    columns: tuple[tuple[str, ...], ...] = ()
    cells: str = ""
    rows: str = ""
    query: str = ""
    derive: str = ""
    shown: str = ""
    facts: str = ""
    of_run: str = ""
    evidence: str = ""
    words: dict[str, dict[str, str]] = Field(default_factory=dict)

    def tabulate(self, rows: pl.DataFrame) -> Cells | None:
        if self.cells:
            made: Cells | None = _function(self.cells)(rows)
            return made
        columns = [column for column in self.columns if len(column) == 3 or rows[column[3]].ne("").any()]
        templates = [prose_environment().from_string(column[2]) for column in columns]
        grouped = _function(self.shown)(rows) if self.shown else rows
        named = ({**row, **{name: _worded(row[name], words) for name, words in self.words.items()}} for row in grouped.rows(named=True))
        cells = [[template.render(row) for template in templates] for row in named]
        return Cells([column[0] for column in columns], cells, "".join(column[1] for column in columns))

    @property
    def module(self) -> ModuleType:
        """Return a module with the names that the module of an exhibit has."""
        made = ModuleType(f"tierwise.report.{self.rows or self.derive}")
        functions = {name: _function(place) for name in ("derive", "facts") if (place := getattr(self, name))}
        if self.rows:
            functions["rows"] = lambda run, _pair: _function(self.rows)(run)
        query = (files("tierwise") / self.query).read_text(encoding="utf-8") if self.query else ""
        known = {"QUERY": query, "UNIT": self.unit, "OF_RUN": self.of_run, "EVIDENCE": self.evidence, "tabulate": self.tabulate}
        vars(made).update({**known, **functions, "__file__": str(TABLES)})
        return made


@cache
def declared() -> Mapping[str, Declared]:
    """Return the tables of `TABLES` by their labels."""
    return validate(read_table(TABLES), dict[str, Declared], where=TABLES.name)


def _function(place: str) -> Callable[..., Any]:
    module, _, name = place.rpartition(".")
    found: Callable[..., Any] = getattr(import_module(f"tierwise.report.{module}"), name)
    return found


def _worded(value: Any, words: Mapping[str, str]) -> Any:
    return [words.get(one, one) for one in value] if isinstance(value, list) else words.get(value, value)


@dataclass(frozen=True)
class Rows:
    frame: pl.DataFrame
    made: Made = field(default_factory=Made)


@dataclass(frozen=True)
class Exhibit:
    label: str
    module: ModuleType
    study: str

    @property
    def parameters(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = getattr(self.module, "PARAMETERS", {})
        return found

    @property
    def query(self) -> str:
        """Return the path of the SQL file whose views the rows come from, or that of the module."""
        return studies.path(self.study, ROWS) if self.study and self.sql else self.module.__name__

    @property
    def sql(self) -> str:
        """Return the SQL of its rows: `QUERY` of the module, or the file beside it; empty where it has `rows`."""
        beside = Path(str(self.module.__file__)).with_suffix(".sql")
        return str(getattr(self.module, "QUERY", "")) or (beside.read_text(encoding="utf-8") if beside.is_file() else "")

    def rows(self, run: Run, pair: str, *, query: str = "", **given: object) -> Rows:
        """Return the rows of the exhibit in `run`; `query` and the parameters `given` take the place of its own."""
        if unknown := sorted(given.keys() - self.parameters.keys()):
            rule = f"not a parameter of {self.label}; there are: {', '.join(self.parameters) or 'none'}"
            raise InputError(self.label, field="parameter", value=unknown[0], rule=rule)
        values = {"pair": pair, **self.parameters, **given}
        steps = []
        if sql := query or self.sql:
            named = set(NAMED.findall(sql))
            if IO_MODE in named - values.keys():
                values[IO_MODE] = str(mode_in(run.store, self.study, pair))
            used = {name: values[name] for name in values if name in named}
            frame, used_queries = run.query(sql, used), [queries.of_run(run.folder, sql, used)]
        else:
            frame, used_queries = self.module.rows(run, pair, **{**self.parameters, **given}), []
            steps.append(f"{self.module.__name__}.rows")
        if derive := getattr(self.module, "derive", None):
            frame = derive(run, pair, frame)
            steps.append(f"{derive.__module__}.{derive.__name__}")
        last = "draw" if hasattr(self.module, "draw") else "tabulate"
        return Rows(frame, Made(queries=tuple(used_queries), steps=(*steps, f"{self.module.__name__}.{last}")))

    def facts(self, rows: pl.DataFrame) -> Mapping[str, object]:
        """Return what the caption may use: `n`, the number of clean rows, `flagged`, and what the module adds."""
        flag = next((name for name in FLAG if name in rows.columns), None)
        flagged = rows.filter(~pl.col(flag).is_in(["none", ""])).height if flag else 0
        facts = getattr(self.module, "facts", None)
        return {"n": rows.height - flagged, "flagged": flagged, **(facts(rows) if facts else {})}


def find(label: str, study: str = "") -> Exhibit:
    """Return the exhibit `label`, of `study` or of several studies."""
    if label in declared():
        return Exhibit(label, declared()[label].module, "")
    kind, _, name = label.partition("-")
    inside = name.replace("-", "_")
    own = f"tierwise.studies.{study}.reading.{kind}_{inside}"
    for module, whose in ((own, study), (f"tierwise.report.exhibits.{FOLDERS.get(kind, kind)}.{inside}", "")):
        if (whose or module != own) and _there(module):
            return Exhibit(label, import_module(module), whose)
    raise InputError(
        "label", value=label, rule=f"no module {kind}_{inside} in the study {study or '(none)'}, or {inside} in report/exhibits"
    )


def _there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
