-- name: through
with cold as (
    from index_placement_through where variant = 'published' and cache = 'cold' and pair = $pair and io_mode = $io_mode
)
select
    100 * index_reads / (heap_reads + index_reads) as pages,
    100 * index_io_s / (cold.heap_io_s + index_io_s + other_io_s) as time,
    100 - 100 * moved.heap_io_s / cold.heap_io_s as heap_saved
from cold left join (select state, heap_io_s from cold where placement = 'hdd/ssd') as moved using (state)
where placement = 'hdd/hdd'

-- name: remedies
select ours.variant, ours.state, ours.replicate, published.hdd_hdd_s / ours.hdd_hdd_s as speedup
from index_placement as ours join index_placement as published using (run_id, pair, io_mode, cache, state, replicate)
where published.variant = 'published' and cache = 'cold' and pair = $pair and not (ours.flagged or published.flagged)
    and io_mode = $io_mode and speedup is not null

-- name: indexes
select * from index_placement_gains
where variant in ('bitmap', 'two-indexes') and pair = $pair and io_mode = $io_mode and cache = 'cold' and placement = 'index on SSD'

-- name: gains
select * from index_placement_gains where variant = 'published' and pair = $pair

-- name: counts
select distinct state, result_rows from index_placement_observations where pair = $pair and cache <> 'cross'

-- name: emulated
select trial, replicate, any_value(elapsed_s) from timings
where study = $study and pair = $pair and cache = 'cold' and len(flags) = 0 group by trial, replicate
