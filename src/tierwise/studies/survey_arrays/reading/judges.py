"""The verdict on the survey's claim about money."""

from collections.abc import Mapping
from typing import Final

from tierwise.analysis.claims import Claim
from tierwise.analysis.judging import ClaimVerdict, Grounds, Judge
from tierwise.core.vocabulary import IoMode
from tierwise.costs.book import load_book
from tierwise.costs.price_band import Counted, judge_band
from tierwise.studies.survey_arrays.reading import money


def cost_efficient(claim: Claim, on: Grounds) -> ClaimVerdict:
    """Judge H13 at the source's prices, and beside it by other measures. The server on the survey's tiers reads past the page cache."""
    return judge_band(claim, on.pair, money.counted(load_book(money.THEN)), io_mode=IoMode.DIRECT, others=other_measures(on))


def other_measures(on: Grounds) -> Mapping[str, Counted]:
    """Return the ratios by what is delivered, and at the prices of the day of the run; none without a run."""
    connection, today = (on.rows.connection, load_book(on.rows.manifest.started_at.date())) if on.rows else (None, None)
    return money.other_measures(connection, on.pair, today)


MONEY: Final[Mapping[str, Judge]] = {"H13": cost_efficient}
