-- The heat of the survey's relations, in two workloads: light curves, and joins of Source and Detection. A job is one of each query that
-- ran, the first of a replicate where there are more. One row for each query from empty caches and relation that the workload reads; what it
-- never reads is left where it lies. The rows count pages; which of them were requested together, and follow each other, stands in the trace
-- of the trial, if one was recorded. The source's hybrid has its SSDs as an array: the tier that the cell names stands for ssd.
create temp view survey_placement_heat as
with
queries as (
    select
        *,
        cell ->> 'query' as query,
        cell ->> 'ssd' as fast,
        if(starts_with(cell ->> 'query', 'join'), 'joins', 'light curves') as workload,
        list_sum([io.intended_s for io in tier_io]) as devices_s,
        unnest(relation_io) as io
    from timings
    where study = 'survey_placement' and cell ->> 'query' not in ('move', 'sort') and coalesce((cell ->> 'execution')::bigint, 0) = 0
)
select
    run_id,
    pair,
    io_mode,
    evidence,
    workload,
    1.0::double as slowdown,
    replace(query, '_', ' ') as query,
    map {
        'all_hdd': 'all hdd', 'index_ssd': 'indexes ssd', 'source_ssd': 'Source ssd', 'detection_ssd': 'Detection ssd'
    }[cell ->> 'placement'] as placement,
    fast as ssd,
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
    if(io.tier = fast, 'ssd', io.tier) as tier,
    io.reads::double as reads,
    null::double as sequential_reads,
    8192 * io.reads::double as read_bytes,
    0.0::double as writes,
    0.0::double as write_bytes,
    io.io_s as io_s
from queries
qualify sum(io.reads) over (partition by run_id, pair, io_mode, workload, io.relation) > 0;
