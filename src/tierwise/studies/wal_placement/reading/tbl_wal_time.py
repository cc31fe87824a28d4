"""Where the time of the sessions went, and how busy each device was, by place of the log."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count
from tierwise.report.session_time import tabulated
from tierwise.studies.wal_placement.reading.names import GROUPED, SHORT

UNIT: Final = "shares"
KEYS: Final = {"Log on": "wal", "Clients": "clients", "commit_delay": "group_commit"}


def tabulate(rows: pl.DataFrame) -> Cells | None:
    words = {"wal": SHORT, "clients": {clients: count(clients) for clients in rows["clients"].unique()}, "group_commit": GROUPED}
    return tabulated(rows, KEYS, words, SHORT)
