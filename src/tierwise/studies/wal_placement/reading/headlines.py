"""The ratios that the first page takes from this study."""

from tierwise.report.run import Run
from tierwise.studies.wal_placement.reading.names import of_clients
from tierwise.studies.wal_placement.reading.tables.wal_ratios import QUERY


def headlines(run: Run, pair: str) -> dict[tuple[str, str], dict[int, float]]:
    """Return (``commits of 8 clients``, ``ssd over hdd``) -> commits per second over those elsewhere, without a delay, by replicate."""
    rows = run.query(QUERY, {"pair": pair}).filter(group_commit="off", flag="none")
    groups = rows.group_by("clients", "wal", "over", maintain_order=True)
    return {
        (of_clients(int(str(clients))), f"{wal} over {over}"): dict(part.select("replicate", "ratio").rows())
        for (clients, wal, over), part in groups
    }
