"""The statement of source X and its verdict."""

from tierwise.report.claim_table import UNIT, claims_of, tabulate

__all__ = ["UNIT", "rows", "tabulate"]

rows = claims_of("X")
