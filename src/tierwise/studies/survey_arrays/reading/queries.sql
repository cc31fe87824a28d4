-- name: gains
select query, tier, replicate, gain, if(flagged, 'rejected', 'none') as flag
from survey_arrays where pair = $pair and io_mode = $io_mode and form = 'printed' and tier <> 'hdd' order by query, tier, replicate

-- name: paired
select query, replicate, evidence, 1 / gain as ratio
from survey_arrays where pair = ? and io_mode = ? and form = 'printed' and tier = 'ssd_raid5' and not flagged and gain is not null
order by query, replicate
