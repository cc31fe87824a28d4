"""What sources published as series: ``data/published/*.csv``, each with its origin in the first line."""

import polars as pl

from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.paths import short
from tierwise.core.text_files import read_text


def published_series(file: str) -> pl.DataFrame:
    """Return the rows of `file`, a path in the checkout, as it is cited."""
    path = paths.home() / file
    try:
        return pl.read_csv(read_text(path).encode(), comment_prefix="#")
    except pl.exceptions.PolarsError as error:
        raise InputError(short(path), rule=f"not valid CSV: {error}") from error
