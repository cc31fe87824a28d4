"""What the source's machine costs with each placement, per year, per transaction and per request."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import interval, number
from tierwise.studies.pgbench_placement.reading.money import with_costs
from tierwise.studies.pgbench_placement.reading.names import PLACEMENTS, Columns, cells

QUERY: Final = """
select
    io_mode, placement, exp(avg(ln(tps * slowdown))) as tps, exp(avg(ln(requests_per_s * slowdown))) as requests_per_s, count(*) as windows
from pgbench_placement
where
    pair = $pair and size = $size and clients = '8' and script = 'tpcb-like' and memory = '1' and judged = 'yes'
    and not flagged and requests_per_s > 0
group by io_mode, placement
having count(distinct evidence) = 1 and enough(tps)
order by list_position(['all_hdd', 'index_ssd', 'table_ssd', 'all_ssd'], placement)
"""
UNIT: Final = "windows"
PARAMETERS: Final = {"size": "large"}
COLUMNS: Final[Columns] = {
    "Placement": ("placement", PLACEMENTS.__getitem__),
    "USD a year": ("usd_a_year", number),
    "Transactions/s": ("tps", "{:,.0f}".format),
    "USD per million": ("usd_per_million", "{:.4f}".format),
    "Over all on HDD": ("over_hdd", lambda ends: interval(*ends)),
    "Requests/s": ("requests_per_s", "{:,.0f}".format),
    "USD a year per request/s": ("usd_per_request", number),
}
derive = with_costs


def facts(rows: pl.DataFrame) -> dict[str, int]:
    return {"n": int(rows["windows"].sum()) if rows.height else 0}


def tabulate(rows: pl.DataFrame) -> Cells:
    return cells(rows, COLUMNS)
