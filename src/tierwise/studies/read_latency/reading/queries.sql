-- name: outstanding
select tablespace, sum(mean_us * reads) / 1e6 / sum(elapsed_s) as reads
from read_latency
join (
    select replicate, sum(elapsed_s / coalesce((proof ->> 'slowdown')::double, 1)) as elapsed_s
    from timings where study = 'read_latency' and pair = $pair group by replicate
) using (replicate)
semi join (from read_latency_clean where pair = $pair) using (tablespace, replicate)
where pair = $pair and variant = 'published'
group by tablespace

-- name: windows
select
    count(*) as windows,
    max(abs((proof ->> 'recorded')::bigint / (proof -> 'server' ->> 'reads')::bigint - 1)) as apart
from raw_timings
where study = 'read_latency' and pair = $pair and clock = 'real'

-- name: memory
-- Share of a tablespace's reads below 65 us, which only memory serves: of the windows whose tracer saw every read.
select tablespace, coalesce(sum(reads) filter (bucket < 16), 0) / sum(reads) as share
from read_latency_whole_buckets
where pair = $pair and len(flags) = 0
group by tablespace

-- name: virtual
select max(cpu_s / elapsed_s) as processor_share, max(coalesce((proof ->> 'slowdown')::double, 1))::int as slowdown
from raw_timings
where study = 'read_latency' and pair = $pair and clock <> 'real'

-- name: counted
-- Reads by tablespace and power of two of nanoseconds, over all clean windows of a tablespace that has enough of them.
-- Reads from memory are in buckets below 16: no device of the pairs answers in less than 65 us.
select tablespace, bucket, sum(reads)::bigint as reads
from read_latency_buckets
semi join (from read_latency_clean where pair = $pair) using (tablespace, replicate)
where pair = $pair and variant = 'published' and (bucket >= 16 or $memory)
group by all
order by all
