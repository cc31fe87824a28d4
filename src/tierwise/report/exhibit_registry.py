"""The registry of figures and tables: each is found by its label, a table as an entry of ``tables.toml`` and a figure as a module.

``tbl-wal-ratios`` is an entry of ``reading/tables.toml`` of the study whose chapter it is in, or of ``report/exhibits/tables.toml``, whose
head describes the fields. ``fig-wal-rates`` is ``reading/fig_wal_rates.py`` of the study, or ``report/exhibits/figures/wal_rates.py``. The
module of a figure declares

- `QUERY`, the SQL of its rows, unless a file of its name beside it (``.sql``) has them, with named parameters (``$pair``, ``$io_mode``,
  which is the I/O mode that decides, and those of `PARAMETERS`); or `rows(run, pair)`, which returns them where no SQL does;
- `UNIT`, what a row is, and `EVIDENCE`, where it is not that of the run's rows;
- `OF_RUN`, what is of the run where its rows are not used: ``nothing`` (the caption names no run) or ``prices`` (of the run's day; the
  caption leaves out the run's note);
- `PARAMETERS`, name -> the value that is used where a reader gives no other;
- `derive(run, pair, rows)`, where prices, models or the manifest add columns;
- `draw(rows)`, which returns a chart;
- `facts(rows)`, what only its caption needs.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.resources import files
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

NAMED: Final = re.compile(r"\$([a-z_]+)")
IO_MODE: Final = "io_mode"
TABLES: Final = "tables.toml"
FLAG: Final = ("flag", "flags")  # columns that say why a row is rejected; ``none``, or nothing, where it is not


@dataclass(frozen=True)
class Cells:
    """A table as text: `align` has a letter for each column, ``l`` or ``r``."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    align: str


class Declared(Strict):
    """A table, an entry of a file `TABLES`; its functions and its `query` lie below ``tierwise``."""

    unit: str
    columns: tuple[tuple[str, ...], ...] = ()
    cells: str = ""
    rows: str = ""
    query: str = ""
    derive: str = ""
    shown: str = ""
    facts: str = ""
    counted: str = ""
    given: dict[str, Any] = Field(default_factory=dict)
    parameters: dict[str, Any] = Field(default_factory=dict)
    of_run: str = ""
    evidence: str = ""
    words: dict[str, dict[str, str] | str] = Field(default_factory=dict)

    def tabulate(self, rows: pl.DataFrame) -> Cells | None:
        """Return the table as text; `None` where too few replicates are clean."""
        grouped: pl.DataFrame | None = _named(self.shown)(rows, **self.given) if self.shown else rows
        if grouped is None or grouped.is_empty():
            return None
        shown = _worded(grouped, self.words)
        if self.cells:
            made: Cells | None = _named(self.cells)(shown, **self.given)
            return made
        columns = [column for column in self.columns if len(column) == 3 or rows[column[3]].ne("").any()]
        templates = [prose_environment().from_string(column[2]) for column in columns]
        cells = [[template.render(row) for template in templates] for row in shown.rows(named=True)]
        return Cells([column[0] for column in columns], cells, "".join(column[1] for column in columns))

    def module(self, label: str, study: str) -> ModuleType:
        """Return a module with the names that the module of an exhibit has; a query may lie beside the entry's file."""
        folder = f"studies/{study}/reading" if study else "report/exhibits"
        made = ModuleType(f"tierwise.{self.rows or self.derive or folder.replace('/', '.')}")
        functions = {name: _named(place) for name in ("derive", "facts") if (place := getattr(self, name))}
        if self.counted:
            functions["facts"] = lambda rows: {"n": rows[self.counted].sum()}
        if self.rows:
            functions["rows"] = lambda run, pair, **given: _named(self.rows)(run, *([pair] if study else []), **given)
        query = (files("tierwise") / self.query).read_text(encoding="utf-8") if self.query else ""
        known = {"QUERY": query, "UNIT": self.unit, "OF_RUN": self.of_run, "EVIDENCE": self.evidence, "PARAMETERS": self.parameters}
        place = str(files("tierwise") / folder / label.replace("-", "_"))
        vars(made).update({**known, **functions, "tabulate": self.tabulate, "__file__": place})
        return made


@cache
def declared(study: str = "") -> Mapping[str, Declared]:
    """Return the tables of `study`, or those of several studies, by their labels."""
    path = Path(str(files("tierwise"))) / (f"studies/{study}/reading" if study else "report/exhibits") / TABLES
    return validate(read_table(path), dict[str, Declared], where=str(path)) if path.is_file() else {}


def _named(place: str) -> Any:
    module, _, name = place.rpartition(".")
    return getattr(import_module(f"tierwise.{module}"), name)


def _worded(rows: pl.DataFrame, words: Mapping[str, Mapping[str, str] | str]) -> pl.DataFrame:
    """Return `rows` with `words` (column -> value -> word, or where such a mapping lies below ``tierwise``) in place of values."""
    known = {name: _named(one) if isinstance(one, str) else one for name, one in words.items()}
    lists = {name for name, kind in rows.schema.items() if isinstance(kind, pl.List)}
    return rows.with_columns(
        pl.col(name).list.eval(pl.element().replace(one)) if name in lists else pl.col(name).replace(one) for name, one in known.items()
    )


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
    for whose in dict.fromkeys((study, "")):
        if label in declared(whose):
            return Exhibit(label, declared(whose)[label].module(label, whose), whose)
    name = label.replace("-", "_")
    own, shared = f"studies/{study}/reading/{name}", f"report/exhibits/figures/{name.removeprefix('fig_')}"
    for place, whose in ([(own, study)] if study else []) + [(shared, "")]:
        if (files("tierwise") / f"{place}.py").is_file():
            return Exhibit(label, import_module(f"tierwise.{place.replace('/', '.')}"), whose)
    raise InputError("label", value=label, rule=f"no figure or table of this name in the study {study or '(none)'}, or in report/exhibits")
