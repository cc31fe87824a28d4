-- Source R's question: how many reads a second does a database on a disk, or on an SSD, deliver as it outgrows the RAM?
-- Reads the view `timings`.

-- One row for each interval of a series, in the order of time: reads delivered, those that missed the page cache, and what the drive
-- was asked for. `end_s` counts from dropped caches at the full size, also where a part of it was simulated (`scale`).
create temp view ram_or_ssd_series as
select
    run_id,
    pair,
    arm,
    substrate,
    block,
    cell ->> 'tier' as tier,
    cell ->> 'dataset_gib' as dataset_gib,
    (cell ->> 'scale')::int as scale,
    cell ->> 'phase' as phase,
    (cell ->> 'end_s')::double as end_s,
    elapsed_s,
    result_rows as reads,
    list_sum([io.reads for io in relation_io])::bigint as misses,
    list_sum([io.reads for io in tier_io])::bigint as device_reads,
    result_rows / elapsed_s as reads_per_s,
    flags
from timings
where study = 'ram_or_ssd';

-- One row for each pair of tiers, tier, size of the data and block (a seed): means over the measured phase.
-- `multiple` is the source's own figure, reads per second over the IOPS that it gives the drive; `times_24_gib` compares with 24 GiB.
create temp view ram_or_ssd as
select
    run_id,
    pair,
    arm,
    substrate,
    block,
    tier,
    dataset_gib,
    sum(reads) / sum(elapsed_s) as reads_per_s,
    sum(misses) / sum(reads) as miss_ratio,
    sum(device_reads) / sum(elapsed_s) as device_iops,
    sum(reads) / sum(elapsed_s) / case tier when 'ssd' then 33000 when 'hdd' then 250 end as multiple,
    sum(reads) / sum(elapsed_s) / max(sum(reads) / sum(elapsed_s)) filter (dataset_gib = '24')
        over (partition by run_id, pair, arm, tier, block) as times_24_gib,
    bool_or(len(flags) > 0) as flagged
from ram_or_ssd_series
where phase = 'measured'
group by run_id, pair, arm, substrate, block, tier, dataset_gib;

-- What two runs are compared by: one row for each seed, its value by cell of the grid.
create temp view ram_or_ssd_cells as
select
    run_id,
    pair,
    arm,
    format('{}, {} GiB', tier, dataset_gib) as cell,
    'reads/s' as unit,
    block,
    substrate,
    reads_per_s as value,
    flagged
from ram_or_ssd;
