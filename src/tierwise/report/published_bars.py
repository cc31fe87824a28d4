"""The seconds that the survey's source published as bars, as they are inferred from its charts."""

from typing import Final

from tierwise.analysis.published import published_series

BARS: Final = "data/published/survey.csv"


def published_seconds(study: str) -> dict[tuple[str, str], float]:
    """Return (query, place) -> seconds, of the bars that can be distinguished."""
    rows = published_series(BARS).filter(study=study)
    return {(query, place): float(seconds) for query, place, seconds in rows.select("query", "place", "seconds").rows()}
