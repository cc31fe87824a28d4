-- The measured phase of every clean seed, by drive and size of the data: reads delivered, reads of the device, and the share that missed.
-- Reads the view `ram_or_ssd`; its parameter is the pair of tiers.
select tier, dataset_gib::bigint as dataset_gib, reads_per_s, device_iops, miss_ratio
from ram_or_ssd
where pair = ? and not flagged
order by tier, dataset_gib, replicate
