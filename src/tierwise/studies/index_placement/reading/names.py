"""Names and colours of the placements and states of the census study."""

from typing import Final

from tierwise.report import colours
from tierwise.report.queries import named_queries
from tierwise.report.words import case_name

STUDY: Final = "index_placement"
SQL: Final = named_queries(STUDY)
PAIR: Final = "source-m"
DISKS, INDEX, TABLE, BOTH = "both on HDD", "index on SSD", "table on SSD", "both on SSD"  # where table and index lie
COLOURS: Final = {
    DISKS: colours.PLACEMENTS["disks"],
    INDEX: colours.PLACEMENTS["indexes"],
    TABLE: colours.PLACEMENTS["tables"],
    BOTH: colours.PLACEMENTS["everything"],
}
SHAPES: Final = dict(zip(COLOURS, ("circle", "diamond", "square", "triangle-up"), strict=True))
CASES: Final = tuple(map(case_name, ("FL", "PR", "NV", "FL->PR", "PR->NV", "NV->FL")))
CACHES: Final = {"cold": "Cold cache", "cross": "After another state", "hot": "Hot cache"}
FASTER: Final = "times faster"  # the title of an axis of speed-ups
