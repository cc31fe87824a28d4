-- The latency study's question: how long does a read of 8 KiB take, by tablespace, while a mixed load runs?
-- Reads the view `raw_timings`. A raw row is one window, whose `proof` counts its reads by tablespace and power of two of nanoseconds; the
-- single reads lie beside it (view `reads`).

-- One row for each window, tablespace and what was recorded of its reads there. Where windows were counted as well as waited for, what reaches
-- a device comes from the virtual-time one of the replicate (the service times of the mounts' log), what memory served by the real-time one, which
-- alone has every read; so the two are never in one histogram. `variant`: published, or an I/O mode, whose requests are those of the counted
-- window, replayed through models that serve more requests, or answer otherwise (`measuring/replay_variants.py`).
create temp table read_latency_recorded as
with spaces as (
    select
        run_id, pair, io_mode, evidence, trial, replicate, clock, flags,
        unnest(json_keys(proof -> 'tablespaces')) as tablespace,
        proof -> 'tablespaces' -> unnest(json_keys(proof -> 'tablespaces')) as entry
    from raw_timings
    where study = 'read_latency'
)
select *, clock = 'real' as whole, 'published' as variant
from spaces
where
    clock <> 'real'
    or (run_id, pair, io_mode, replicate, tablespace) not in (select (run_id, pair, io_mode, replicate, tablespace) from spaces where clock <> 'real')
union all by name
select
    * exclude (variants, evidence),
    'simulated' as evidence,
    unnest(json_keys(variants)) as tablespace,
    variants -> unnest(json_keys(variants)) as entry,
    false as whole
from (
    select
        run_id, pair, io_mode, evidence, trial, replicate, clock, flags,
        unnest(json_keys(proof -> 'variants')) as variant,
        proof -> 'variants' -> unnest(json_keys(proof -> 'variants')) as variants
    from raw_timings
    where study = 'read_latency' and json_exists(proof, '$.variants')
);

-- The single reads of those windows.
create temp view read_latency_reads as
from reads
semi join (from read_latency_recorded where variant = 'published') using (run_id, pair, trial, replicate, tablespace)
where study = 'read_latency';

-- The same for all tablespaces of a window at once: of real-time windows alone, whose recorder saw what memory served.
create temp table read_latency_whole as
with spaces as (
    select
        run_id, pair, io_mode, evidence, trial, replicate, flags,
        unnest(json_keys(proof -> 'tablespaces')) as tablespace,
        proof -> 'tablespaces' -> unnest(json_keys(proof -> 'tablespaces')) as entry
    from raw_timings
    where study = 'read_latency' and clock = 'real'
)
from spaces;

-- One row for each window, tablespace (`all`: every one) and bucket: reads that took from 2^bucket up to 2^(bucket + 1) ns, as DTrace's
-- quantize() of the source counts.
create temp table read_latency_whole_buckets as
select
    run_id, pair, io_mode, 'published' as variant, evidence, replicate, flags, tablespace,
    unnest(json_keys(entry -> 'buckets'))::int as bucket,
    (entry -> 'buckets' ->> unnest(json_keys(entry -> 'buckets')))::bigint as reads
from read_latency_whole;

create temp table read_latency_buckets as
select
    run_id, pair, io_mode, variant, evidence, replicate, flags, tablespace,
    unnest(json_keys(entry -> 'buckets'))::int as bucket,
    (entry -> 'buckets' ->> unnest(json_keys(entry -> 'buckets')))::bigint as reads
from read_latency_recorded
union all by name
select run_id, pair, io_mode, variant, evidence, replicate, flags, 'all' as tablespace, bucket, sum(reads)::bigint as reads
from read_latency_whole_buckets
group by all;

-- The modes of each histogram in a table like the one above, by its name (a string): a bucket with at least 1 % of the histogram's reads, with
-- more than the bucket below and no fewer than the one above. `zone`: memory below 65 us, where no device of the pairs answers; else the
-- tablespace that has most of the bucket's reads in the table `parts`, whose sum the histogram of all is.
create temp macro read_latency_modes_in(histograms, parts) as table
with beside as (
    select
        *,
        (sum(reads) over histogram)::bigint as total,
        if(lag(bucket) over in_order = bucket - 1, lag(reads) over in_order, 0) as below,
        if(lead(bucket) over in_order = bucket + 1, lead(reads) over in_order, 0) as above
    from query_table(histograms)
    window
        histogram as (partition by run_id, pair, io_mode, variant, replicate, tablespace),
        in_order as (partition by run_id, pair, io_mode, variant, replicate, tablespace order by bucket)
),
most as (
    select run_id, pair, io_mode, variant, replicate, bucket, arg_max(tablespace, reads) as most_of
    from query_table(parts)
    where tablespace <> 'all'
    group by all
)
select
    run_id, pair, io_mode, variant, replicate, tablespace, bucket, reads, total,
    reads / total as share,
    if(bucket < 16, 'memory', coalesce(most_of, tablespace)) as zone
from beside
left join most using (run_id, pair, io_mode, variant, replicate, bucket)
where reads >= 0.01 * total and reads > below and reads >= above;

create temp view read_latency_modes as
from read_latency_modes_in('read_latency_buckets', 'read_latency_whole_buckets');

-- One row for each window and tablespace. `mode_us`: the mode of its histogram as of grouped data, on the log scale: in the fullest bucket,
-- the nearer to a neighbour the more reads that has, so that it differs from window to window as they do. `share_250_us`: share of the
-- reads from 262 to 524 us, half a read added on either side, so that neither none nor all is a share without odds. `times_ssd`: its mean
-- read over that of the ssd. `three_zones` and `sub_spike` are 1 where they are seen: in the histogram of all, modes of memory, of the SSD and, between 1
-- and 32 ms, of disks, one above the other; in that of the ssd, a mode of about 1 ms (0.52 to 2.1) above the fullest bucket.
-- A window without the reads that memory served says nothing of `all`.
create temp view read_latency as
with each as (
    select
        run_id, pair, io_mode, variant, evidence, replicate, flags, tablespace,
        (entry ->> 'reads')::bigint as reads,
        (entry ->> 'latency_sum_s')::double as latency_sum_s
    from read_latency_recorded
    union all by name
    select
        run_id, pair, io_mode, 'published' as variant, evidence, replicate, flags,
        'all' as tablespace,
        sum((entry ->> 'reads')::bigint)::bigint as reads,
        sum((entry ->> 'latency_sum_s')::double) as latency_sum_s
    from read_latency_whole
    group by all
),
full_bucket as (
    select
        run_id, pair, io_mode, variant, replicate, tablespace,
        arg_max(bucket, reads) as bucket,
        max(reads) as held,
        coalesce(max(reads) filter (bucket = fullest - 1), 0) as below,
        coalesce(max(reads) filter (bucket = fullest + 1), 0) as above,
        coalesce(max(reads) filter (bucket = 18), 0) as at_250_us
    from (
        select *, arg_max(bucket, reads) over (partition by run_id, pair, io_mode, variant, replicate, tablespace) as fullest
        from read_latency_buckets
    )
    group by all
),
ssd as (
    select run_id, pair, io_mode, variant, replicate, arg_max(bucket, reads) as fullest
    from read_latency_whole_buckets
    where tablespace = 'ssd' and bucket >= 16
    group by all
),
zones as (
    select
        run_id, pair, io_mode, variant, replicate,
        min(bucket) filter (zone = 'memory') as memory,
        min(bucket) filter (zone <> 'memory' and bucket between fullest and fullest + 1) as ssd,
        max(bucket) filter (zone in ('hdd', 'aux') and bucket between 20 and 24) as disk
    from read_latency_modes
    join ssd using (run_id, pair, io_mode, variant, replicate)
    where tablespace = 'all'
    group by all
)
select
    each.run_id,
    each.pair,
    each.io_mode,
    each.variant,
    each.evidence,
    each.replicate,
    each.tablespace,
    each.reads,
    1e6 * each.latency_sum_s / each.reads as mean_us,
    2 ** (bucket + coalesce((held - below) / nullif(2 * held - below - above, 0), 0.5)) / 1000 as mode_us,
    (at_250_us + 0.5) / (each.reads + 1) as share_250_us,
    2 ** (full_bucket.bucket + 0.5) / 1000 as mode_middle_us,
    full_bucket.bucket as mode_bucket,
    full_bucket.held / each.reads as mode_share,
    (each.latency_sum_s / each.reads) / max(each.latency_sum_s / each.reads) filter (each.tablespace = 'ssd')
        over (partition by each.run_id, each.pair, each.io_mode, each.variant, each.replicate) as times_ssd,
    coalesce(zones.memory < zones.ssd and zones.ssd < zones.disk, false)::int as three_zones,
    exists (
        from read_latency_modes as mode
        where (mode.run_id, mode.pair, mode.io_mode, mode.variant, mode.replicate, mode.tablespace)
            = (each.run_id, each.pair, each.io_mode, each.variant, each.replicate, each.tablespace)
            and mode.bucket in (19, 20) and mode.bucket > full_bucket.bucket
    )::int as sub_spike,
    len(list_filter(each.flags, lambda flag: flag <> 'unseen')) > 0
        or (each.tablespace = 'all' and list_contains(each.flags, 'unseen')) as flagged
from each
join full_bucket using (run_id, pair, io_mode, variant, replicate, tablespace)
left join zones using (run_id, pair, io_mode, variant, replicate);

-- By tablespace the windows whose reads were recorded, if there are enough; each is one repeat, however many reads it has.
create temp view read_latency_clean as
select run_id, pair, tablespace, replicate
from read_latency
where not flagged and variant = 'published'
and (run_id, pair, tablespace) in (
    select (run_id, pair, tablespace) from read_latency
    where not flagged and variant = 'published'
    group by run_id, pair, tablespace having enough(replicate)
);

-- What two runs are compared by: one row for each window and tablespace, its value by cell of the grid.
create temp view read_latency_cells as
select
    run_id, pair, io_mode,
    format('mean read of 8 KiB, {}', tablespace) as cell,
    's' as unit,
    replicate, evidence,
    mean_us / 1e6 as value,
    flagged
from read_latency
where tablespace <> 'all' and variant = 'published';
