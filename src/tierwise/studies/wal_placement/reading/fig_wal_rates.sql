select
    group_commit, wal, clients, replicate + 1 as replicate, commits_per_s, with_processors_per_s, latency_s * 1000 as latency_ms,
    flushes_per_commit, cpu_share, if(flagged, flags, 'none') as flag
from wal_placement_windows
where pair = $pair and list_contains($places, wal)
order by all
