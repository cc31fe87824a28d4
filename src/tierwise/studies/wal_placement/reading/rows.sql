-- Does it pay to put the WAL on the SSD? Reads the view `timings`. Every row is one window over a running load, in which no checkpoint runs.

-- One row a window. Rates and times are given at the tiers' own pace: where the tiers were slowed, a second of the window is a share of one.
create temp view wal_placement_windows as
select
    run_id,
    pair,
    io_mode,
    trial,
    replicate,
    evidence,
    cell ->> 'wal' as wal,
    (cell ->> 'clients')::int as clients,
    if((cell ->> 'commit_delay_us')::int > 0, 'on', 'off') as group_commit,
    (cell ->> 'slowdown')::double as slowdown,
    result_rows::bigint as commits,
    result_rows / elapsed_s * (cell ->> 'slowdown')::double as commits_per_s,
    -- With the drives at their own speed and the processors' time behind the drives'; nothing where no drive was slowed.
    if((cell ->> 'slowdown')::double > 1, result_rows / (device_s / (cell ->> 'slowdown')::double + cpu_s), null) as with_processors_per_s,
    (cell ->> 'clients')::int * elapsed_s / (cell ->> 'slowdown')::double / result_rows as latency_s,
    (proof -> 'files' -> 'wal' ->> 'flushes')::double / result_rows as flushes_per_commit,
    (proof -> 'files' -> 'wal' ->> 'write_bytes')::double / result_rows as bytes_per_commit,
    (proof ->> 'window_cpu_share')::double as cpu_share,
    array_to_string(flags, ', ') as flags,
    len(flags) > 0 as flagged
from timings
where study = 'wal_placement';

-- One row a ratio of commits a second in one replicate: of a place of the log over another one, all else equal; or of a place with group
-- commit over the same without.
create temp view wal_placement as
select
    one.run_id,
    one.pair,
    one.io_mode,
    one.trial,
    one.replicate,
    one.wal,
    base.wal as over,
    one.clients,
    one.group_commit,
    base.group_commit as over_group_commit,
    one.commits_per_s / base.commits_per_s as ratio,
    if(one.evidence = base.evidence, one.evidence, 'mixed') as evidence,
    one.flagged or base.flagged as flagged
from wal_placement_windows as one
join wal_placement_windows as base
    on (base.run_id, base.pair, base.io_mode, base.clients, base.slowdown, base.replicate)
    = (one.run_id, one.pair, one.io_mode, one.clients, one.slowdown, one.replicate)
    and ((base.wal <> one.wal and base.group_commit = one.group_commit)
        or (base.wal = one.wal and one.group_commit = 'on' and base.group_commit = 'off'));

-- What two runs are compared by: one row a window.
create temp view wal_placement_cells as
select
    run_id, pair, io_mode,
    format('WAL on {}, {} clients, group commit {}', wal, clients, group_commit) as cell,
    'commits/s' as unit,
    replicate, evidence, commits_per_s as value, flagged
from wal_placement_windows;
