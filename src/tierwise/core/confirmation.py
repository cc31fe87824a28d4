"""Ask before something slow or costly begins, where somebody can answer."""

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from tierwise.core.errors import TierwiseError

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Start without asking for confirmation. Default: ask on a terminal.")]


def confirming(*, yes: bool) -> Callable[[str], None]:
    """Return what asks a question on a terminal, and raises `TierwiseError` unless the answer or the option is yes."""

    def agree(question: str) -> None:
        if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
            return
        if not typer.confirm(f"tierwise: {question}", err=True):
            raise TierwiseError("nothing was started, because you answered no (--yes starts without asking)")

    return agree
