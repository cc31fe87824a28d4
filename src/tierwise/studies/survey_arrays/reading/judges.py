"""The verdict on the survey's claim about money."""

from collections.abc import Mapping
from typing import Final

from tierwise.analysis.claims import Claim
from tierwise.analysis.judging import Grounds, Judge, Judgement
from tierwise.core.words import IoArm
from tierwise.costs.band import Cases, judge_band
from tierwise.costs.book import load_book
from tierwise.studies.survey_arrays.reading import money


def cost_efficient(claim: Claim, on: Grounds) -> Judgement:
    """Judge H13 at the source's prices, and beside it by other measures. The server on the survey's tiers reads past the page cache."""
    return judge_band(claim, on.pair, money.cases(), arm=IoArm.DIRECT, others=other_measures(on), read_once=money.prices_read_once())


def other_measures(on: Grounds) -> Mapping[str, Cases]:
    """Return the ratios by what is delivered, and at the prices of the day of the run; none without one."""
    return money.arms(on.rows.connection, on.pair, load_book(on.rows.manifest.started_at.date())) if on.rows else {}


MONEY: Final[Mapping[str, Judge]] = {"H13": cost_efficient}
