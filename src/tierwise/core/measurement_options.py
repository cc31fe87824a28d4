"""The options of the commands that measure and build the report."""

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from tierwise.core import completion
from tierwise.core.errors import TierwiseError
from tierwise.core.option_texts import option

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
