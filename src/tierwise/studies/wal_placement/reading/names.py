"""Names and colours of the places of the log."""

from typing import Final

from tierwise.report import colours
from tierwise.report.queries import named_queries

STUDY: Final = "wal_placement"
SQL: Final = named_queries(STUDY)
PAIR: Final = "wal-placement"
PLACES: Final = {"hdd": "disks", "cached": "disks behind a battery-backed cache", "ssd": "SSD"}
COLOURS: Final = {"hdd": colours.VERMILLION, "cached": colours.ORANGE, "ssd": colours.BLUE}
SHAPES: Final = {"hdd": "circle", "cached": "diamond", "ssd": "square"}
