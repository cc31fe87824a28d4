-- Reads by tablespace and power of two of nanoseconds, all clean windows together, where a tablespace has enough of these.
-- Reads the views `read_latency_buckets` and `read_latency_clean`; its parameter is the pair of tiers.
select tablespace, bucket, sum(reads)::bigint as reads
from read_latency_buckets
semi join (from read_latency_clean where pair = $1) using (tablespace, block)
where pair = $1
group by all
order by all
