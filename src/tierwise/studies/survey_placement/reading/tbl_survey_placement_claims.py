"""The source's statements on placement, a line each."""

from tierwise.report.claim_table import UNIT, claims_of, tabulate

__all__ = ["UNIT", "rows", "tabulate"]

CLAIMS = ("H4", "H5", "H6", "H7", "H9", "H10", "H11", "H14", "H19", "H26")
rows = claims_of("H", CLAIMS)
