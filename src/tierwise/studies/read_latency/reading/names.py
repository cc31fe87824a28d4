"""Names of the latency study's tablespaces."""

from typing import Final

STUDY: Final = "read_latency"
SOURCE_ID: Final = "L"
SPACES: Final = {
    "all": "All reads",
    "cached": "Held by the OS cache",
    "ssd": "SSD mirror",
    "hdd": "RAID10 of disks",
    "aux": "System's drives",
}
"""Tablespace -> its name here, in the order of the figures."""
