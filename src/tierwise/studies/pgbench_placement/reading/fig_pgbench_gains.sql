select size, io_mode, slowdown, placement, replicate + 1 as replicate, tps, ratio
from pgbench_placement
where
    pair = $pair and variant = 'published' and clients = $clients::text and script = $script and memory::double = $memory
    and placement <> 'all_hdd' and not flagged and ratio is not null
order by size, io_mode, slowdown, placement, replicate
