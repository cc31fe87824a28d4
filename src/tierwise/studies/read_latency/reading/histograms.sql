-- Reads by tablespace and power of two of nanoseconds, all clean windows together, where a tablespace has enough of these.
-- Reads the views `read_latency_buckets` and `read_latency_clean`; its parameters are the pair of tiers, and whether
-- what memory served is counted (buckets below 16: no device of the pairs answers in less than 65 us).
select tablespace, bucket, sum(reads)::bigint as reads
from read_latency_buckets
semi join (from read_latency_clean where pair = $1) using (tablespace, replicate)
where pair = $1 and variant = 'published' and (bucket >= 16 or $2)
group by all
order by all
