-- What each machine of the Zipfian reads delivers over so much data: means over the seeds, of the data sizes that need the device.
-- Reads the view `ram_or_ssd`; its parameter is the pair of tiers.
select dataset_gib::double as data_gib, tier as medium, exp(avg(ln(reads_per_s))) as reads_per_s, exp(avg(ln(device_iops))) as device_iops,
       min(evidence) as evidence, count(*) as seeds
from ram_or_ssd
where pair = ? and not flagged and device_iops > 0
group by data_gib, medium having count(distinct evidence) = 1 and enough(reads_per_s)
order by data_gib, medium
