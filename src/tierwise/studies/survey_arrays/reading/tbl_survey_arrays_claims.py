"""The source's statements on arrays and their cost, a line each."""

from tierwise.report.claim_table import UNIT, claims_of, tabulate

__all__ = ["UNIT", "rows", "tabulate"]

CLAIMS = ("H1", "H2", "H3", "H8", "H12", "H13", "H20", "H21", "H22", "H23", "H24")
rows = claims_of("H", CLAIMS)
