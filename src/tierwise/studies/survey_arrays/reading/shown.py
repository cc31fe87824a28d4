"""How the first battery is shown: its queries, forms and subsystems in words."""

from typing import Final

from tierwise.report.shown import Shown

SURVEY: Final = "data/published/survey.csv"
"""The survey's bars, as they are inferred: study, query, place, seconds."""
ARRAYS: Final = Shown(
    study="survey_arrays",
    column="tier",
    queries={"indexed": "Indexed columns", "non_indexed": "Non-indexed columns", "mixed": "Mixed columns"},
    places={"hdd": "7 disks, RAID5", "hdd_raid0": "7 disks, RAID0", "ssd": "one SSD", "ssd_raid5": "6 SSDs, RAID5"},
    published=SURVEY,
    forms={"printed": "as printed", "meant": "as meant"},
)
SCAN: Final = "non_indexed"
"""The query whose published times imply the rates of a scan."""
