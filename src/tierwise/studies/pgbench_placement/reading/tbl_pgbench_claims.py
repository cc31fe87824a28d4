"""The statements of the pgbench study and their verdicts."""

from tierwise.report.claim_table import UNIT, claims_of, tabulate

__all__ = ["UNIT", "rows", "tabulate"]

rows = claims_of("V")
