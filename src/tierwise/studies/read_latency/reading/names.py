"""Names of the latency study's tablespaces."""

from typing import Final

from tierwise.report.queries import named_queries

STUDY: Final = "read_latency"
SQL: Final = named_queries(STUDY)
SOURCE_ID: Final = "L"
SPACES: Final = {
    "all": "All reads",
    "cached": "Held by the OS cache",
    "ssd": "SSD mirror",
    "hdd": "RAID10 of disks",
    "aux": "System's drives",
}
"""Tablespace -> its name here, in the order of the figures."""
