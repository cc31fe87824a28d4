"""The statements of the census study and their verdicts."""

from functools import partial

from tierwise.report.claim_table import UNIT, claims_of, tabulate

__all__ = ["UNIT", "rows", "tabulate"]

rows = partial(claims_of, source="M")
