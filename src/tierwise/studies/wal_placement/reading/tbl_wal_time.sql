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
