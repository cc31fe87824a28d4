select
    io_mode, cache, state as row, replicate + 1 as replicate, 1000 * elapsed_s as time_ms,
    if(len(flags) > 0, array_to_string(flags, ', '), 'none') as flags,
    map {
        'hdd, hdd': 'both on HDD', 'hdd, ssd': 'index on SSD', 'ssd, hdd': 'table on SSD', 'ssd, ssd': 'both on SSD'
    }[concat_ws(', ', table_tier, index_tier)] as placement
from index_placement_observations
where variant = 'published' and pair = $pair
order by io_mode, cache, state, replicate, table_tier, index_tier
