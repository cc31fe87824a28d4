select
    query, tier, count(*) as n, any_value(result_rows) as found, median(heap_reads) as heap, median(index_reads) as index_pages,
    median(requests) as requests, enough(if(flags = 'none', elapsed_s, null)) as timed,
    if(timed, median(read_bytes / elapsed_s) filter (flags = 'none'), null) as rate,
    if(timed, median(elapsed_s) filter (flags = 'none'), null) as elapsed_s
from survey_arrays
where pair = $pair and io_mode = $io_mode and form = 'printed'
group by query, tier
