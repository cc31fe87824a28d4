"""The options of every command that measures."""

from typing import Annotated

import typer

from tierwise.core import completion

ProfileOption = Annotated[
    str,
    typer.Option(
        help="Amount to measure: smoke (a fiftieth of the rows), quick (a twentieth of the rows) or full (all rows).",
        envvar="PROFILE",
        autocompletion=completion.profiles,
    ),
]
TiersOption = Annotated[
    str,
    typer.Option(
        help="Your own pair of tiers, described in data/tiers/TIERS.toml, to measure as well. Default: only the studies' pairs.",
        envvar="TIERS",
        autocompletion=completion.pairs,
    ),
]
SeedOption = Annotated[int, typer.Option(help="Seed of the generated data, the trial order and the device models.", envvar="SEED")]
CensusOption = Annotated[
    str,
    typer.Option(help="Source of the 1990 census: synthetic, download, or file:PATH for your own copy of the raw file.", envvar="CENSUS"),
]
SkyOption = Annotated[
    str,
    typer.Option(help="Source of the 2MASS sky catalog: synthetic, download, download:REGION in degrees, or file:PATH.", envvar="SKY"),
]
FreshOption = Annotated[
    bool, typer.Option("--fresh", help="Measure again, even if a complete run with the same inputs exists.", envvar="FRESH")
]
