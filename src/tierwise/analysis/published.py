"""What sources published as series: ``data/published/*.csv``, each with its origin in the first line."""

import polars as pl

from tierwise.core import paths


def published_series(file: str) -> pl.DataFrame:
    """The rows of `file`, a path in the checkout, as it is cited."""
    return pl.read_csv(paths.home() / file, comment_prefix="#")
