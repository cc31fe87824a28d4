select io_mode, variant, cache, state as row, replicate + 1 as replicate, ratio, 1 / ratio as speedup, 'none' as flag
from index_placement
where pair = $pair and cache in ('cold', 'cross') and not flagged and ratio is not null
order by io_mode, variant, cache, row, replicate
