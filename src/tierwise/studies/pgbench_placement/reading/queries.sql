-- name: async
select count(*) > 0 from pgbench_placement where pair = $pair and io_mode = $io_mode and variant = 'async-commit'

-- name: gains
select size, placement, judged, slowdown, replicate, ratio, cpu_share, if(flagged, 'rejected', 'none') as flag
from pgbench_placement
where
    pair = $pair and io_mode = $io_mode and variant = $variant and clients = '8' and script = 'tpcb-like' and memory = '1'
    and ratio is not null
order by size, slowdown, placement, replicate

-- name: turned
-- The rate with the indexes on the SSD over that with the tables there, in one replicate, where popular rows are adjacent but have random keys.
select indexes.variant, indexes.replicate, indexes.ratio / tables.ratio as ratio, 'none' as flag
from pgbench_placement as indexes
join pgbench_placement as tables using (pair, io_mode, variant, size, clients, script, memory, slowdown, replicate)
where
    pair = $pair and io_mode = $io_mode and variant in ('published', 'with-processors') and size = 'large' and indexes.layout = 'random-keys'
    and indexes.placement = 'index_ssd' and tables.placement = 'table_ssd' and indexes.judged = 'yes'
    and not indexes.flagged and not tables.flagged
order by all

-- name: conditions
with conditions as (
    select placement, exp(avg(ln(ratio))) as gain
    from pgbench_placement
    where pair = $pair and size = 'large' and io_mode = 'direct' and variant = 'published' and judged = 'yes' and not flagged
    group by placement, script, clients, memory
    having enough(ratio)
)
select
    count(*) filter (placement = 'table_ssd') as conditions,
    min(gain) filter (placement = 'table_ssd') as tables_least, max(gain) filter (placement = 'table_ssd') as tables_most,
    min(gain) filter (placement = 'index_ssd') as indexes_least, max(gain) filter (placement = 'index_ssd') as indexes_most
from conditions

-- name: mechanism
-- Why the large set gains what it does, in one row: what the indexes take of pages, misses and device time with everything on HDD, and how
-- a checkpoint slows the clients. Nothing where fewer than $minimum windows of a placement are clean.
with clean as (
    from pgbench_placement
    where
        pair = $pair and io_mode = $io_mode and variant = 'published' and clients = '8' and script = 'tpcb-like' and memory = '1' and size = 'large'
        and judged = 'yes' and not flagged and placement in ('all_hdd', 'table_ssd')
    qualify count(*) over (partition by placement) >= $minimum
),
indexes as (
    select
        sum(hits) filter (relation_class = 'index') / sum(hits + reads) filter (relation_class = 'index') as index_found,
        sum(pages_read) filter (relation_class = 'index') / sum(pages_read) as index_misses,
        sum(io_s) filter (relation like '%_pkey') / sum(io_s) filter (relation <> 'wal') as index_device,
        sum(sequential_reads) filter (relation like '%_pkey') / sum(requests_read) filter (relation like '%_pkey') as index_sequential
    from pgbench_placement_relations
    semi join (from clean where placement = 'all_hdd') using (pair, trial, replicate)
),
phases as (
    select placement, phase, transactions / elapsed_s as tps, elapsed_s / sum(elapsed_s) over (partition by trial, replicate) as share,
        elapsed_s, (files -> 'wal' ->> 'intended_s')::double as wal_s
    from pgbench_placement_phases
    semi join clean using (pair, trial, replicate)
),
checkpoints as (
    select
        median(tps) filter (placement = 'all_hdd' and phase = 'before') as hdd_before,
        median(tps) filter (placement = 'all_hdd' and phase = 'checkpoint') as hdd_checkpoint,
        median(share) filter (placement = 'all_hdd' and phase = 'checkpoint') as hdd_checkpoint_share,
        median(tps) filter (placement = 'table_ssd' and phase = 'before') as ssd_before,
        median(tps) filter (placement = 'table_ssd' and phase = 'checkpoint') as ssd_checkpoint,
        median(share) filter (placement = 'table_ssd' and phase = 'checkpoint') as ssd_checkpoint_share,
        sum(wal_s) filter (placement = 'table_ssd') / sum(elapsed_s) filter (placement = 'table_ssd') as wal_busy
    from phases
)
select *, ssd_before / hdd_before as before_gain
from indexes, checkpoints

-- name: live_gains
-- Gains of pgbench's unflagged windows over everything on hdd, where there are enough, by direct I/O; a script of pgbench's own counts by its
-- updates. The accounts are partitioned for `hot_ssd` alone, whose gain is over partitioned ones on hdd.
-- Reads the view `pgbench_placement`; its parameter is the pair of tiers, by name.
select writes, skew, layout, memory::double as memory, slowdown, placement, exp(avg(ln(ratio))) as gain, count(*) as n
from pgbench_placement
where pair = $pair and size = 'large' and variant = 'published' and io_mode = 'direct' and clients = '8' and not flagged and ratio is not null
    and placement <> 'all_hdd' and script <> 'simple-update' and (partitions > 0) = (placement = 'hot_ssd')
group by all
having enough(ratio)
order by all
