"""Names and colours of the placements and states of the census study."""

from typing import Final

from tierwise.report import theme
from tierwise.report.words import case_name

STUDY: Final = "index_placement"
PAIR: Final = "source-m"
SAVING: Final = "M1"
"""The claim that an index on the SSD saves most of a cold count's time."""
DISKS: Final = "both on HDD"
INDEX: Final = "index on SSD"
PLACEMENTS: Final = {
    ("hdd", "hdd"): DISKS,
    ("hdd", "ssd"): INDEX,
    ("ssd", "hdd"): "table on SSD",
    ("ssd", "ssd"): "both on SSD",
}
"""(table, index) -> words."""
COLOURS: Final = dict(zip(PLACEMENTS.values(), theme.PLACEMENTS.values(), strict=True))
SHAPES: Final = dict(zip(PLACEMENTS.values(), ("circle", "diamond", "square", "triangle-up"), strict=True))
CASES: Final = tuple(map(case_name, ("FL", "PR", "NV", "FL->PR", "PR->NV", "NV->FL")))
CACHES: Final = {"cold": "Cold cache", "cross": "After another state", "hot": "Hot cache"}
FASTER: Final = "times faster"
"""The title of an axis of speed-ups."""
