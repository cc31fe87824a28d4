select
    io_mode, cache, state as row, [min(heap_reads), max(heap_reads)] as heap, [min(index_reads), max(index_reads)] as index,
    [min(heap_hits + index_hits), max(heap_hits + index_hits)] as hits, count(*) as counts
from index_placement_observations
where variant = 'published' and pair = $pair
group by io_mode, cache, state
order by
    list_position(['cold', 'cross', 'hot'], cache),
    list_position(['FL', 'PR', 'NV', 'FL->PR', 'PR->NV', 'NV->FL'], state)
