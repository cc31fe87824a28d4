"""Text of commands and remarks: Jinja2 templates in files of the package, which an editor can change."""

import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files

import jinja2


def render(template: str, /, **values: object) -> str:
    """Return the text of a template, with `values` inserted by name: numbers, words and functions that format them.

    A template is a file of the package, such as ``advisor/text/advice.txt``, or an entry of one: ``analysis/words.toml:causes.small``.
    """
    return _environment().get_template(template).render(values).strip()


def environment(load: Callable[[str], str] | None = None) -> jinja2.Environment:
    """Return the settings of every template: Markdown comments, whole lines for statements, and an error for what nothing formats."""
    return jinja2.Environment(  # noqa: S701  plain text, and Markdown, which Pandoc escapes
        loader=None if load is None else jinja2.FunctionLoader(load),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        comment_start_string="<!--",
        comment_end_string="-->",
    )


@cache
def _environment() -> jinja2.Environment:
    made = environment(_source)
    made.filters["table"] = _table
    return made


def _table(text: str, *numbers: int) -> str:
    """Return the lines of `text`, whose cells stand between bars, as a table for a terminal; `numbers` are aligned to the right."""
    from tierwise.core.text_table import table  # noqa: PLC0415  heavy

    header, *rows = ([cell.strip() for cell in line.split("|")] for line in text.splitlines() if line)
    return table(header, rows, numbers) + "\n"


def _source(template: str) -> str:
    file, _, entry = template.partition(":")
    text = (files("tierwise") / file).read_text(encoding="utf-8")
    if not entry:
        return text
    found = tomllib.loads(text)
    for key in entry.split("."):
        found = found[key]
    return str(found)


def _shown(value: object) -> object:
    if isinstance(value, bool | float) or value is None:
        raise jinja2.TemplateRuntimeError(f"{value!r} is shown: give it a filter, as {{{{ x | number }}}}, or test it first")
    return value
