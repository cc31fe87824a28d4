"""The claims of the latency study and their verdicts."""

from tierwise.report.claim_table import UNIT, claims_of, tabulate

__all__ = ["UNIT", "rows", "tabulate"]

rows = claims_of("L")
