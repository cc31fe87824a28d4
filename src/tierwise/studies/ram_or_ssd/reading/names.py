"""Names and colours of the drives of the Zipfian reads."""

from typing import Final

from tierwise.report import colours
from tierwise.report.queries import named_queries

STUDY: Final = "ram_or_ssd"
SQL: Final = named_queries(STUDY)
PAIR: Final = "source-r"
LIVE_PAIR: Final = "source-r-live"
TIERS: Final = {"hdd": "disk", "ssd": "SSD"}
COLOURS: Final = {"disk": colours.VERMILLION, "SSD": colours.BLUE}
WARM_UP_S: Final = 600  # how long the source read before it measured
