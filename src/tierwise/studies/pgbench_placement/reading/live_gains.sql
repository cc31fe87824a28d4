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
