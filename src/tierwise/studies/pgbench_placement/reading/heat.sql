-- The heat of the pgbench study's relations: one row for each window and relation, the log among them. A job is a transaction. What reached the
-- emulated tiers stands in the rows' proof, by relation, with the reads that follow the one before.
create temp view pgbench_placement_heat as
with
phases as (
    select
        *,
        unnest(list_distinct(json_keys(proof -> 'files') || [io.relation for io in relation_io])) as relation,
        proof -> 'files' as files,
        list_sum([io.intended_s for io in tier_io]) as devices_s,
        processor_s(proof, cpu_s) as processor_s
    from timings
    where
        study = 'pgbench_placement'
        and cell ->> 'script' = 'tpcb-like'
        and (cell ->> 'clients')::int = 8
        and (cell ->> 'memory')::double = 1
        and coalesce(cell ->> 'protocol', 'prepared') = 'prepared'
        and coalesce(cell ->> 'synchronous_commit', 'on') = 'on'
        and not json_exists(cell, '$.processors')  -- counted with other processors than the rest
),
requests as (
    select
        * exclude (files, relation_io),
        files -> relation as file,
        list_filter(relation_io, lambda io: io.relation = phases.relation)[1] as counts
    from phases
    where relation <> 'other'
)
select
    run_id,
    pair,
    io_mode,
    min(evidence) as evidence,
    (cell ->> 'size') || ' set'
        || if((cell ->> 'slowdown')::double = 1, '', format(', tiers slowed {:g}-fold', (cell ->> 'slowdown')::double)) as workload,
    (cell ->> 'slowdown')::double as slowdown,
    'transaction' as query,
    map {
        'hdd, hdd': 'all hdd', 'hdd, ssd': 'indexes ssd', 'ssd, hdd': 'tables ssd', 'ssd, ssd': 'all ssd'
    }[concat_ws(', ', cell ->> 'table', cell ->> 'index')] as placement,
    'ssd' as ssd,
    trial,
    replicate,
    min(step) as step,
    sum(result_rows)::double as jobs,
    8 as depth,
    sum(elapsed_s) as elapsed_s,
    sum(devices_s) as devices_s,
    sum(processor_s) as processor_s,
    sum(device_s / (cell ->> 'slowdown')::double + elapsed_s - device_s) as with_processors_s,
    bool_or(len(flags) > 0) as flagged,
    cell ->> 'size' as data_set,
    relation,
    any_value(if(relation = 'wal', 'wal', counts.relation_class)) as relation_class,
    any_value(coalesce(file ->> 'tier', counts.tier)) as tier,
    coalesce(sum((file ->> 'reads')::double), 0) as reads,
    coalesce(sum((file ->> 'sequential_reads')::double), 0) as sequential_reads,
    coalesce(sum((file ->> 'read_bytes')::double), 0) as read_bytes,
    coalesce(sum((file ->> 'writes')::double), 0) as writes,
    coalesce(sum((file ->> 'write_bytes')::double), 0) as write_bytes,
    sum((file ->> 'intended_s')::double) as io_s
from requests
group by all;
