"""Names of the queries and subsystems of the survey's first battery."""

from typing import Final

from tierwise.core.sql_files import named_statements
from tierwise.report import colours

STUDY: Final = "survey_arrays"
SQL: Final = named_statements(__package__, "queries.sql")
PAIR: Final = "source-h"
SCAN: Final = "non_indexed"  # the query whose published times imply the rates of a scan
DISKS, RAID0, ONE, SIX = "hdd", "hdd_raid0", "ssd", "ssd_raid5"
QUERIES: Final = {"indexed": "Indexed columns", SCAN: "Non-indexed columns", "mixed": "Mixed columns"}
PLACES: Final = {DISKS: "7 disks, RAID5", RAID0: "7 disks, RAID0", ONE: "one SSD", SIX: "6 SSDs, RAID5"}
COLOURS: Final = {place: colours.PLACEMENTS["everything" if place in {ONE, SIX} else "disks"] for place in PLACES}
