"""The prose of a page: a Markdown file with a section for each heading and a block for each caption, written as Jinja2 templates.

Text is rendered section by section, with the line numbers of its file. `{% if %}` encloses whole sentences, and `{{ }}` inserts a number by
a filter; a number without a filter, a truth value or None in the output is an error.
"""

import datetime as dt
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

import jinja2

from tierwise.core.errors import InputError
from tierwise.core.paths import short
from tierwise.core.text_template import environment
from tierwise.report import formats

Value = int | float | bool | str | dt.date | None
"""What a template may get: numbers, dates, truth values, keys of ``words.toml``; None where there is no answer."""
HEADING: Final = re.compile(r"^#{1,4} .*\{#(sec-[\w-]+)[^}]*\}\s*$", re.MULTILINE)
CAPTION: Final = re.compile(r'^::: \{#((?:fig|tbl)-[\w-]+)(?: alt="([^"]*)")?\}\n(.*?)^:::$', re.MULTILINE | re.DOTALL)
NUMBERS: Final = ("number", "fixed", "size", "difference", "with_interval", "span", "count", "percent", "percents", "seconds")
WORDS: Final = ("bold", "code", "tied", "listed", "escaped")
FILTERS: Final[dict[str, Callable[..., str]]] = {
    **{name: getattr(formats, name) for name in NUMBERS + WORDS},
    "to": formats.between,
    "date": lambda day: f"{day:%Y-%m-%d}",
}
"""Name in a text -> what formats a value: the functions `NUMBERS` and `WORDS` of `formats` bear theirs."""


@dataclass(frozen=True)
class Part:
    """One section, the text behind a caption, or a caption: its template, padded so that errors name the line of the file."""

    source: str
    alt: str = ""


@dataclass(frozen=True)
class Text:
    """The parts of one file of prose by label: ``sec-x``, ``fig-x`` (a caption), ``after fig-x``."""

    where: str
    parts: Mapping[str, Part]

    def render(self, label: str, values: Mapping[str, object]) -> str:
        """Return the Markdown of the part `label`; an `InputError` names file, line and rule."""
        if label not in self.parts:
            raise InputError(self.where, field="section", value=label, rule=f"there are: {', '.join(self.parts)}")
        try:
            return prose_environment().from_string(self.parts[label].source).render(values).strip()
        except jinja2.TemplateError as error:
            line = getattr(error, "lineno", None) or _line(error)
            raise InputError(f"{self.where}, line {line}" if line else self.where, field=label, rule=str(error)) from error

    def alt(self, label: str) -> str:
        return self.parts[label].alt if label in self.parts else ""


def read_text(path: Path) -> Text:
    """Return the parts of the file `path`, each label once."""
    whole, where = path.read_text(encoding="utf-8"), short(path)
    heads = [*HEADING.finditer(whole)]
    if not heads or whole[: heads[0].start()].strip():
        raise InputError(where, rule="begins with a heading that has a label: # Title {#sec-name}")
    found: dict[str, Part] = {}
    for head, after in zip(heads, [*(one.start() for one in heads[1:]), len(whole)], strict=True):
        label, start = head[1], head.start()
        cuts = []
        for caption in CAPTION.finditer(whole, head.start(), after):
            cuts += [(label, start, caption.start(), ""), (caption[1], caption.start(3), caption.end(3), caption[2] or "")]
            label, start = f"after {caption[1]}", caption.end()
        for name, begin, end, alt in [*cuts, (label, start, after, "")]:
            if name in found:
                raise InputError(where, field="label", value=name, rule="stands twice")
            if whole[begin:end].strip():
                found[name] = Part("\n" * whole.count("\n", 0, begin) + whole[begin:end], alt)
    return Text(where, found)


@cache
def shared_text(name: str) -> Text:
    return read_text(Path(str(files("tierwise.report") / "text" / f"{name}.md")))


def fill(name: str, **values: object) -> str:
    """Return the file ``report/templates/NAME`` with its `values`."""
    source = (files("tierwise.report") / "templates" / name).read_text(encoding="utf-8")
    return prose_environment().from_string(source).render(values) + "\n"


@cache
def prose_environment() -> jinja2.Environment:
    made = environment()
    made.filters.update(FILTERS)
    made.globals["dash"] = formats.DASH
    return made


def _line(error: BaseException) -> int | None:
    trace, found = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            found = trace.tb_lineno
        trace = trace.tb_next
    return found
