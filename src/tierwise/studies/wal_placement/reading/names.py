"""Names and colours of the places of the log."""

from typing import Final

from tierwise.core.sql_files import named_statements
from tierwise.report import colours

STUDY: Final = "wal_placement"
SQL: Final = named_statements(__package__, "queries.sql")
PAIR: Final = "wal-placement"
PLACES: Final = {"hdd": "disks", "cached": "disks behind a battery-backed cache", "ssd": "SSD"}
COLOURS: Final = {"hdd": colours.VERMILLION, "cached": colours.ORANGE, "ssd": colours.BLUE}
SHAPES: Final = {"hdd": "circle", "cached": "diamond", "ssd": "square"}
