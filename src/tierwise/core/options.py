"""Commands, options and arguments with their help from ``options.toml``, which an editor can change; and how a command answers."""

import sys
import tomllib
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Protocol, TypeVar

import typer

from tierwise.core import completion
from tierwise.core.errors import TierwiseError
from tierwise.core.text_table import wrapped

Command = TypeVar("Command", bound=Callable[..., None])


def command(app: typer.Typer, example: str, name: str | None = None, *, panel: str | None = None) -> Callable[[Command], Command]:
    """Return a decorator that adds a function to `app` as a command with its help, by the function's name, and an example below it."""

    def added(function: Command) -> Command:
        text = help_of(f"{function.__name__}.help")
        return app.command(name, help=text, rich_help_panel=panel, epilog=f"Example: tierwise {example}")(function)

    return added


def option(place: str, *names: str, **settings: Any) -> Any:
    """Return an option with the help of `place`, such as ``plan.machines``."""
    return typer.Option(*names, help=help_of(place), **settings)


def argument(place: str, **settings: Any) -> Any:
    return typer.Argument(help=help_of(place), **settings)


def help_of(place: str) -> str:
    """Return what ``options.toml`` has at `place`: ``command.parameter``, or ``command.help`` for the command itself."""
    command, _, parameter = place.partition(".")
    return _texts()[command][parameter]


@cache
def _texts() -> dict[str, dict[str, str]]:
    return tomllib.loads((files("tierwise") / "options.toml").read_text(encoding="utf-8"))


# Of the commands that measure and build the report
ProfileOption = Annotated[str, option("shared.profile", envvar="PROFILE", autocompletion=completion.profiles)]
TiersOption = Annotated[str, option("shared.tiers", envvar="TIERS", autocompletion=completion.pairs)]
SeedOption = Annotated[int, option("shared.seed", envvar="SEED")]
CensusOption = Annotated[str, option("shared.census", envvar="CENSUS")]
SkyOption = Annotated[str, option("shared.sky", envvar="SKY")]
FreshOption = Annotated[bool, option("shared.fresh", "--fresh", envvar="FRESH")]
RetryOption = Annotated[bool, option("shared.retry", "--retry", envvar="RETRY")]
EngineOption = Annotated[str, option("shared.engine", envvar="ENGINE", autocompletion=completion.engines)]
BudgetOption = Annotated[str, option("shared.budget", envvar="BUDGET")]
SchedulerOption = Annotated[str, option("shared.scheduler", envvar="SCHEDULER")]
StoreOption = Annotated[str, option("shared.store", envvar="STORE")]
YesOption = Annotated[bool, option("shared.yes", "--yes", "-y")]


def confirming(*, yes: bool) -> Callable[[str], None]:
    """Return what asks a question on a terminal, and raises `TierwiseError` unless the answer or the option is yes."""

    def agree(question: str) -> None:
        if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
            return
        if not typer.confirm(f"tierwise: {question}", err=True):
            raise TierwiseError("nothing was started, because you answered no (--yes starts without asking)")

    return agree


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"


class TicketFormat(StrEnum):
    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"


FormatOption = Annotated[Format, option("shared.format", "--format")]
TicketFormatOption = Annotated[TicketFormat, option("shared.ticket_format", "--format")]


class _Model(Protocol):
    def model_dump_json(self, *, indent: int | None = None) -> str: ...


Answer = TypeVar("Answer", bound=_Model)


def answered(found: Answer, form: Format, as_text: Callable[[Answer], str]) -> str:
    return found.model_dump_json(indent=2) if form is Format.JSON else wrapped(as_text(found))
