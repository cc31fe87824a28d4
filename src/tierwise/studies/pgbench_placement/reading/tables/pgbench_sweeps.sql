-- The indexes' share of the misses, and the gains in clean windows, under each condition of the large set.
-- Predicted is the gain that a move would have if misses alone took time, and none of those of the relation that is moved.
with chosen as (
    select
        *,
        if(placement = 'index_ssd' and not flagged, ratio, null) as index_ratio,
        if(placement = 'table_ssd' and not flagged, ratio, null) as table_ratio
    from pgbench_placement
    where pair = $pair and size = 'large' and judged = 'yes'
),
conditions as (
    select
        io_mode, script, clients::int as clients, memory::double as memory,
        sum(index_reads) filter (placement = 'all_hdd') / nullif(sum(index_reads + table_reads) filter (placement = 'all_hdd'), 0) as share,
        if(enough(index_ratio), exp(avg(ln(index_ratio))), null) as index_gain,
        if(enough(table_ratio), exp(avg(ln(table_ratio))), null) as table_gain,
        count(*) as windows
    from chosen
    group by io_mode, script, clients, memory
)
select
    *,
    if(share > 0 and share < 1, 1 / (1 - share), null) as index_predicted,
    if(share > 0 and share < 1, 1 / share, null) as table_predicted
from conditions
order by memory desc, script, clients
