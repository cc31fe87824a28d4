"""The claims of the Zipfian reads on throughput and on cost, and their verdicts."""

from tierwise.report.claim_table import UNIT, claims_of, tabulate

__all__ = ["UNIT", "rows", "tabulate"]

rows = claims_of("R")
