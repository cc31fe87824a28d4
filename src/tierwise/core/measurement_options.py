"""The options of every command that measures."""

from typing import Annotated

import typer

from tierwise.core import completion

ProfileOption = Annotated[
    str, typer.Option(help="Measurement profile: smoke, quick or full.", envvar="PROFILE", autocompletion=completion.profiles)
]
TiersOption = Annotated[
    str,
    typer.Option(
        help="Your own tier pair: NAME of data/tiers/NAME.toml, measured beside the studies' pairs. None by default.",
        envvar="TIERS",
        autocompletion=completion.pairs,
    ),
]
SeedOption = Annotated[int, typer.Option(help="Seed of the generated data, the trial order and the device models.", envvar="SEED")]
CensusOption = Annotated[
    str, typer.Option(help="Source of the 1990 census: synthetic, download, or file:PATH for the raw file.", envvar="CENSUS")
]
SkyOption = Annotated[
    str,
    typer.Option(help="Source of the 2MASS point sources: synthetic, download, download:REGION in degrees, or file:PATH.", envvar="SKY"),
]
FreshOption = Annotated[bool, typer.Option("--fresh", help="Measure again, even if a complete run is here.", envvar="FRESH")]
