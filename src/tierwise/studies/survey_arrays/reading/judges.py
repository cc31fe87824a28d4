"""The verdict on source H's claim about money."""

import datetime as dt
from collections.abc import Mapping
from typing import Final

from tierwise.analysis.claims import load_claims
from tierwise.analysis.verdicts import ClaimVerdict
from tierwise.core.words import IoArm
from tierwise.costs.band import States, judge_band
from tierwise.costs.book import load_book
from tierwise.report.rooms import Connection, MoneyJudge
from tierwise.studies.survey_arrays.reading import money


def cost_efficient(verdict: ClaimVerdict, connection: Connection | None) -> ClaimVerdict:
    """H13, at the source's prices; beside it by other measures. The server on source H's tiers reads past the page cache."""
    return judge_band(verdict, money.states(), arm=IoArm.DIRECT, others=other_measures(verdict, connection))


def other_measures(verdict: ClaimVerdict, connection: Connection | None) -> Mapping[str, States]:
    """The ratios by what is delivered, and at the prices of the day of the run; none without one."""
    if connection is None or not connection.execute("select 1 from duckdb_views() where view_name = 'runs'").fetchall():
        return {}
    ((started_at,),) = connection.execute("select manifest ->> '$.started_at' from runs").fetchall()
    return money.arms(connection, load_claims().sources[verdict.source].pair, load_book(dt.datetime.fromisoformat(started_at).date()))


MONEY: Final[Mapping[str, MoneyJudge]] = {"H13": cost_efficient}
