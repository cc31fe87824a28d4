select variant, tablespace, replicate, mean_us, mode_bucket, share_250_us, times_ssd, 'none' as flag
from read_latency
where pair = $pair and variant <> 'published' and tablespace in ('ssd', 'hdd') and not flagged
order by variant, tablespace, replicate
