-- name: live
with of_tier as (
    select avg(overshoot) as late from ram_or_ssd_live where pair = $pair and how = 'live' group by tier having enough(overshoot)
)
select
    count(*) as live_runs,
    count(*) filter (flagged) as live_rejected,
    max(resident_pages_at_first) as live_before,
    min(resident_pages) as live_least,
    max(resident_pages) as live_most,
    max(cache_pages) as live_limit,
    max(scale) as live_scale,
    (select max(late) from of_tier) as live_late
from ram_or_ssd_live where pair = $pair and how = 'live'

-- name: beside
-- What each drive delivers live and by the model that reads as many pages around a fault, over the clean replicates.
with clean as (
    select tier, advice, how, exp(avg(ln(reads_per_s))) as reads_per_s, avg(pages_a_request) as pages from ram_or_ssd_live
    where pair = $pair and not flagged and (how = 'live' or (window_pages > 1) = (advice = 'normal'))
    group by tier, advice, how having enough(reads_per_s)
)
select live.tier, live.advice, live.reads_per_s as live_reads, model.reads_per_s as model_reads, live.pages
from clean as live join clean as model using (tier, advice)
where live.how = 'live' and model.how = 'model'

-- name: scales
select distinct tier, scale from ram_or_ssd_series where pair = $pair and how is null

-- name: served
-- What each machine of the Zipfian reads delivers over so much data: means over the seeds, of the data sizes that need the device.
select dataset_gib::double as data_gib, tier as medium, exp(avg(ln(reads_per_s))) as reads_per_s, exp(avg(ln(device_iops))) as device_iops,
       min(evidence) as evidence, count(*) as seeds
from ram_or_ssd
where pair = $pair and not flagged and device_iops > 0
group by data_gib, medium having count(distinct evidence) = 1 and enough(reads_per_s)
order by data_gib, medium

-- name: seeds
-- The measured phase of every clean seed, by drive and size of the data: reads delivered, reads of the device, and the share that missed.
select tier, dataset_gib::bigint as dataset_gib, reads_per_s, device_iops, miss_ratio, $ssd as ssd
from ram_or_ssd
where pair = $pair and not flagged
order by tier, dataset_gib, replicate
