"""What the reading sides of the studies' rooms add to what is read of every study: found by file names, so that nothing here names one."""

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

import duckdb

from tierwise.analysis.claims import Kind
from tierwise.analysis.verdicts import ClaimVerdict, judge, newest_run
from tierwise.analysis.views import open_views
from tierwise.core import studies

Connection = duckdb.DuckDBPyConnection

MoneyJudge = Callable[[ClaimVerdict, Connection | None], ClaimVerdict]
"""Judges one claim of kind ``cost``, from rows where there are some."""


def modules(name: str) -> Iterable[ModuleType]:
    """The module `name` of every reading side that has one, by study."""
    return [import_module(f"tierwise.studies.{study}.reading.{name}") for study in studies.having(f"reading/{name}.py")]


def judge_all(raw: Path, run_id: str | None = None) -> list[ClaimVerdict]:
    """`analysis.verdicts.judge` with the claims of kind ``cost`` judged as well; without any run from what was published."""
    chosen = run_id or newest_run(raw)
    if chosen is None:
        return list(judge_money(judge(raw)))
    with open_views(raw, chosen) as connection:
        return list(judge_money(judge(raw, chosen), connection))


def judge_money(verdicts: Sequence[ClaimVerdict], connection: Connection | None = None) -> tuple[ClaimVerdict, ...]:
    """`verdicts` with those of kind ``cost`` judged by the studies' own judges (``MONEY`` of their ``judges.py``)."""
    judges: dict[str, MoneyJudge] = {claim: own for module in modules("judges") for claim, own in module.MONEY.items()}
    return tuple(
        judges[verdict.id](verdict, connection) if verdict.kind is Kind.COST and verdict.id in judges else verdict for verdict in verdicts
    )
