"""Names and colours of the drives of the Zipfian reads."""

from typing import Final

from tierwise.core.sql_files import named_statements
from tierwise.report import colours

STUDY: Final = "ram_or_ssd"
SQL: Final = named_statements(__package__, "queries.sql")
PAIR: Final = "source-r"
LIVE_PAIR: Final = "source-r-live"
TIERS: Final = {"hdd": "disk", "ssd": "SSD"}
COLOURS: Final = {"disk": colours.VERMILLION, "SSD": colours.BLUE}
WARM_UP_S: Final = 600  # how long the source read before it measured
