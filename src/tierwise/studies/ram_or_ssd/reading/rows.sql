-- The question of the Zipfian reads: how many reads a second does a database on a disk, or on an SSD, deliver as it outgrows the RAM?
-- Reads the view `timings`.

-- One row for each interval of a series, in the order of time: reads delivered, those that missed the page cache, and what the drive
-- was requested. `end_s` counts from dropped caches at the full size, also where a part of it was simulated or read (`scale`).
-- `how` is null where the sizes of the source are simulated; live where a scaled file is really read, and model for its models.
-- `window_pages` is what the model reads around a fault, `advice` how the live file was mapped.
create temp view ram_or_ssd_series as
select
    run_id,
    pair,
    io_mode,
    evidence,
    replicate,
    cell ->> 'how' as how,
    cell ->> 'tier' as tier,
    cell ->> 'dataset_gib' as dataset_gib,
    (cell ->> 'cache_gib')::int as cache_gib,
    (cell ->> 'scale')::int as scale,
    cell ->> 'advice' as advice,
    (cell ->> 'window_pages')::int as window_pages,
    cell ->> 'phase' as phase,
    (cell ->> 'end_s')::double as end_s,
    elapsed_s,
    result_rows as reads,
    list_sum([io.reads for io in relation_io])::bigint as misses,
    list_sum([io.reads for io in tier_io])::bigint as device_reads,
    list_sum([io.read_bytes for io in tier_io])::bigint as device_bytes,
    list_sum([io.intended_s for io in tier_io]) as intended_s,
    list_sum([io.actual_s for io in tier_io]) as actual_s,
    result_rows / elapsed_s as reads_per_s,
    (proof ->> 'cache_pages')::bigint as cache_pages,
    (proof ->> 'resident_pages_at_first')::bigint as resident_pages_at_first,
    greatest((proof ->> 'resident_pages_half_way')::bigint, (proof ->> 'resident_pages_at_last')::bigint) as resident_pages,
    flags
from timings
where study = 'ram_or_ssd';

-- One row for each pair of tiers, tier, size of the data and replicate (a seed): means over the measured phase.
-- `multiple` is the source's own figure, reads per second over the IOPS that it gives the drive; `times_24_gib` compares with 24 GiB.
create temp view ram_or_ssd as
select
    run_id,
    pair,
    io_mode,
    evidence,
    replicate,
    tier,
    dataset_gib,
    sum(reads) / sum(elapsed_s) as reads_per_s,
    sum(misses) / sum(reads) as miss_ratio,
    sum(device_reads) / sum(elapsed_s) as device_iops,
    sum(reads) / sum(elapsed_s) / case tier when 'ssd' then 33000 when 'hdd' then 250 end as multiple,
    sum(reads) / sum(elapsed_s) / max(sum(reads) / sum(elapsed_s)) filter (dataset_gib = '24')
        over (partition by run_id, pair, io_mode, tier, replicate) as times_24_gib,
    bool_or(len(flags) > 0) as flagged
from ram_or_ssd_series
where phase = 'measured' and how is null
group by run_id, pair, io_mode, evidence, replicate, tier, dataset_gib;

-- The same benchmark read live on a scaled file, and its models: one row for each of them and replicate, means over the measured phase.
create temp view ram_or_ssd_live as
select
    run_id,
    pair,
    evidence,
    replicate,
    how,
    tier,
    dataset_gib::int as dataset_gib,
    cache_gib,
    scale,
    advice,
    window_pages,
    sum(elapsed_s) as lasted_s,
    sum(reads) / sum(elapsed_s) as reads_per_s,
    sum(misses) / sum(reads) as miss_ratio,
    sum(device_reads) / sum(elapsed_s) as device_iops,
    sum(device_bytes) / sum(device_reads) / 4096 as pages_a_request,
    sum(actual_s) / nullif(sum(intended_s), 0) - 1 as overshoot,
    any_value(cache_pages) as cache_pages,
    max(resident_pages_at_first) as resident_pages_at_first,
    max(resident_pages) as resident_pages,
    bool_or(len(flags) > 0) as flagged
from ram_or_ssd_series
where phase = 'measured' and how is not null
group by run_id, pair, evidence, replicate, how, tier, dataset_gib, cache_gib, scale, advice, window_pages;

-- What two runs are compared by: one row for each seed or replicate, its value by cell of the grid.
create temp view ram_or_ssd_cells as
select
    run_id,
    pair,
    io_mode,
    format('{}, {} GiB', tier, dataset_gib) as cell,
    'reads/s' as unit,
    replicate,
    evidence,
    reads_per_s as value,
    flagged
from ram_or_ssd
union all
select
    run_id,
    pair,
    'buffered' as io_mode,
    format('{} read live, {} GiB at 1/{}, {}', tier, dataset_gib, scale, advice) as cell,
    'reads/s' as unit,
    replicate,
    evidence,
    reads_per_s as value,
    flagged
from ram_or_ssd_live
where how = 'live';
