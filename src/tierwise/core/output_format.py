"""How a command gives its answer."""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Protocol, TypeVar

import typer

from tierwise.core.text_table import wrapped


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"


class TicketFormat(StrEnum):
    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="Output format: table (for people) or json (for programs).")]

TicketFormatOption = Annotated[
    TicketFormat, typer.Option("--format", help="Output format: table (for people), markdown (for a ticket) or json (for programs).")
]


class _Model(Protocol):
    def model_dump_json(self, *, indent: int | None = None) -> str: ...


Answer = TypeVar("Answer", bound=_Model)


def answered(found: Answer, form: Format, as_text: Callable[[Answer], str]) -> str:
    return found.model_dump_json(indent=2) if form is Format.JSON else wrapped(as_text(found))
