"""What sources published as series: ``data/published/*.csv``, each with its origin in the first line."""

from typing import Final

import polars as pl

from tierwise.core import paths

READ_BENCHMARK: Final = "data/published/ram_or_ssd.csv"
"""Source R's logs: tier, dataset_gib, end_s (from dropped caches), reads_per_s (mean of a minute)."""


def read_benchmark() -> pl.DataFrame:
    """The rows of `READ_BENCHMARK`."""
    return pl.read_csv(paths.home() / READ_BENCHMARK, comment_prefix="#")


READ_HISTOGRAMS: Final = "data/published/read_latency.csv"
"""Source L's five histograms: tablespace (all: the global one), from_ns (a bucket ends at twice that), reads."""


def read_histograms() -> pl.DataFrame:
    """The rows of `READ_HISTOGRAMS`."""
    return pl.read_csv(paths.home() / READ_HISTOGRAMS, comment_prefix="#")


SURVEY: Final = "data/published/survey.csv"
"""Source H's bars, as they are inferred: study, query, place, seconds."""


def survey_seconds(study: str) -> dict[tuple[str, str], float]:
    """Seconds that the source's chart of `study` is taken to show, by (query, place)."""
    rows = pl.read_csv(paths.home() / SURVEY, comment_prefix="#").filter(study=study)
    return {(query, place): float(seconds) for query, place, seconds in rows.select("query", "place", "seconds").rows()}
