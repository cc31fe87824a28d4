"""The break-even of a move on the pair of today (statement H11): timed there, or where nobody timed it, copied by the devices' models."""

from types import MappingProxyType
from typing import Final

from tierwise.advisor.workload import FAST
from tierwise.analysis import heat
from tierwise.analysis.claim_rows import Rows
from tierwise.analysis.claims import Claim
from tierwise.analysis.statistics import Estimate
from tierwise.analysis.today import Shown
from tierwise.core.vocabulary import Evidence
from tierwise.studies.survey_placement.reading.moves import MOVED, modelled, moves_of, plans_of
from tierwise.studies.survey_placement.reading.names import STUDY

PLACED: Final = "detection_ssd"  # the placement whose files are moved: the largest table, which the statement stands for


def cases(claim: Claim, rows: Rows, pair: str) -> list[Shown]:  # noqa: ARG001 - the study has one claim of moves
    """Return after how many of each query on `pair` the move has paid; without an estimate where a query saves nothing."""
    record = heat.record_of(rows.connection, STUDY, pair)
    if record is None:
        return []
    own = [moved for moved in moves_of(rows.connection, pair) if moved.placement == PLACED] or modelled(record, PLACED, FAST)
    return [
        Shown(
            f"jobs ({query.replace('_', ' ')}) until moving {MOVED[placement]} pays",
            Estimate(plan.break_even_jobs, plan.low, plan.high, plan.pairs),
            Evidence.of({plan.job_evidence, plan.move_evidence}),
        )
        for (placement, query), plan in plans_of(rows.connection, pair, own).items()
    ]


TODAY: Final = MappingProxyType({"H11": cases})
