"""Where the time of the sessions went, and how busy each device was, by place of the log."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count
from tierwise.report.session_time import tabulated
from tierwise.studies.wal_placement.reading.names import GROUPED, SHORT

QUERY: Final = """
with windows as (
    select
        wal, clients, group_commit, format('{}/{}', trial, replicate) as window_id,
        proof -> 'window_shares' as shares, proof -> 'utilisation' as utilisation
    from timings
    join wal_placement_windows using (run_id, pair, trial, replicate)
    where pair = $pair and study = 'wal_placement'
),
found as (
    select * exclude (shares, utilisation), unnest(json_keys(shares)) as resource, shares as part from windows
    union all by name
    select * exclude (shares, utilisation), unnest(json_keys(utilisation)) as tier, utilisation as part from windows
)
select
    wal, clients, group_commit, window_id,
    coalesce(resource, 'device ' || tier) as resource, (part ->> coalesce(resource, tier))::double as share
from found
order by group_commit, clients, list_position(['hdd', 'cached', 'ssd'], wal), window_id, resource
"""
UNIT: Final = "shares"
KEYS: Final = {"Log on": "wal", "Clients": "clients", "commit_delay": "group_commit"}


def tabulate(rows: pl.DataFrame) -> Cells | None:
    words = {"wal": SHORT, "clients": {clients: count(clients) for clients in rows["clients"].unique()}, "group_commit": GROUPED}
    return tabulated(rows, KEYS, words, SHORT)
