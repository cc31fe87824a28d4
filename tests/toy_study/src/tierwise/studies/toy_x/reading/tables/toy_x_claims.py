"""The statement of source X and its verdict."""

from functools import partial

from tierwise.report.claim_table import UNIT, claims_of, tabulate

__all__ = ["UNIT", "rows", "tabulate"]

rows = partial(claims_of, source="X")
