"""A page as a notebook shows it: sections of its text, and its exhibits with their captions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Final

import polars as pl

from tierwise.analysis.claim_rows import mode_in
from tierwise.analysis.quality import rejections
from tierwise.analysis.statistics import MINIMUM_REPEATS
from tierwise.core import studies
from tierwise.core.sql_files import named_statements
from tierwise.core.vocabulary import ClockKind
from tierwise.report.display import Figure, Missing, Sentence, Table
from tierwise.report.exhibit_registry import IO_MODE, Cells, Exhibit, find
from tierwise.report.reference import open_reference
from tierwise.report.run import Run
from tierwise.report.text_template import Text, Value, fill, read_text, shared_text
from tierwise.report.words import IO_MODES

TEXT: Final = "text.md"
ANSWERED: Final = "answered"
"""The value that says whether a run has an answer; where it does not, the sections are of the reference run, and say so."""
VALUES: Final = dict.fromkeys(("summary", "ledger", "paper"), "verdicts")  # page -> the module of its values, where several share one
Values = Callable[[Run, str], Mapping[str, Value]]


@dataclass(frozen=True)
class Page:
    """The page of one study, or of a file in ``report/text``, on one run and one pair of tiers."""

    run: Run
    pair: str
    text: Text
    values_of: Values
    study: str = ""

    @cached_property
    def own(self) -> Mapping[str, Value]:
        return _values(self.values_of, self.run, self.pair)

    @cached_property
    def reference(self) -> Run | None:
        return None if self.own.get(ANSWERED, True) or self.run.is_reference else open_reference()

    @cached_property
    def values(self) -> Mapping[str, Value]:
        return _values(self.values_of, self.reference, self.pair) if self.reference else self.own

    def section(self, label: str) -> Sentence:
        """Return a section of the text; the first one says where the run has no answer."""
        text = self.text.render(label, self.values)
        if label != next(iter(self.text.parts)) or self.own.get(ANSWERED, True):
            return Sentence(text)
        head, _, rest = text.partition("\n")
        reference = self.reference.name if self.reference else ""
        known: dict[str, Value] = {"pair": self.pair, "minimum": MINIMUM_REPEATS, "reference": reference}
        return Sentence(f"{head}\n\n{_body('no_answer', known | self._rejected())}\n\n{rest}")

    def body(self, label: str) -> Sentence:
        """Return a section without its heading, for a page that has one of its own."""
        return Sentence(self.section(label).text.partition("\n")[2].strip())

    def after(self, label: str) -> Sentence:
        return Sentence(self.text.render(f"after {label}", self.values))

    def rows(self, label: str, *, query: str = "", **parameters: object) -> pl.DataFrame:
        """Return the rows behind the exhibit `label`; `query` and `parameters` take the place of its own."""
        return find(label, self.study).rows(self.run, self.pair, query=query, **parameters).frame

    def exhibit(self, label: str, *, query: str = "", rows: pl.DataFrame | None = None, **parameters: object) -> Figure | Table | Missing:
        """Return the figure or the table `label` with its caption; `rows` in place of those that its query gives."""
        exhibit = find(label, self.study)
        found = exhibit.rows(self.run, self.pair, query=query, **parameters)
        frame = found.frame if rows is None else rows
        show = getattr(exhibit.module, "draw", None) or exhibit.module.tabulate
        shown, made, caption = None if frame.is_empty() else show(frame), found.made.model_dump(mode="json"), self.caption(exhibit, frame)
        if shown is None:
            return Missing(_body("no_rows", self._rejected()), caption)
        if isinstance(shown, Cells):
            return Table(shown.header, shown.rows, caption, shown.align, made)
        shown.description = self.text.alt(label)
        return Figure(shown, caption, shown.usermeta["chrome_px"], frame, made)

    def caption(self, exhibit: Exhibit, rows: pl.DataFrame) -> str:
        facts = dict(exhibit.facts(rows))
        return self.text.render(exhibit.label, {**self.values, **facts, "note": _note(self.run, self.pair, exhibit, rows, facts)})

    def _rejected(self) -> dict[str, Value]:
        found = rejections(self.run.store, self.study, self.pair) if self.study else []
        return {"observations": sum(one.observations for one in found), "rejected": sum(one.rejected for one in found)}


def open_page(run: Run, study: str, pair: str) -> Page:
    """Return the page of `study` on `pair`: its ``text.md`` and the function `values` of its ``values.py``."""
    module = import_module(f"tierwise.studies.{studies.known(study)}.reading.values")
    return Page(run, pair, _of_study(study), module.values, study)


def open_shared(run: Run, name: str) -> Page:
    """Return the page of several studies with the text ``report/text/NAME.md`` and the function `values` of ``report/values/NAME.py``."""
    module = import_module(f"tierwise.report.values.{VALUES.get(name, name)}")
    return Page(run, "", shared_text(name), module.values)


@cache
def _of_study(study: str) -> Text:
    return read_text(Path(str(files(f"tierwise.studies.{study}.reading") / TEXT)))


@lru_cache(maxsize=64)  # several pages of a report show the same values
def _values(values_of: Values, run: Run, pair: str) -> Mapping[str, Value]:
    return values_of(run, pair)


def _body(name: str, values: Mapping[str, Value]) -> str:
    text = shared_text(name)
    return text.render(next(iter(text.parts)), values).partition("\n")[2].strip()


def _note(run: Run, pair: str, exhibit: Exhibit, rows: pl.DataFrame, facts: Mapping[str, object]) -> str:
    """Return run, pairs, evidence, n and query of an exhibit; one that is of no pair, as one of prices, gives its evidence as a fact."""
    stamp = {"nothing": "", "prices": run.title}.get(getattr(exhibit.module, "OF_RUN", ""), run.stamp)
    known = {"run": run, "stamp": stamp, "n": facts["n"], "unit": exhibit.module.UNIT, "query": exhibit.query}
    if "evidence" in facts:
        return fill("note.txt", **known, evidence=facts["evidence"], kinds=[]).strip()
    pairs: list[str] = rows["pair"].unique(maintain_order=True).to_list() if "pair" in rows.columns else [pair] * bool(pair)
    own = getattr(exhibit.module, "EVIDENCE", None)
    found = rows["evidence"].unique(maintain_order=True).to_list() if "evidence" in rows.columns else map(run.evidence, pairs)
    kinds = list(dict.fromkeys(str(one) for one in ([own] if own else found) if one)) or ["nothing measured"] * bool(pairs)
    return fill("note.txt", **known, evidence=None, pairs=pairs, kinds=kinds, **conditions(run, exhibit, pairs, rows)).strip()


PROCESSORS: Final = 2  # processors that the clock of several sessions assumes, where a study's facts name no other number
SQL: Final = named_statements(__package__, "queries.sql")


def conditions(run: Run, exhibit: Exhibit, pairs: Sequence[str], rows: pl.DataFrame) -> Mapping[str, object]:
    """Return `modes`, `clocks` (``virtual`` or ``real``) and `processors`; empty where it is not known which rows are shown."""
    there = run.query(SQL["measured"], {"pairs": list(pairs), "study": exhibit.study}) if pairs else pl.DataFrame()
    modes = _modes(run, exhibit, pairs, rows, there)
    shown = there.filter(pl.col("io_mode").is_in(modes)) if modes else pl.DataFrame()
    if shown.is_empty():
        return {"modes": [], "clocks": [], "processors": []}
    several = shown.filter(clock=str(ClockKind.VIRTUAL_SEVERAL))["study"].unique()
    assumed = {int(record.facts.get("processors", PROCESSORS)) for record in run.manifest.studies if record.name in set(several)}
    return {
        "modes": [IO_MODES[mode].removesuffix(" I/O") for mode in IO_MODES if mode in modes],
        "clocks": sorted({clock.partition("-")[0] for clock in shown["clock"]}, reverse=True),
        "processors": [str(number) for number in sorted(assumed)],
    }


def _modes(run: Run, exhibit: Exhibit, pairs: Sequence[str], rows: pl.DataFrame, there: pl.DataFrame) -> list[str]:
    if IO_MODE in rows.columns:
        return [mode for mode in rows[IO_MODE].unique() if mode in IO_MODES]
    if f"${IO_MODE}" in exhibit.sql:
        return sorted({str(mode_in(run.store, exhibit.study, pair)) for pair in pairs})
    known = there["io_mode"].unique().to_list() if exhibit.study and there.height else []
    return known if len(known) == 1 else []
