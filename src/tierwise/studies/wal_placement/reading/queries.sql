-- name: delayed
select clients, wal, replicate, ratio, if(flagged, 'rejected', 'none') as flag
from wal_placement where pair = $pair and wal = over and group_commit = 'on' and over_group_commit = 'off' order by all

-- name: slowed
select
    any_value(slowdown)::int as slowdown,
    (select max(cpu_s / elapsed_s) from timings where study = 'wal_placement' and pair = $pair and clock <> 'real') as processor_most
from wal_placement_windows where pair = $pair

-- name: moved
with paces as (
    -- Of a commit, with the drives at their own speed and the processors' time behind the drives'.
    select cell ->> 'wal' as place, replicate, avg(device_s / (cell ->> 'slowdown')::double / result_rows + cpu_s / result_rows) as commit_s
    from timings
    where study = 'wal_placement' and pair = $pair and (cell ->> 'clients')::int = $clients
        and (cell ->> 'commit_delay_us')::int = 0 and len(flags) = 0
    group by all
)
select pair, evidence, io_mode, over, wal_placement.replicate, ratio, slowdown, before.commit_s / after.commit_s as with_processors
from wal_placement
join (select distinct trial, slowdown from wal_placement_windows) using (trial)
left join paces as before on (before.place, before.replicate) = (over, wal_placement.replicate)
left join paces as after on (after.place, after.replicate) = ('ssd', wal_placement.replicate)
where pair = $pair and wal = 'ssd' and group_commit = 'off' and over_group_commit = 'off' and clients = $clients and not flagged
order by over desc, wal_placement.replicate

-- name: windows
with windows as (
    select
        cell ->> 'wal' as wal,
        (cell ->> 'slowdown')::double as slowdown,
        elapsed_s, processor_s(proof, cpu_s) as processor_s, result_rows, evidence,
        list_filter(tier_io, lambda io: io.tier = cell ->> 'wal')[1].intended_s as intended_s
    from timings
    where study = 'wal_placement' and pair = $pair and (cell ->> 'clients')::int = $clients
        and (cell ->> 'commit_delay_us')::int = 0 and len(flags) = 0
)
select
    wal,
    min(evidence) as evidence,
    exp(avg(ln(elapsed_s / slowdown / result_rows))) as commit_s,
    coalesce(avg(processor_s / result_rows), 0) as processor_s,
    avg(least(intended_s, elapsed_s) / slowdown / result_rows) as busy_s
from windows
group by wal having count(*) >= $minimum
order by list_position(['hdd', 'cached', 'ssd'], wal)
