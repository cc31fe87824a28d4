"""The options of the commands that measure and build the report."""

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from tierwise.core import completion
from tierwise.core.errors import TierwiseError

ProfileOption = Annotated[
    str,
    typer.Option(
        help="Size of the run: smoke (2 % of the published census rows), quick (5 %) or full (100 %).",
        envvar="PROFILE",
        autocompletion=completion.profiles,
    ),
]
TiersOption = Annotated[
    str,
    typer.Option(
        help="Pair of tiers to measure in addition to the studies' pairs: name of its file in data/tiers, without .toml. Default: none.",
        envvar="TIERS",
        autocompletion=completion.pairs,
    ),
]
SeedOption = Annotated[
    int, typer.Option(help="Seed of the random numbers for generated data, trial order and device models.", envvar="SEED")
]
CensusOption = Annotated[
    str,
    typer.Option(
        help="Source of the 1990 census rows: synthetic (generated), download, or file:PATH (your own copy of the raw file).",
        envvar="CENSUS",
    ),
]
SkyOption = Annotated[
    str,
    typer.Option(
        help="Source of the 2MASS sky catalog: synthetic (generated), download (a small region), "
        "download:RA_MIN,RA_MAX,DEC_MIN,DEC_MAX (a region in degrees), or file:PATH (your own file).",
        envvar="SKY",
    ),
]
FreshOption = Annotated[
    bool, typer.Option("--fresh", help="Measure again, even if a complete run with the same inputs exists.", envvar="FRESH")
]
RetryOption = Annotated[
    bool,
    typer.Option(
        "--retry",
        help="Add replicates (repetitions) to each study with rejected rows, at most once per run. Earlier rows are kept.",
        envvar="RETRY",
    ),
]
EngineOption = Annotated[
    str,
    typer.Option(
        help="Program that builds the report: quarto, plain (Pandoc and Typst), or auto (Quarto if installed, else plain).",
        envvar="ENGINE",
        autocompletion=completion.engines,
    ),
]
BudgetOption = Annotated[
    str,
    typer.Option(
        help="Time for measuring and the report, such as 60m or 2h. It buys whole replicates of the studies with the widest intervals "
        "first; a later report goes on. Default: no limit.",
        envvar="BUDGET",
    ),
]
SchedulerOption = Annotated[
    str,
    typer.Option(
        help="Address of the Dask scheduler whose workers measure, such as tls://host:8786, or local for this machine. Default: none.",
        envvar="SCHEDULER",
    ),
]
StoreOption = Annotated[
    str,
    typer.Option(help="Place for the rows that workers measure: s3://bucket/prefix, or a folder that all machines share.", envvar="STORE"),
]


YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Start without asking for confirmation. Default: ask on a terminal.")]


def confirming(*, yes: bool) -> Callable[[str], None]:
    """Return what asks a question on a terminal, and raises `TierwiseError` unless the answer or the option is yes."""

    def agree(question: str) -> None:
        if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
            return
        if not typer.confirm(f"tierwise: {question}", err=True):
            raise TierwiseError("nothing was started, because you answered no (--yes starts without asking)")

    return agree
