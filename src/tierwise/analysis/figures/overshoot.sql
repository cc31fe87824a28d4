-- How well did emulated tiers keep the service time of their device model? One row for each pair, study and tier.
-- Reads the view `raw_timings`: of the rows that were waited for, because by a virtual clock nothing is late. Times are sums over every request of every observation; a tier that nothing counts has nulls.
select
    pair,
    study,
    io.tier as tier,
    io.evidence as evidence,
    io.device as device,
    sum(io.reads)::bigint as reads,
    sum(io.intended_s) as intended_s,
    sum(io.actual_s) as actual_s,
    count(*) as observations,
    count(*) filter (len(flags) > 0) as flagged
from (select pair, study, flags, unnest(tier_io) as io from raw_timings where clock = 'real')
group by all
order by pair, study, tier
