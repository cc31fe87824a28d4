-- Queries of pages that belong to no study; in braces is what Python puts in.

-- name: measured
select distinct study, io_mode, clock from timings
where list_contains($pairs, pair) and evidence <> 'simulated' and ($study = '' or study = $study)

-- name: recorded
select count(*) > 0 from timings where study = $study and pair = $pair and json_array_length(json_keys(proof -> 'window_shares')) > 0

-- name: medians
select {cell}, median(value) as median, count(*) as n, if(count(distinct evidence) = 1, min(evidence), 'mixed') as evidence
from ({cells})
group by {cell} having enough(value)
order by {cell}
