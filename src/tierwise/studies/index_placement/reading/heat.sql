-- The heat of the census study's relations: one row for each cold count of the published protocol, and relation. A job is one count for each
-- state. The rows count pages; which of them follow each other stands in the trace of the trial, if one was recorded.
create temp view index_placement_heat as
with
counts as (
    select
        *,
        list_sum([io.intended_s for io in tier_io]) as devices_s,
        unnest(relation_io) as io
    from timings
    where study = 'index_placement' and cache = 'cold' and cell ->> 'variant' = 'published'
)
select
    run_id,
    pair,
    io_mode,
    evidence,
    'cold counts' as workload,
    1.0::double as slowdown,
    'count for ' || (cell ->> 'state') as query,
    map {
        'hdd, hdd': 'all hdd', 'hdd, ssd': 'indexes ssd', 'ssd, hdd': 'tables ssd', 'ssd, ssd': 'all ssd'
    }[concat_ws(', ', cell ->> 'table', cell ->> 'index')] as placement,
    'ssd' as ssd,
    trial,
    replicate,
    step,
    1.0::double as jobs,
    1 as depth,
    elapsed_s,
    devices_s,
    cpu_s as processor_s,
    len(flags) > 0 as flagged,
    null::varchar as data_set,
    io.relation as relation,
    io.relation_class as relation_class,
    io.tier as tier,
    io.reads::double as reads,
    null::double as sequential_reads,
    8192 * io.reads::double as read_bytes,
    0.0::double as writes,
    0.0::double as write_bytes,
    io.io_s as io_s
from counts;
