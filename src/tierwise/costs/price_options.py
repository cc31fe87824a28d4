"""The options of the commands that use prices."""

from datetime import datetime
from typing import Annotated

import typer

DayOption = Annotated[
    datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Use only prices dated on or before this day. Default: today.")
]
CurrencyOption = Annotated[
    str, typer.Option(help="Currency of all costs. Prices in other currencies are converted. data/prices has exchange rates only to USD.")
]
RegionOption = Annotated[
    str,
    typer.Option(
        help="Region whose prices are used, such as US or EU. For an item without a price in this region, a price from elsewhere is used."
    ),
]
