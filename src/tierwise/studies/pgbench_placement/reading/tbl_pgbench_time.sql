-- Where the sessions' time went in each window at the slowdown that ratios are judged at, rejected windows too: `share` of it by resource.
-- `device TIER`: the share of the window in which the tier's drives had something to do, the mean of them.
with judged as (
    select run_id, pair, trial, replicate, io_mode, size, placement
    from pgbench_placement
    where pair = $pair and variant <> 'with-processors' and clients = '8' and script = 'tpcb-like' and memory = '1' and judged = 'yes'
),
phases as (
    select
        judged.*, coalesce(cell ->> 'synchronous_commit', 'on') as synchronous_commit, format('{}/{}', trial, replicate) as window_id,
        timings.elapsed_s, proof -> 'window_shares' as shares, proof -> 'utilisation' as utilisation
    from timings
    join judged using (run_id, pair, trial, replicate)
    where coalesce(cell ->> 'protocol', 'prepared') = 'prepared'
),
windows as (
    select io_mode, size, placement, synchronous_commit, window_id, any_value(shares) as shares
    from phases
    group by all
),
spent as (
    select * exclude (shares), (shares ->> resource)::double as share
    from (select *, unnest(json_keys(shares)) as resource from windows)
),
busy as (
    select
        io_mode, size, placement, synchronous_commit, window_id, 'device ' || tier as resource,
        sum((utilisation ->> tier)::double * elapsed_s) / sum(elapsed_s) as share
    from (select *, unnest(json_keys(utilisation)) as tier from phases)
    group by all
)
select io_mode, size, placement, synchronous_commit, window_id, resource, share
from (from spent union all by name from busy)
order by size, list_position(['all_hdd', 'index_ssd', 'table_ssd', 'all_ssd'], placement), synchronous_commit desc, window_id, resource
