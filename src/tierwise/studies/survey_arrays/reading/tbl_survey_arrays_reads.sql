select
    query, tier, count(*) as n, any_value(result_rows) as found, median(heap_reads)::bigint as heap,
    median(index_reads)::bigint as index_pages, median(requests)::bigint as requests, enough(if(flags = 'none', elapsed_s, null)) as timed,
    if(timed, median(read_bytes / elapsed_s) filter (flags = 'none'), null) as rate,
    if(timed, median(elapsed_s) filter (flags = 'none'), null) as elapsed_s,
    row_number() over (partition by query order by list_position($places, tier)) = 1 as first
from survey_arrays
where pair = $pair and io_mode = $io_mode and form = 'printed'
    and list_contains($places, tier)
group by query, tier
order by list_position($queries, query), list_position($places, tier)
