"""Commits per second with the log in one place over those in another, by clients and group commit."""

from typing import Final

import polars as pl

from tierwise.analysis.statistics import Estimate
from tierwise.report.estimates import cell, estimates
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count
from tierwise.report.values.front import beside
from tierwise.studies.wal_placement.reading.log_moves import headline
from tierwise.studies.wal_placement.reading.names import GROUPED, PAIR, SHORT

UNIT: Final = "paired ratios"
COMPARED: Final = (("ssd", "hdd"), ("cached", "hdd"), ("ssd", "cached"))  # (place of the log, place that it is compared with)


def tabulate(rows: pl.DataFrame) -> Cells | None:
    found = estimates(rows, ["group_commit", "clients", "wal", "over"])
    if not any(one.interval for one in found.values()):
        return None
    return Cells(
        ["Clients", "commit_delay", *(f"{SHORT[place]} over {SHORT[over]}" for place, over in COMPARED)],
        [
            [
                count(clients),
                GROUPED[grouped],
                *(_shown(found.get((grouped, clients, *compared)), grouped, clients, *compared) for compared in COMPARED),
            ]
            for grouped, clients in dict.fromkeys(key[:2] for key in found)
        ],
        "rlrrr",
    )


def _shown(one: Estimate | None, grouped: str, clients: int, place: str, over: str) -> str:
    key = headline(PAIR, clients, place, over) if grouped == "off" else None
    return cell(one) + (beside(key, one) if one and key else "")
