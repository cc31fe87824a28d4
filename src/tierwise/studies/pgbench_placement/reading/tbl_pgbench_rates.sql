select
    io_mode, size, variant, placement, replicate, tps, no_checkpoint_tps, ratio, no_checkpoint_ratio,
    if(flagged, 'rejected', 'none') as flag
from pgbench_placement
where
    pair = $pair and variant in ('published', 'async-commit') and clients = '8' and script = 'tpcb-like' and memory = '1'
    and judged = 'yes' and ratio is not null
order by size, list_position(['all_hdd', 'index_ssd', 'table_ssd', 'all_ssd'], placement), variant desc, replicate
